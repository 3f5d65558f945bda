package cache

import (
	"fmt"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
)

// someFilter has every n-th of a segment's documents.
func someFilter(docs, n uint32) *Filter {
	set := make([]uint64, (docs+63)/64)
	for d := uint32(0); d < docs; d += n {
		set[d/64] |= 1 << (d % 64)
	}
	return NewFilter(set, docs)
}

// restrict returns what a segment accepts under a filter and its deletions.
func restrict(f *Filter, accept []uint64) (set []uint64, few []uint32) {
	s := blockmax.Segment{Accept: accept}
	f.Restrict(&s)
	if s.Subset != nil {
		for i, doc := range s.Subset.Docs {
			in := s.Accept[doc/64]>>(doc%64)&1 == 1
			if alive := s.Alive == nil || s.Alive[i/64]>>(i%64)&1 == 1; alive != in {
				panic(fmt.Sprintf("document %d of the subset, %d: alive is %v", i, doc, alive))
			}
		}
	}
	return s.Accept, s.Few
}

// TestFilterAlive: the documents of a filter follow the deletions of the view, as bits and as a
// list where they are few.
func TestFilterAlive(t *testing.T) {
	const docs = 10_000
	for _, n := range []uint32{1, 2, 40, 9999} {
		f := someFilter(docs, n)
		set, few := restrict(f, nil)
		if listed := few != nil; listed != (n >= sparsestBits) {
			t.Errorf("one in %d documents: listed is %v", n, listed)
		}
		first, second := make([]uint64, len(set)), make([]uint64, len(set))
		for i := range first {
			first[i] = ^uint64(0)
		}
		first[0] &^= 1 // without document 0
		for _, accept := range [][]uint64{first, second, first} {
			alive, list := restrict(f, accept)
			var want []uint32
			for d := range uint32(docs) {
				in := d%n == 0 && accept[d/64]>>(d%64)&1 == 1
				if got := alive[d/64]>>(d%64)&1 == 1; got != in {
					t.Fatalf("one in %d documents: %d is in the set: %v", n, d, got)
				}
				if in {
					want = append(want, d)
				}
			}
			if few != nil && !slices.Equal(list, want) {
				t.Errorf("one in %d documents: %v, want %v", n, list, want)
			}
			if again, _ := restrict(f, accept); &again[0] != &alive[0] {
				t.Error("the same documents are made twice")
			}
		}
		if again, _ := restrict(f, nil); &again[0] != &set[0] {
			t.Error("the documents of the filter have moved")
		}
	}
}

// TestFiltersCached: a filter is cached when it comes the second time, counts toward the budget and
// leaves with its segment.
func TestFiltersCached(t *testing.T) {
	const docs = 20_000
	c := NewLists(20 << 10)
	use := func(segment uint64, text string) *Filter {
		if f := c.Filter(Filters|segment, text, docs, nil); f != nil {
			return f
		}
		f := someFilter(docs, 2)
		c.KeepFilter(Filters|segment, text, f, nil)
		return f
	}
	first := use(1, "a")
	second := use(1, "a")
	if third := use(1, "a"); first == second || third != second {
		t.Error("a filter is not cached from its second use on")
	}
	if other := use(2, "a"); other == second {
		t.Error("a filter of one segment serves another")
	}
	for i := range 5 * len(c.uses) { // each comes once
		use(1, fmt.Sprint("once", i))
		c.KeepFilter(Filters|1, fmt.Sprint("few terms", i), NewTermsFilter(make([]uint64, docs/64+1), docs, costlyTerms-1), nil)
	}
	counts := c.FilterCounts()
	if counts.Cached != 1 || counts.Hits != 1 || counts.Misses != int64(3+5*len(c.uses)) {
		t.Errorf("%+v", counts)
	}
	if held, _ := c.Bytes(); held != counts.Bytes || held < docs/8 || held != c.Measure() {
		t.Errorf("%d bytes are counted, %d of filters, %d are held", held, counts.Bytes, c.Measure())
	}
	if c.UseFilter(Filters|1, "b") || !c.UseFilter(Filters|1, "b") || !c.UseFilter(Filters|1, "a") {
		t.Error("a filter is worth making from its second use on, and while it is cached")
	}
	if set := second.Intersect(someFilter(docs, 3).Intersect(nil)); !slices.Equal(set, someFilter(docs, 6).bits) {
		t.Error("documents that two filters pass")
	}
	accept := make([]uint64, len(second.bits))
	if c.Filter(Filters|1, "a", docs, accept); c.FilterCounts().Bytes <= counts.Bytes {
		t.Error("the documents that are not deleted are not counted")
	}
	for range 2 {
		c.KeepFilter(Filters|9, "terms", NewTermsFilter(slices.Clone(second.bits), docs, 3), accept)
	}
	if f := c.Filter(Filters|9, "terms", docs, accept); f == nil || f.alive.Load() != nil || f.Terms() != 3 {
		t.Errorf("the documents of terms are copied for the deletions of a view: %+v", f)
	}
	c.KeepFilter(Filters|9, "many terms", NewTermsFilter(slices.Clone(second.bits), docs, costlyTerms), nil)
	if c.Filter(Filters|9, "many terms", docs, nil) == nil {
		t.Error("the documents of many terms are not cached on their first use")
	}
	c.DropSegment(Filters | 9)
	if c.Filter(Filters|1, "a", docs+64, nil) != nil {
		t.Error("a filter serves a segment that has grown")
	}
	longer := someFilter(docs+64, 2)
	c.KeepFilter(Filters|1, "a", longer, nil)
	c.KeepFilter(Filters|1, "a", second, nil) // of an old view
	if c.Filter(Filters|1, "a", docs+64, nil) != longer || c.FilterCounts().Cached != 1 {
		t.Error("the filter of a segment that has grown does not replace the old one")
	}
	for i := range 100 {
		for range 2 {
			use(1, fmt.Sprint("twice", i))
		}
	}
	if held, budget := c.Bytes(); held > budget || held != c.Measure() || c.FilterCounts().Cached > 8 {
		t.Errorf("%d bytes are counted of a budget of %d, %d held; %+v", held, budget, c.Measure(), c.FilterCounts())
	}
	c.DropSegment(1)
	if held, _ := c.Bytes(); held == 0 {
		t.Error("filters have left with the lists of their segment")
	}
	c.DropSegment(Filters | 1)
	if held, _ := c.Bytes(); held != 0 || c.FilterCounts().Cached != 0 || c.FilterCounts().Bytes != 0 {
		t.Errorf("%d bytes are held for a segment that is gone; %+v", held, c.FilterCounts())
	}
}

// TestExcerptsCounted: the excerpts of filters count in the budget, take at most a share of it, and
// leave before the filters do.
func TestExcerptsCounted(t *testing.T) {
	const docs, segments = 64_000, 10
	c := NewLists(400 << 10)
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	use := func(segment uint64) *Filter {
		if f := c.Filter(Filters|segment, "f", docs, nil); f != nil {
			return f
		}
		f := someFilter(docs, 16)
		c.KeepFilter(Filters|segment, "f", f, nil)
		return f
	}
	learn := func(f *Filter, key uint64) {
		term := blockmax.Term{Key: key, Table: table}
		if f.subset.Spend(&term, 1, 1) {
			f.subset.Make(&term, func(m *blockmax.ExcerptMaker) (bool, error) {
				for i := range f.subset.Docs {
					m.Add(i, 7)
				}
				return true, nil
			})
		}
	}
	for segment := range uint64(segments) {
		for key := range uint64(5) {
			learn(use(segment), 1+key)
		}
	}
	most := int64(0)
	for segment := range uint64(segments) {
		use(segment)
		most = max(most, use(segment).subset.Bytes())
		if got, share := c.excerpts.Load(), c.budget.Load()/excerptShare; got > share {
			t.Errorf("excerpts take %d bytes of %d", got, share)
		}
	}
	if most < 8000 {
		t.Errorf("no filter has kept excerpts: %d bytes", most)
	}
	if got, want := c.bytes.Load(), c.Measure(); got != want {
		t.Errorf("%d bytes are counted, there are %d", got, want)
	}
	f := use(segments - 1)
	for _, other := range []*Filter{use(0), f} {
		other.shrink()
	}
	use(0)
	if n := use(0).subset.Bytes(); n != 0 {
		t.Errorf("a shrunk filter has excerpts of %d bytes", n)
	}
	for segment := range uint64(segments) {
		c.DropSegment(Filters | segment)
	}
	if excerpts, bytes := c.excerpts.Load(), c.bytes.Load(); excerpts != 0 || bytes != 0 {
		t.Errorf("%d bytes of excerpts and %d in all are counted after all is gone", excerpts, bytes)
	}
}
