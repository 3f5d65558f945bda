package postings

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// countedParts counts the reads of directory parts, and can refuse them.
type countedParts struct {
	stored
	mu    sync.Mutex
	reads map[int]int
	fail  error
}

func (c *countedParts) Directory(part int) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reads[part]++; part > 0 && c.fail != nil {
		return nil, c.fail
	}
	return c.stored.Directory(part)
}

// manyParts is a list whose directory has three parts, with its model.
func manyParts(t *testing.T) (ps []posting, enc Encoded) {
	ps = random(rand.New(rand.NewPCG(71, 72)), (2*partBlocks+40)*BlockSize+5)
	enc = buildBy(Interpolative, 0, ps).Encode()
	if len(enc.Directory) != 3 {
		t.Fatalf("%d directory parts, the test wants 3", len(enc.Directory))
	}
	return ps, enc
}

// TestExtentsOnDemand checks that opening a list and looking at one block reads what it must of the
// directory and nothing else, and that every way to a block leads to the same values.
func TestExtentsOnDemand(t *testing.T) {
	ps, enc := manyParts(t)
	src := &countedParts{stored: stored{Encoded: enc}, reads: map[int]int{}}
	l, err := Open(enc.Entry, src)
	if err != nil {
		t.Fatal(err)
	}
	extents := int32(len(l.ExtLast))
	if src.reads[0] != 1 || len(src.reads) != 1 || l.onDemand.left.Load() != extents {
		t.Errorf("opening read parts %v and left %d of %d extents", src.reads, l.onDemand.left.Load(), extents)
	}
	b := partBlocks + 70
	doc := ps[b*BlockSize+3].doc
	if got := l.Seek(0, doc); got != b {
		t.Fatalf("Seek leads to block %d, want %d", got, b)
	}
	if src.reads[1] != 1 || len(src.reads) != 2 || l.onDemand.left.Load() != extents-1 {
		t.Errorf("a Seek read parts %v and left %d of %d extents", src.reads, l.onDemand.left.Load(), extents)
	}
	if l.Last[b] != ps[(b+1)*BlockSize-1].doc || l.First(b) != ps[b*BlockSize-1].doc+1 {
		t.Errorf("block %d is documents %d to %d", b, l.First(b), l.Last[b])
	}
	for e := range l.ExtLast {
		if l.onDemand.has(e) != (e == b/ExtentBlocks) {
			t.Errorf("extent %d has been read: %t", e, l.onDemand.has(e))
		}
	}
	for i := range ps {
		ps[i].length = 0
	}
	if got, err := read(l); err != nil || !slices.Equal(got, ps) {
		t.Fatalf("reading all gives other postings, %v", err)
	}
	if err := l.Complete(); err != nil || l.onDemand.left.Load() != 0 {
		t.Errorf("%d extents are left, %v", l.onDemand.left.Load(), err)
	}
	if src.reads[0] != 1 || src.reads[1] != 1 || src.reads[2] != 1 {
		t.Errorf("reading all read parts %v", src.reads)
	}
	whole, err := l.BlockImpacts()
	if err != nil {
		t.Fatal(err)
	}
	again, err := l.BlockImpactsOf(3) // its copy is gone, and so is the part
	if err != nil || src.reads[0] != 2 {
		t.Fatalf("%v, after reads %v", err, src.reads)
	}
	for i := range ExtentBlocks {
		if !slices.Equal(again.Of(i), whole.Of(3*ExtentBlocks+i)) {
			t.Errorf("block %d of extent 3 has best pairs %v, then %v", i, whole.Of(3*ExtentBlocks+i), again.Of(i))
		}
	}
}

// TestSeekOnDemand compares Seek on a list that has read nothing with one that has read all.
func TestSeekOnDemand(t *testing.T) {
	ps, enc := manyParts(t)
	whole, err := Open(enc.Entry, &stored{Encoded: enc})
	if err == nil {
		err = whole.Complete()
	}
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(73, 74))
	for range 200 {
		l, err := Open(enc.Entry, &stored{Encoded: enc})
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			from, doc := rng.IntN(l.Blocks()+1), ps[rng.IntN(len(ps))].doc+rng.Uint32N(2)
			got, want := l.Seek(from, doc), whole.Seek(from, doc)
			if got != want {
				t.Fatalf("Seek(%d, %d) is %d, want %d", from, doc, got, want)
			}
			if got < l.Blocks() && l.Last[got] != whole.Last[got] {
				t.Fatalf("Seek(%d, %d) leads to a block that ends at %d, want %d", from, doc, l.Last[got], whole.Last[got])
			}
		}
	}
}

// TestExtentDamage damages single bytes of directory parts behind the summary, with right
// checksums. The list opens. A block of a damaged extent gives an error, however one gets there,
// other blocks are right, and until then the extent has bounds that are true. Where only the best pairs
// are damaged, reading these is the error.
func TestExtentDamage(t *testing.T) {
	ps, enc := manyParts(t)
	rng := rand.New(rand.NewPCG(75, 76))
	damaged, inPairs := 0, 0
	for range 120 {
		bad := enc
		bad.Directory = slices.Clone(enc.Directory)
		part, err := new(List).unsealPart(bad.Directory[1], "directory")
		if err != nil {
			t.Fatal(err)
		}
		part = slices.Clone(part)
		part[rng.IntN(len(part))] ^= 1 << rng.IntN(8)
		bad.Directory[1] = sealPart(part)
		l, err := Open(bad.Entry, &stored{Encoded: bad})
		if err != nil {
			t.Fatalf("damage behind the summary is found by Open: %v", err)
		}
		var docs [BlockSize]uint32
		before := damaged
		for e := range l.ExtLast {
			from, to := l.blocksIn(e)
			b := from + rng.IntN(to-from)
			doc := ps[b*BlockSize].doc
			got := l.Seek(0, doc)
			if got < from || got >= to || l.Last[got] < doc || l.First(got) > doc {
				t.Fatalf("document %d of extent %d: Seek leads to block %d, documents %d to %d", doc, e, got, l.First(got), l.Last[got])
			}
			_, err := l.Docs(got, &docs)
			if err == nil {
				if got != b || docs[0] != doc {
					t.Fatalf("block %d begins with document %d, want block %d with %d", got, docs[0], b, doc)
				}
				continue
			}
			damaged++
			_, freqs := l.Freqs(b, &docs)
			_, payload := l.Payload(b)
			_, impacts := l.BlockImpactsOf(e)
			for _, err := range []error{err, freqs, payload, impacts, l.Complete()} {
				if !errors.Is(err, corrupt.Err) {
					t.Fatalf("extent %d: %v, want corruption", e, err)
				}
			}
			var s Scan
			s.Reset(l)
			for s.Next() {
			}
			if !errors.Is(s.Err(), corrupt.Err) {
				t.Fatalf("a scan ends with %v", s.Err())
			}
		}
		if damaged > before {
			continue
		}
		if _, err := l.BlockImpacts(); err != nil {
			if inPairs++; !errors.Is(err, corrupt.Err) || !l.Failed() {
				t.Fatalf("damaged pairs: %v; the list has failed: %v", err, l.Failed())
			}
		}
	}
	if damaged < 40 || inPairs < 20 {
		t.Errorf("only %d and %d of 120 damages were found in a block and in pairs", damaged, inPairs)
	}
}

// TestPartCannotBeRead checks that an error of the loader reaches who reads the block.
func TestPartCannotBeRead(t *testing.T) {
	_, enc := manyParts(t)
	lost := errors.New("lost")
	l, err := Open(enc.Entry, &countedParts{stored: stored{Encoded: enc}, reads: map[int]int{}, fail: lost})
	if err != nil {
		t.Fatal(err)
	}
	var docs [BlockSize]uint32
	if _, err := l.Docs(5, &docs); err != nil {
		t.Errorf("a block of the first part: %v", err)
	}
	if _, err := l.Docs(partBlocks+5, &docs); !errors.Is(err, lost) {
		t.Errorf("a block of the second part: %v", err)
	}
	if !errors.Is(l.Complete(), lost) {
		t.Errorf("the whole list: %v", l.Complete())
	}
}

// TestConcurrentExtents lets goroutines seek in a list, each in an order of its own, while another
// shrinks it.
func TestConcurrentExtents(t *testing.T) {
	ps, enc := manyParts(t)
	l, err := Open(enc.Entry, &lockedSource{stored: stored{Encoded: enc}})
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	for seed := range uint64(3) {
		readers.Go(func() {
			rng := rand.New(rand.NewPCG(77, seed))
			for range 500 {
				i := rng.IntN(len(ps))
				b := l.Seek(rng.IntN(i/BlockSize+1), ps[i].doc)
				if b != i/BlockSize || l.Last[b] < ps[i].doc || l.First(b) > ps[i].doc {
					t.Errorf("document %d is in block %d, want %d", ps[i].doc, b, i/BlockSize)
					return
				}
				if m, err := l.BlockImpactsOf(b / ExtentBlocks); err != nil || len(m.Of(b%ExtentBlocks)) == 0 {
					t.Errorf("block %d has best pairs %v, %v", b, m, err)
					return
				}
			}
		})
	}
	readers.Go(func() {
		for range 20 {
			l.Shrink()
		}
	})
	readers.Wait()
	if l.Shrink(); l.loaded.Load() != 0 {
		t.Errorf("a list that has shrunk counts %d loaded bytes", l.loaded.Load())
	}
}
