package listcache

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMostVisited: the lists in the cache come by falling visits, and their bytes are those of the cache.
func TestMostVisited(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	lists := randomLists(rng)
	c, err := New(Config{Region: Region{Rows: 3000}, HalfLife: 50})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.MostVisited(10)) != 0 {
		t.Error("an empty cache has lists")
	}
	var b Batch
	for range 300 {
		c.Place(pick(rng, lists), Region{First: 3000, Rows: 3000}, &b)
	}
	all := c.MostVisited(1 << 20)
	extents := 0
	for i, l := range all {
		if l.CachedExtents > l.Extents || l.CachedBytes != c.Resident(l.Key) || i > 0 && l.Visits > all[i-1].Visits {
			t.Errorf("list %d is %+v after %+v", i, l, all[max(0, i-1)])
		}
		extents += l.CachedExtents
	}
	if st := c.Stats(); len(all) < 5 || len(all) != st.Lists || extents != st.Extents {
		t.Errorf("%d lists of %d extents, and the cache has %d of %d", len(all), extents, st.Lists, st.Extents)
	}
	if first := c.MostVisited(3); !slices.Equal(first, all[:3]) {
		t.Errorf("the first are %+v, want %+v", first, all[:3])
	}
	if c.MostVisited(0) != nil {
		t.Error("no list is wanted")
	}
}
