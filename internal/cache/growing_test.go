package cache

import (
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// TestGrowing: a list stays while it has all postings of the view. A longer one replaces it and
// extends what was derived from it, and old views get a list of their own.
func TestGrowing(t *testing.T) {
	c, opened := NewLists(1<<20), 0
	var b postings.Builder
	get := func(count int, docs uint32) *List {
		t.Helper()
		e, err := c.Growing(Key{MemoryLists | 1, "f", "x"}, 0, docs, count, func() (*postings.List, error) {
			opened++
			return b.View(docs), nil
		})
		if err != nil || e.Postings.Count != count {
			t.Fatalf("%v, %d postings, want %d", err, e.Postings.Count, count)
		}
		return e
	}
	add := func(from, to uint32) {
		for d := from; d < to; d++ {
			b.Add(d, 1+d%5, 10)
		}
	}
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	add(0, 500)
	first := get(500, 500)
	bounds, err := first.BoundsFor(table, nil)
	if err != nil {
		t.Fatal(err)
	}
	bounds.Refine(&blockmax.Ranges{Word: make([]uint8, 64), Tile: make([]uint8, 64), First: []uint32{0, 4}})
	set := make([]uint64, 64)
	set[0] = 1
	first.Postings.KeepBitmap(set)
	if get(500, 600) != first || opened != 1 {
		t.Error("a list with all postings of the view is opened again")
	}
	if get(500, 5000) != first || len(first.Postings.Bitmap()) != 128 {
		t.Error("the bitmap does not go on to the next tile")
	}
	add(5000, 5010)
	second := get(510, 5010)
	if second == first || opened != 2 {
		t.Fatal("a list that has grown is not opened")
	}
	if bits := second.Postings.Bitmap(); len(bits) != 128 || bits[0] != 1 || bits[5000/64]>>(5000%64) == 0 {
		t.Error("the bitmap has not grown")
	}
	for range 2 {
		longer, err := second.BoundsFor(table, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r := longer.Refined(); r == nil || len(r.Word) != 128 || r.Word[5000/64] == 0 {
			t.Error("the ranges have not grown")
		}
	}
	if other, err := second.BoundsFor(blockmax.NewTable(blockmax.DefaultBM25, 20), nil); err != nil || other.Refined() != nil {
		t.Errorf("ranges of one table serve another: %v", err)
	}
	if old := get(500, 500); old == second || get(510, 5010) != second {
		t.Error("an old view changes what new ones share")
	}
	held, _ := c.Bytes()
	if c.Settle([]*List{second}); held <= 0 {
		t.Error("the list is not counted")
	}
	c.DropSegment(MemoryLists | 1)
	if held, _ := c.Bytes(); held != 0 {
		t.Errorf("%d bytes are held for a segment that is gone", held)
	}
}
