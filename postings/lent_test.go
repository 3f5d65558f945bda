package postings

import (
	"math/rand/v2"
	"testing"
)

// A lendingSource lends its chunks with an even number.
type lendingSource struct{ stored }

func (s *lendingSource) ChecksParts() {}

func (s *lendingSource) LendChunk(i int) ([]byte, bool) {
	if i%2 == 1 {
		return nil, false
	}
	return s.Encoded.Chunks[i], true
}

// TestLentChunks: a chunk that is lent counts as read and takes no memory; dropping it frees nothing.
func TestLentChunks(t *testing.T) {
	ps := random(rand.New(rand.NewPCG(91, 92)), 3000*BlockSize)
	enc := buildBy(Interpolative, 0, ps).Encode()
	l, err := Open(enc.Entry, &lendingSource{stored{Encoded: enc}})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Complete(); err != nil {
		t.Fatal(err)
	}
	l.Shrink()
	var docs [BlockSize]uint32
	for chunk := range 2 {
		from, _ := blocksOf(l.storedIn(), chunk, l.Blocks())
		held, fetched := l.Held().Code, l.Fetched()
		if _, _, err := l.ReadDocs(from, &docs); err != nil || docs[0] != ps[from*BlockSize].doc {
			t.Fatalf("chunk %d: document %d, %v", chunk, docs[0], err)
		}
		size := int64(len(enc.Chunks[chunk]))
		if more := l.Fetched() - fetched; more != size {
			t.Errorf("chunk %d of %d bytes counts %d as read", chunk, size, more)
		}
		if more := l.Held().Code - held; (more > 0) != (chunk == 1) {
			t.Errorf("chunk %d of %d bytes takes %d", chunk, size, more)
		}
	}
	if !l.Shrink() || l.Held().Code != 0 {
		t.Error("a chunk that is not lent is not freed")
	}
	if _, _, err := l.ReadDocs(0, &docs); err != nil {
		t.Fatal(err)
	}
	if l.Shrink() {
		t.Error("dropping a lent chunk frees memory")
	}
}
