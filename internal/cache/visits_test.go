package cache

import (
	"fmt"
	"testing"

	"github.com/riffle-search/riffle/postings"
)

// TestVisits: counts are exact up to exactVisits, and beyond near the truth for each of many lists that are looked
// up in turn.
func TestVisits(t *testing.T) {
	const lists, rounds = 512, 4000
	c := NewLists(1 << 30)
	var b postings.Builder
	b.Add(1, 1, 1)
	look := func(i int) {
		_, err := c.Get(Key{1, "t", fmt.Sprint(i)}, func() (*postings.List, error) { return b.View(2), nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range lists {
		for range i % (exactVisits + 1) {
			look(i)
		}
	}
	for i := range lists {
		if n := c.Peek(Key{1, "t", fmt.Sprint(i)}); n.Visits != uint64(i%(exactVisits+1)) {
			t.Fatalf("list %d has %d visits, want %d", i, n.Visits, i%(exactVisits+1))
		}
	}
	for range rounds {
		for i := range lists {
			look(i)
		}
	}
	top := c.MostVisited(2 * lists)
	if len(top) != lists {
		t.Fatalf("%d lists, want %d", len(top), lists)
	}
	if least, most := top[lists-1].Visits, top[0].Visits; least < rounds*3/4 || most > rounds*5/4 {
		t.Errorf("%d to %d visits are counted of %d", least, most, rounds)
	}
	if some := c.MostVisited(10); len(some) != 10 || some[9] != top[9] {
		t.Errorf("the first ten end with %+v, want %+v", some[9], top[9])
	}
}

// BenchmarkTogether finds the lists of few words in four segments, on all cores at once.
func BenchmarkTogether(b *testing.B) {
	c := NewLists(1 << 30)
	var l postings.Builder
	l.Add(1, 1, 1)
	var places []Place
	for s := range uint64(4) {
		places = append(places, Place{Segment: s + 1})
		for i := range 8 {
			if _, err := c.Get(Key{s + 1, "t", fmt.Sprint(i)}, func() (*postings.List, error) { return l.View(2), nil }); err != nil {
				b.Fatal(err)
			}
		}
	}
	var words [8]string
	for i := range words {
		words[i] = fmt.Sprint(i)
	}
	b.RunParallel(func(pb *testing.PB) {
		into := make([]*List, 4)
		for i := 0; pb.Next(); i++ {
			if c.Together("t", words[i%8], places, into, 1) != 4 {
				b.Error("lists are missing")
			}
		}
	})
}
