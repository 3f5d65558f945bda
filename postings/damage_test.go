package postings

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// parts returns pointers to the stored values of a list, for tests to damage.
func parts(enc *Encoded) []*[]byte {
	all := []*[]byte{&enc.Entry}
	for i := range enc.Directory {
		all = append(all, &enc.Directory[i])
	}
	for i := range enc.Chunks {
		all = append(all, &enc.Chunks[i])
	}
	return all
}

// openAndRead does everything that a reader of a list does.
func openAndRead(enc Encoded) error {
	l, err := Open(enc.Entry, &stored{Encoded: enc})
	if err != nil {
		return err
	}
	_, err = read(l)
	return err
}

// TestBitFlips flips every bit of every stored value.
func TestBitFlips(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20))
	for _, n := range []int{1, 2, 30, 128, 129, 700} {
		for _, codec := range []Kind{Packed, Interpolative} {
			enc := buildBy(codec, 0, random(rng, n)).Encode()
			for v, value := range parts(&enc) {
				intact := slices.Clone(*value)
				for bit := range 8 * len(intact) {
					*value = slices.Clone(intact)
					(*value)[bit/8] ^= 1 << (bit % 8)
					if err := openAndRead(enc); !errors.Is(err, corrupt.Err) {
						t.Fatalf("%d postings by %v, value %d, bit %d flipped: %v", n, codec, v, bit, err)
					}
				}
				*value = intact
			}
		}
	}
}

// TestTruncation cuts every stored value short.
func TestTruncation(t *testing.T) {
	for _, codec := range []Kind{Packed, Interpolative} {
		enc := buildBy(codec, 0, random(rand.New(rand.NewPCG(21, 22)), 1000)).Encode()
		for v, value := range parts(&enc) {
			intact := *value
			for n := range intact {
				*value = intact[:n]
				if err := openAndRead(enc); !errors.Is(err, corrupt.Err) {
					t.Fatalf("value %d by %v, cut to %d bytes: %v", v, codec, n, err)
				}
			}
			*value = intact
		}
	}
}

// TestChunkOfAnotherList puts a valid chunk in the wrong place.
func TestChunkOfAnotherList(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for _, codec := range []Kind{Packed, Interpolative} {
		enc, other := buildBy(codec, 0, random(rng, 1000)).Encode(), buildBy(codec, 0, random(rng, 1000)).Encode()
		enc.Chunks = other.Chunks
		if err := openAndRead(enc); !errors.Is(err, corrupt.Err) {
			t.Fatalf("%v: %v", codec, err)
		}
	}
}

// TestMissingParts checks that the loader's errors are returned.
func TestMissingParts(t *testing.T) {
	enc := build(0, random(rand.New(rand.NewPCG(25, 26)), 1000)).Encode()
	lost := enc
	lost.Directory = nil
	if err := openAndRead(lost); !errors.Is(err, errMissing) {
		t.Errorf("without directory: %v", err)
	}
	lost = enc
	lost.Chunks = nil
	if err := openAndRead(lost); !errors.Is(err, errMissing) {
		t.Errorf("without chunks: %v", err)
	}
}

// TestLazyChunks checks that a chunk is loaded once, when one of its blocks is first decoded.
func TestLazyChunks(t *testing.T) {
	enc := build(0, random(rand.New(rand.NewPCG(27, 28)), 150_000)).Encode()
	if len(enc.Chunks) < 3 {
		t.Fatalf("%d chunks: the test needs more", len(enc.Chunks))
	}
	src := &stored{Encoded: enc}
	l, err := Open(enc.Entry, src)
	if err != nil {
		t.Fatal(err)
	}
	before := l.Bytes()
	var docs [BlockSize]uint32
	last := l.Blocks() - 1
	for range 3 {
		if _, err := l.Docs(last, &docs); err != nil {
			t.Fatal(err)
		}
	}
	if src.chunksRead != 1 {
		t.Errorf("one block took %d reads of chunks", src.chunksRead)
	}
	if got, want := l.Bytes()-before, len(enc.Chunks[len(enc.Chunks)-1]); got != want {
		t.Errorf("a chunk of %d bytes raised Bytes by %d", want, got)
	}
	for i, c := range enc.Chunks[:len(enc.Chunks)-1] {
		if len(c) < chunkTarget || len(c) >= 64<<10+GuardBytes {
			t.Errorf("chunk %d has %d bytes", i, len(c))
		}
	}
}

// lockedSource counts reads from many goroutines.
type lockedSource struct {
	mu sync.Mutex
	stored
}

func (s *lockedSource) Chunk(i int) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored.Chunk(i)
}

func TestConcurrentReaders(t *testing.T) {
	ps := random(rand.New(rand.NewPCG(29, 30)), 150_000)
	enc := build(0, ps).Encode()
	l, err := Open(enc.Entry, &lockedSource{stored: stored{Encoded: enc}})
	if err != nil {
		t.Fatal(err)
	}
	before := l.Bytes()
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			if got, err := read(l); err != nil || len(got) != len(ps) {
				t.Errorf("read %d postings, %v", len(got), err)
			}
		})
	}
	readers.Wait()
	payload := 0
	for _, c := range enc.Chunks {
		payload += len(c)
	}
	if got := l.Bytes() - before; got != payload {
		t.Errorf("chunks of %d bytes raised Bytes by %d", payload, got)
	}
}
