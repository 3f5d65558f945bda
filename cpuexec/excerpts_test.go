package cpuexec_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/internal/impl"
)

// withExcerpts answers plans by excerpts: those of all lists are made first, or those of lists without
// a key by the query. The accepted documents are a part of the subset.
type withExcerpts struct {
	exectest.Executor
	keys bool // lists have keys
}

func (e withExcerpts) TopK(ctx context.Context, p *exectest.Plan) (blockmax.TopK, error) {
	q := *p
	q.Segments = slices.Clone(p.Segments)
	for i := range q.Segments {
		s := &q.Segments[i]
		if s.Accept == nil {
			continue
		}
		var docs []uint32
		alive := make([]uint64, (s.Docs+63)/64)
		for d := range s.Docs {
			in := s.Accept[d/64] >> (d % 64) & 1
			if in == 1 || d%3 == 0 {
				alive[len(docs)/64] |= in << (len(docs) % 64)
				docs = append(docs, d)
			}
		}
		s.Subset, s.Alive = blockmax.NewSubset(docs), alive
		if e.keys {
			s.Terms = slices.Clone(s.Terms)
			for t := range s.Terms {
				s.Terms[t].Key = uint64(t + 1)
			}
		}
	}
	if err := cpuexec.MakeExcerpts(&q); err != nil {
		return blockmax.TopK{}, err
	}
	return e.Executor.TopK(ctx, &q)
}

// TestConformanceOfExcerpts answers all plans with accepted documents by excerpts.
func TestConformanceOfExcerpts(t *testing.T) {
	pool := cpuexec.NewPool(4, 0)
	defer pool.Close()
	for variant := range impl.Each("cpuexec") {
		for _, keys := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/keys=%v", variant, keys), func(t *testing.T) {
				exectest.RunPart(t, withExcerpts{Executor: cpuexec.Executor{}, keys: keys}, 4)
				exectest.RunPart(t, withExcerpts{Executor: cpuexec.Parallel{Pool: pool, Policy: cpuexec.DOCP, Grain: 1}, keys: keys}, 8)
				exectest.RunPart(t, withExcerpts{Executor: cpuexec.Parallel{Pool: pool, Policy: cpuexec.FGQP, Grain: 1}, keys: keys}, 8)
			})
		}
	}
}

// TestExcerpts: queries under a filter make excerpts of their lists, in steps. From then on they
// decode no blocks, and the answers never change.
func TestExcerpts(t *testing.T) {
	for variant := range impl.Each("cpuexec") {
		for _, share := range []float64{0.0001, 0.01, 0.1} {
			t.Run(fmt.Sprintf("%s/share=%v", variant, share), func(t *testing.T) {
				seg := filteredSegment(600_000, share)
				docs := seg.Few
				seg.Subset = blockmax.NewSubset(docs)
				if share > 0.01 {
					seg.Few = nil
				}
				for i := range seg.Terms {
					seg.Terms[i].Key = uint64(1 + i)
				}
				p := &blockmax.Plan{K: 10, Weights: []uint32{1 << 26, 1 << 28, 1 << 27}, Segments: []blockmax.Segment{seg}}
				p.Segments[0].Terms = seg.Terms[:3]
				for _, p.Mode = range []blockmax.Mode{blockmax.Or, blockmax.And} {
					plain := *p
					plain.Segments = slices.Clone(p.Segments)
					plain.Segments[0].Subset = nil
					want := answer(t, cpuexec.Executor{}, &plain)
					rounds := 0
					for decoded := int64(1); decoded > 0; rounds++ {
						got := answer(t, cpuexec.Executor{}, p)
						if !slices.Equal(got.Hits, want.Hits) {
							t.Fatalf("mode %d, round %d:\n got %v\nwant %v", p.Mode, rounds, got.Hits, want.Hits)
						}
						if decoded = got.Work.BlocksDecoded; rounds > 2000 {
							t.Fatalf("mode %d: there are still no excerpts", p.Mode)
						}
					}
					if p.Mode == blockmax.Or && rounds < 2 {
						t.Error("the first query already found excerpts")
					}
					all, err := cpuexec.Parallel{}.Count(context.Background(), p)
					if got := answer(t, cpuexec.Executor{}, p); err != nil || got.Total != all {
						t.Errorf("mode %d: %d of %d matches counted: %v", p.Mode, got.Total, all, err)
					}
				}
				if least := int64(2 * len(docs) / 700); seg.Subset.Bytes() < least {
					t.Errorf("excerpts take %d bytes", seg.Subset.Bytes())
				}
				seg.Subset.Drop(true)
				for range 10 {
					answer(t, cpuexec.Executor{}, p)
				}
				if n := seg.Subset.Bytes(); n != 0 {
					t.Errorf("a closed subset has excerpts of %d bytes", n)
				}
			})
		}
	}
}
