package listcache

import (
	"slices"
	"testing"
)

// TestBuffer places lists without a cache: wanted pieces are copied without gaps, in order, until
// the buffer is full.
func TestBuffer(t *testing.T) {
	c, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	needs := []Need{
		{Head: []uint32{2, 1}, Extents: []uint32{5, 0, 7}},
		{Head: []uint32{1}, Extents: []uint32{4, 4}, Wanted: []uint64{0b10}},
		{Head: []uint32{1}, Extents: []uint32{100, 3}},
	}
	var b Batch
	for range 2 { // the second time the batch's memory is reused
		c.Place(needs, Region{First: 1000, Rows: 30}, &b)
		want := []Placed{
			{Head: []uint32{1000, 1002}, Extents: []uint32{1003, 0, 1008}, Complete: true},
			{Head: []uint32{1015}, Extents: []uint32{Missing, 1016}, Complete: true},
			{Head: []uint32{1020}, Extents: []uint32{Missing, 1021}},
		}
		equalPlaced(t, b.Lists, want)
		if b.Rows != 24 {
			t.Errorf("%d rows of the buffer are taken, want 24", b.Rows)
		}
		next := uint32(1000)
		for _, c := range b.Copies {
			if c.At != next || c.Row != c.At || c.Rows == 0 {
				t.Errorf("%+v, want it at row %d", c, next)
			}
			next += c.Rows
		}
	}
}

// TestDropLeavesBatch: if a list is dropped after its batch was placed, its pieces keep the places
// that the batch was told. Only batches placed later, which run later, can overwrite them.
func TestDropLeavesBatch(t *testing.T) {
	for name, drop := range map[string]func(*Cache){
		"Drop":  func(c *Cache) { c.Drop(func(uint64) bool { return true }) },
		"Admit": func(c *Cache) { c.Admit() },
		"Reset": func(c *Cache) { c.Reset() },
	} {
		c, err := New(Config{Region: Region{Rows: 4096}})
		if err != nil {
			t.Fatal(err)
		}
		needs := []Need{{Key: 1, Head: []uint32{20}, Extents: []uint32{64, 0, 64}}}
		var b Batch
		for range 2 { // the second time it is cached
			c.Place(needs, Region{First: 4096, Rows: 4096}, &b)
		}
		if b.Lists[0].Serial == 0 {
			t.Fatal("the list is not resident")
		}
		head, extents := slices.Clone(b.Lists[0].Head), slices.Clone(b.Lists[0].Extents)
		drop(c)
		if p := b.Lists[0]; !slices.Equal(p.Head, head) || !slices.Equal(p.Extents, extents) {
			t.Errorf("%s: the batch has %v and %v, was told %v and %v", name, p.Head, p.Extents, head, extents)
		}
	}
}

// TestRest: a list whose queries never want all of it becomes fully resident, after what they want,
// unless that would displace something.
func TestRest(t *testing.T) {
	for _, test := range []struct {
		rows  uint32 // of the cache
		whole bool
	}{{4096, true}, {300, false}} {
		c, err := New(Config{Region: Region{Rows: test.rows}})
		if err != nil {
			t.Fatal(err)
		}
		needs := []Need{{Key: 1, Head: []uint32{20}, Extents: []uint32{64, 0, 64, 64, 64, 64}, Wanted: []uint64{0b100}, Rest: true}}
		var b Batch
		c.Place(needs, Region{First: 4096, Rows: 84 + 2*64}, &b) // room for two unwanted extents
		if n, first := len(b.Copies), b.Copies[1].Piece; n != 4 && test.whole || first != 2 {
			t.Fatalf("%d pieces are copied, and extent %d first", n, first)
		}
		for range 3 {
			c.Place(needs, Region{First: 4096, Rows: 4096}, &b)
		}
		if whole := b.Lists[0].Serial != 0; whole != test.whole {
			t.Errorf("of %d rows: the list is whole: %v, want %v", test.rows, whole, test.whole)
		}
	}
}
