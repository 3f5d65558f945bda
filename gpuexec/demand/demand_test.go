package demand_test

import (
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/demand"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/postings"
)

// TestExtents: whatever the threshold, every extent with a posting of a document of the answer is
// wanted. With an unreachable threshold none is.
func TestExtents(t *testing.T) {
	var f demand.Finder
	checked, spared := 0, 0
	for round := range exectest.Rounds {
		exectest.Plans(11, round, func(ix *exectest.Index, p *demand.Plan) bool {
			if p.Tree != nil || len(p.Weights) == 0 {
				return true
			}
			p.After = nil
			if p.Mode == blockmax.AndOr {
				p.Mode = blockmax.And
			}
			top := exectest.Oracle(ix, p)
			need := uint32(0)
			if len(top.Hits) == p.K {
				need = top.Hits[p.K-1].Score
			}
			for _, need := range []uint32{need, 0, seed(p)} {
				c, s := check(t, &f, p, top.Hits, need)
				checked, spared = checked+c, spared+s
			}
			return !t.Failed()
		})
	}
	if checked < 1000 || spared < 1000 {
		t.Errorf("%d postings were checked and %d extents spared: too few to prove anything", checked, spared)
	}
}

func seed(p *demand.Plan) uint32 {
	if p.Mode == blockmax.Or {
		return p.Seed()
	}
	return 0
}

// check returns how many postings of hits it checked, and how many extents are not wanted.
func check(t *testing.T, f *demand.Finder, p *demand.Plan, hits []blockmax.Hit, need uint32) (checked, spared int) {
	for s := range p.Segments {
		seg := &p.Segments[s]
		wanted, none := bitmaps(seg), bitmaps(seg)
		f.Extents(p, s, p.Mode, need, wanted)
		f.Extents(p, s, p.Mode, 1<<31, none)
		for i := range seg.Terms {
			l := seg.Terms[i].List
			if seg.Terms[i].Bounds == nil {
				continue
			}
			for e := range l.ExtLast {
				if none[i][e/64]>>(e%64)&1 == 1 {
					t.Errorf("extent %d of term %d is wanted for a score that nothing can have", e, i)
				}
				if wanted[i][e/64]>>(e%64)&1 == 0 {
					spared++
				}
			}
			for _, h := range hits {
				doc := h.Doc - seg.Base
				if h.Doc < seg.Base || doc >= seg.Docs {
					continue
				}
				b := l.Seek(0, doc)
				if b == l.Blocks() || !has(t, l, b, doc) {
					continue
				}
				checked++
				if e := b / postings.ExtentBlocks; wanted[i][e/64]>>(e%64)&1 == 0 {
					t.Errorf("mode %d, k %d, need %d: extent %d of term %d is not wanted, but has document %d of the answer, which scores %d", p.Mode, p.K, need, e, i, doc, h.Score)
				}
			}
		}
	}
	return checked, spared
}

func has(t *testing.T, l *postings.List, b int, doc uint32) bool {
	var docs [postings.BlockSize]uint32
	n, err := l.Docs(b, &docs)
	if err != nil {
		t.Fatal(err)
	}
	at := postings.SeekBlock(&docs, n, doc)
	return at < n && docs[at] == doc
}

func bitmaps(seg *blockmax.Segment) (maps [][]uint64) {
	for t := range seg.Terms {
		n := 0
		if seg.Terms[t].Bounds != nil {
			n = len(seg.Terms[t].List.ExtLast)
		}
		maps = append(maps, make([]uint64, (n+63)/64))
	}
	return maps
}

// TestTogether: queries that mark extents of the same, partly marked lists end with the union of
// what each marks alone.
func TestTogether(t *testing.T) {
	var f demand.Finder
	skipped := false
	for round := range exectest.Rounds / 4 {
		exectest.Plans(12, round, func(ix *exectest.Index, p *demand.Plan) bool {
			if p.Tree != nil || len(p.Weights) == 0 {
				return true
			}
			for s := range p.Segments {
				seg := &p.Segments[s]
				together, want := bitmaps(seg), bitmaps(seg)
				for _, need := range []uint32{1 << 20, 1 << 29, 0, p.Seed()} {
					for _, mode := range []blockmax.Mode{blockmax.And, blockmax.Or} {
						alone := bitmaps(seg)
						f.Extents(p, s, mode, need, alone)
						f.Extents(p, s, mode, need, together)
						for i := range alone {
							for w := range alone[i] {
								skipped = skipped || want[i][w]&alone[i][w] != 0
								want[i][w] |= alone[i][w]
							}
						}
						if !slices.EqualFunc(together, want, slices.Equal) {
							t.Errorf("mode %d, need %d: %x is wanted together, %x alone", mode, need, together, want)
						}
					}
				}
			}
			return !t.Failed()
		})
	}
	if !skipped {
		t.Error("nothing was marked twice")
	}
}
