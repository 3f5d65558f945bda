package postings

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// longCoded is a list of the codec Interpolative with several chunks.
func longCoded(t *testing.T) (ps []posting, enc Encoded) {
	ps = random(rand.New(rand.NewPCG(55, 56)), 150_000)
	enc = buildBy(Interpolative, 0, ps).Encode()
	if len(enc.Chunks) < 3 {
		t.Fatalf("%d chunks: the test needs more", len(enc.Chunks))
	}
	return ps, enc
}

// TestLazyBlocks checks that a block is decoded alone, that a chunk is read once, and that its bits
// leave the memory with the last of its blocks.
func TestLazyBlocks(t *testing.T) {
	_, enc := longCoded(t)
	src := &stored{Encoded: enc}
	l, err := Open(enc.Entry, src)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Complete(); err != nil {
		t.Fatal(err)
	}
	l.Shrink() // leaves the directory
	opened := l.Bytes()
	var docs [BlockSize]uint32
	for range 3 {
		if _, err := l.Docs(70, &docs); err != nil {
			t.Fatal(err)
		}
	}
	chunk := int(l.coded.of[70/ExtentBlocks])
	if src.chunksRead != 1 || chunk != 0 {
		t.Errorf("one block took %d reads of chunks; it lies in chunk %d", src.chunksRead, chunk)
	}
	if got, want := l.chunks[70/ExtentBlocks].Load().missing.Load(), ^uint32(1<<(70%ExtentBlocks)); got != want {
		t.Errorf("blocks %032b are missing, want %032b", got, want)
	}
	rows := RowBytes*int(l.rowOf[3]-l.rowOf[2]) + GuardBytes
	if got, want := l.Bytes()-opened, rows+len(enc.Chunks[0]); got != want {
		t.Errorf("a block raised Bytes by %d, want %d", got, want)
	}
	_, to := blocksOf(l.coded.of, 0, l.Blocks())
	for b := range to {
		if _, err := l.Payload(b); err != nil {
			t.Fatal(err)
		}
	}
	rows = RowBytes*int(l.Off[to]) + GuardBytes*to/ExtentBlocks
	if got := l.Bytes() - opened; got != rows || src.chunksRead != 1 {
		t.Errorf("a decoded chunk raised Bytes by %d, want %d, in %d reads", got, rows, src.chunksRead)
	}
}

// TestShrink checks that a list reads again what it has freed.
func TestShrink(t *testing.T) {
	for _, codec := range codecs {
		ps := random(rand.New(rand.NewPCG(60, 61)), 20_000)
		for _, old := range []bool{false, true} {
			enc := buildBy(codec, 0, ps).Encode()
			if old {
				enc = oldForm(t, enc)
			}
			src := &stored{Encoded: enc}
			l, err := Open(enc.Entry, src)
			if err != nil {
				t.Fatal(err)
			}
			opened := l.Bytes()
			impacts, err := l.BlockImpacts()
			if err != nil {
				t.Fatal(err)
			}
			for round := range 2 {
				got, err := read(l)
				if err != nil || len(got) != len(ps) {
					t.Fatalf("%v, round %d: %d postings, %v", codec, round, len(got), err)
				}
				if full := l.Bytes(); !l.Shrink() || l.Shrink() || l.Bytes() >= opened || full <= opened {
					t.Fatalf("%v: %d bytes when opened, %d with all rows, %d when shrunk", codec, opened, full, l.Bytes())
				}
			}
			again, err := l.BlockImpacts()
			if err != nil || !slices.Equal(again.pairs, impacts.pairs) || !slices.Equal(again.Start, impacts.Start) {
				t.Fatalf("%v: best pairs are others after Shrink, %v", codec, err)
			}
			l.Shrink()
			src.Encoded.Directory = nil
			if _, err := l.BlockImpacts(); err == nil {
				t.Fatalf("%v: best pairs without a directory", codec)
			}
		}
	}
	if build(0, random(rand.New(rand.NewPCG(62, 63)), 1000)).View(MaxDoc).Shrink() {
		t.Error("a list in memory has nothing to read again")
	}
}

// TestConcurrentDecoding reads a list in many goroutines, each in an order of its own.
func TestConcurrentDecoding(t *testing.T) {
	ps, enc := longCoded(t)
	l, err := Open(enc.Entry, &lockedSource{stored: stored{Encoded: enc}})
	if err != nil {
		t.Fatal(err)
	}
	opened := l.Bytes() - int(l.loaded.Load())
	var readers sync.WaitGroup
	for seed := range uint64(4) {
		readers.Go(func() {
			var docs, tfs [BlockSize]uint32
			for _, b := range rand.New(rand.NewPCG(57, seed)).Perm(l.Blocks()) {
				n, err := l.Docs(b, &docs)
				if err == nil {
					_, err = l.Freqs(b, &tfs)
				}
				if err != nil {
					t.Error(err)
					return
				}
				for i, p := range ps[b*BlockSize : b*BlockSize+n] {
					if docs[i] != p.doc || tfs[i] != p.tf {
						t.Errorf("posting %d of block %d is %d, %d times, want %d, %d times", i, b, docs[i], tfs[i], p.doc, p.tf)
						return
					}
				}
			}
		})
	}
	readers.Wait()
	l.onDemand.shrink(l)
	end := l.Blocks() - 1
	rows := RowBytes*int(l.Off[end]+uint32(l.Enc[end].Rows(l.BlockLen(end)))) + GuardBytes*len(l.ExtLast)
	if got := l.Bytes() - opened; got != rows {
		t.Errorf("all blocks raised Bytes by %d, want %d", got, rows)
	}
}

// TestWrongSizes stores directories whose sizes of blocks are wrong. A search and a scan both find
// that.
func TestWrongSizes(t *testing.T) {
	enc := buildBy(Interpolative, 0, random(rand.New(rand.NewPCG(58, 59)), 1000)).Encode()
	l, err := Open(enc.Entry, &stored{Encoded: enc})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.openCoded([]uint64{1 << 32}); !errors.Is(err, corrupt.Err) {
		t.Errorf("a chunk of 1<<32 bits: %v", err)
	}
	at := slices.Clone(l.coded.at)
	for b := 1; b < len(at); b++ {
		l, err := Open(enc.Entry, &stored{Encoded: enc})
		if err != nil {
			t.Fatal(err)
		}
		l.coded.at[b]++
		if _, err := read(l); err == nil {
			t.Fatalf("block %d begins a bit late, and nothing is wrong", b)
		}
		var s Scan
		s.Reset(l)
		for s.Next() {
		}
		if s.Err() == nil {
			t.Fatalf("block %d begins a bit late, and a scan finds nothing", b)
		}
	}
}
