package cpuexec_test

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/internal/impl"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// TestCount compares with the oracle, for every mode and for trees: without bitmaps, with bitmaps
// of some lists, and with those of all dense lists.
func TestCount(t *testing.T) {
	for variant := range impl.Each("cpuexec") {
		t.Run(variant, func(t *testing.T) {
			for round := range 300 {
				exectest.Plans(1, round, func(ix *exectest.Index, p *exectest.Plan) bool {
					want := exectest.Oracle(ix, p).Total
					count := func(when string) {
						got, err := cpuexec.Parallel{}.Count(context.Background(), p)
						if err != nil || got != want {
							t.Fatalf("round %d: %s, counted %d documents, want %d: %v", round, when, got, want, err)
						}
					}
					count("at first")
					if err := cpuexec.MakeBitmaps(p, someLists); err != nil {
						t.Fatal(err)
					}
					count("with some bitmaps")
					if round%3 == 0 {
						if err := cpuexec.MakeBitmaps(p, func(*postings.List) bool { return true }); err != nil {
							t.Fatal(err)
						}
						count("with all bitmaps")
					}
					for range 3 {
						count("used often")
					}
					return true
				})
			}
		})
	}
}

// someLists selects half of the lists.
func someLists(l *postings.List) bool { return l.Count%2 == 0 }

// TestBitmaps counts until a list has a bitmap, and compares it with the postings.
func TestBitmaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	const docs = 3*4096 + 1000
	want := make([]uint64, 4*64)
	var dense, sparse postings.Builder
	for d := range uint32(docs) {
		every := []int{1, 2, 9, 60}[d/3000%4] // runs, bitsets, packed
		if rng.IntN(every) == 0 && d < docs-500 {
			dense.Add(d, 1, 1)
			want[d/64] |= 1 << (d % 64)
		}
		if d%100 == 7 {
			sparse.Add(d, 1, 1)
		}
	}
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	seg := blockmax.Segment{Docs: docs}
	for _, b := range []*postings.Builder{&dense, &sparse} {
		l := b.View(postings.MaxDoc)
		seg.Terms = append(seg.Terms, blockmax.Term{List: l, Table: table, Bounds: segment.Bounds(l, table)})
	}
	list := seg.Terms[0].List
	before := list.Bytes()
	for _, p := range []*blockmax.Plan{
		{Mode: blockmax.Or}, {Mode: blockmax.And},
		{Tree: &blockmax.Node{Must: []blockmax.Node{{Leaf: true}}, Not: []blockmax.Node{{Leaf: true, Term: 1}}}},
	} {
		p.K, p.Weights, p.Segments = 1, []uint32{1, 1}, []blockmax.Segment{seg}
		p.Segments[0].Terms = slices.Clone(seg.Terms)
		l := dense.View(postings.MaxDoc)
		p.Segments[0].Terms[0].List = l
		first, uses := 0, 0
		for ; l.Bitmap() == nil; uses++ {
			n, err := cpuexec.Parallel{}.Count(context.Background(), p)
			if err != nil || uses > 0 && n != first || uses == 100 {
				t.Fatalf("count %d is %d, was %d: %v", uses, n, first, err)
			}
			first = n
		}
		if uses < 2 {
			t.Errorf("a bitmap after %d counts, before it could have paid", uses)
		}
		if !slices.Equal(l.Bitmap(), want) {
			t.Error("the bitmap is not what the postings make")
		}
		if n, err := (cpuexec.Parallel{}).Count(context.Background(), p); err != nil || n != first {
			t.Errorf("counted %d with the bitmap, %d without: %v", n, first, err)
		}
		if grown := l.Bytes() - before; grown != 8*len(want) {
			t.Errorf("the list has grown by %d bytes", grown)
		}
		if p.Segments[0].Terms[1].List.Bitmap() != nil {
			t.Error("a list of one document in 100 has a bitmap")
		}
	}
}

// TestBitmapOfAnotherSegment counts with a list whose segment has grown since its bitmap was made.
func TestBitmapOfAnotherSegment(t *testing.T) {
	var b postings.Builder
	for d := range uint32(1000) {
		b.Add(2*d, 1, 1)
	}
	l := b.View(postings.MaxDoc)
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	term := blockmax.Term{List: l, Table: table, Bounds: segment.Bounds(l, table)}
	for _, docs := range []uint32{2000, 5000} {
		seg := blockmax.Segment{Docs: docs, Terms: []blockmax.Term{term, term}}
		p := &blockmax.Plan{K: 1, Weights: []uint32{1, 1}, Segments: []blockmax.Segment{seg}}
		if err := cpuexec.MakeBitmaps(p, func(*postings.List) bool { return true }); err != nil {
			t.Fatal(err)
		}
		for _, p.Mode = range []blockmax.Mode{blockmax.Or, blockmax.And} {
			if n, err := (cpuexec.Parallel{}).Count(context.Background(), p); err != nil || n != 1000 {
				t.Errorf("%d documents, mode %d: counted %d: %v", docs, p.Mode, n, err)
			}
		}
	}
}

// TestMatches compares the bitmaps with the oracle's matches when all documents are accepted. In
// every second round some lists, or all, have bitmaps.
func TestMatches(t *testing.T) {
	for round := range 500 {
		exectest.Plans(2, round, func(ix *exectest.Index, p *exectest.Plan) bool {
			if p.Tree == nil {
				return true
			}
			all := *p
			all.K, all.After, all.Else, all.Segments = blockmax.MaxK, nil, nil, slices.Clone(p.Segments)
			if round%2 == 1 {
				if err := cpuexec.MakeBitmaps(p, func(l *postings.List) bool { return round%4 == 1 || someLists(l) }); err != nil {
					t.Fatal(err)
				}
			}
			sets, found := make([][]uint64, len(all.Segments)), 0
			for i := range all.Segments {
				all.Segments[i].Accept = nil
				var err error
				if sets[i], err = cpuexec.Matches(context.Background(), p, i, p.Tree); err != nil {
					t.Fatal(err)
				}
				for _, word := range sets[i] {
					found += bits.OnesCount64(word)
				}
			}
			want := exectest.Oracle(ix, &all)
			if found != want.Total {
				t.Fatalf("round %d: %d documents in the bitmaps, want %d", round, found, want.Total)
			}
			for _, h := range want.Hits {
				i := len(all.Segments) - 1
				for all.Segments[i].Base > h.Doc {
					i--
				}
				if d := h.Doc - all.Segments[i].Base; sets[i][d/64]>>(d%64)&1 == 0 {
					t.Fatalf("round %d: document %d of segment %d is missing", round, d, i)
				}
			}
			return true
		})
	}
}

// TestCountReadsNoBlock counts a term from its directory.
func TestCountReadsNoBlock(t *testing.T) {
	p, lists := unreadable(t)
	got, err := cpuexec.Parallel{}.Count(context.Background(), p)
	if err != nil || got != lists[0].Count {
		t.Errorf("counted %d, %v, want %d", got, err, lists[0].Count)
	}
}

// TestCountOfSets counts a set that alone decides what matches, over segments with it, with and without
// deletions, and without it.
func TestCountOfSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 8))
	const docs = 70_000 // more than a sheet
	random := func() (set []uint64) {
		set = make([]uint64, (docs+63)/64)
		for d := range docs {
			set[d/64] |= uint64(rng.IntN(2)) << (d % 64)
		}
		return set
	}
	ones := func(set, of []uint64) (n int) {
		for i := range set {
			n += bits.OnesCount64(set[i] & of[i])
		}
		return n
	}
	a, b, accept := random(), random(), random()
	p := &blockmax.Plan{K: 10, Segments: []blockmax.Segment{
		{Docs: docs, Sets: []blockmax.Set{{}, {Bits: a, Count: ones(a, a)}}},
		{Base: docs, Docs: docs, Sets: []blockmax.Set{{}, {}}, Accept: accept},
		{Base: 2 * docs, Docs: docs, Sets: []blockmax.Set{{}, {Bits: b, Count: ones(b, b)}}, Accept: accept},
	}}
	set := blockmax.Node{Set: true, Number: 1}
	want := ones(a, a) + ones(b, accept)
	for name, tree := range map[string]*blockmax.Node{
		"alone":    &set,
		"constant": {Must: []blockmax.Node{set}, Constant: true, Score: 5},
		"filter":   {Filter: []blockmax.Node{{Must: []blockmax.Node{set}}}},
		"should":   {Should: []blockmax.Node{set}}, // not known at once
	} {
		p.Tree = tree
		if got, err := (cpuexec.Parallel{}).Count(context.Background(), p); err != nil || got != want {
			t.Errorf("%s: counted %d, %v, want %d", name, got, err, want)
		}
	}
	p.Tree = &blockmax.Node{Must: []blockmax.Node{set}, Not: []blockmax.Node{{All: true}}}
	if got, err := (cpuexec.Parallel{}).Count(context.Background(), p); err != nil || got != 0 {
		t.Errorf("without all documents, counted %d, %v", got, err)
	}
}
