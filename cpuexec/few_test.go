package cpuexec_test

import (
	"context"
	"fmt"
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

// TestConformanceOfFew lets listed documents always lead, however many there are, with each kind of
// bounds and with bitmaps.
func TestConformanceOfFew(t *testing.T) {
	defer cpuexec.SetLeads(cpuexec.SetLeads(0, 0))
	for variant := range impl.Each("cpuexec") {
		for _, n := range []int{0, 16, 1024} {
			t.Run(fmt.Sprintf("%s/exact=%d", variant, n), func(t *testing.T) {
				defer cpuexec.SetExactPostings(cpuexec.SetExactPostings(n))
				exectest.RunPart(t, cpuexec.Executor{}, 8)
				exectest.RunPart(t, withBitmaps{}, 8)
			})
		}
	}
}

// TestConformanceOfAccepted looks all accepted documents up one by one, however many there are.
func TestConformanceOfAccepted(t *testing.T) {
	defer cpuexec.SetAcceptedShare(cpuexec.SetAcceptedShare(1))
	defer cpuexec.SetFewCandidates(cpuexec.SetFewCandidates(1))
	for variant := range impl.Each("cpuexec") {
		for _, n := range []int{0, 16, 1024} {
			t.Run(fmt.Sprintf("%s/exact=%d", variant, n), func(t *testing.T) {
				defer cpuexec.SetExactPostings(cpuexec.SetExactPostings(n))
				exectest.RunPart(t, withoutFew{cpuexec.Executor{}}, 8)
				exectest.RunPart(t, withoutFew{withBitmaps{}}, 8)
			})
		}
	}
}

// withoutFew does not list the accepted documents of plans.
type withoutFew struct{ exectest.Executor }

func (e withoutFew) TopK(ctx context.Context, p *exectest.Plan) (blockmax.TopK, error) {
	q := *p
	q.Segments = slices.Clone(p.Segments)
	for i := range q.Segments {
		q.Segments[i].Few = nil
	}
	return e.Executor.TopK(ctx, &q)
}

// TestConformanceOfFewShared is the same for queries that goroutines share.
func TestConformanceOfFewShared(t *testing.T) {
	defer cpuexec.SetLeads(cpuexec.SetLeads(0, 0))
	pool := cpuexec.NewPool(4, 0)
	defer pool.Close()
	for _, policy := range []cpuexec.Policy{cpuexec.Adaptive, cpuexec.FGQP, cpuexec.DOCP} {
		t.Run(policy.String(), func(t *testing.T) {
			exectest.RunPart(t, cpuexec.Parallel{Pool: pool, Policy: policy, Grain: 1}, 4)
		})
	}
}

// filteredSegment is a segment of lists of different lengths over several sheets. A share of its
// documents is accepted.
func filteredSegment(docs uint32, share float64) blockmax.Segment {
	rng := rand.New(rand.NewPCG(13, 5))
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	seg := blockmax.Segment{Docs: docs, Accept: make([]uint64, (docs+63)/64)}
	for _, every := range []int{2, 30, 11, 700, 5} {
		var b postings.Builder
		for d := range docs {
			if rng.IntN(every) == 0 {
				b.Add(d, 1+uint32(rng.ExpFloat64()*2), 1)
			}
		}
		l := b.View(postings.MaxDoc)
		seg.Terms = append(seg.Terms, blockmax.Term{List: l, Table: table, Bounds: segment.Bounds(l, table)})
	}
	for d := range docs {
		if rng.Float64() < share {
			seg.Accept[d/64] |= 1 << (d % 64)
			seg.Few = append(seg.Few, d)
		}
	}
	return seg
}

// TestFewLead compares plans that few documents lead with the same plans without the list of these
// documents. The answers are the same, and fewer blocks are decoded where the threshold does not help.
func TestFewLead(t *testing.T) {
	for _, share := range []float64{0.00001, 0.001, 0.01} {
		seg := filteredSegment(600_000, share)
		p := &blockmax.Plan{Weights: []uint32{1 << 26, 1 << 28, 1 << 27, 1 << 29, 1 << 26}, Segments: []blockmax.Segment{seg, seg}}
		p.Segments[1].Base = seg.Docs
		for _, p.Mode = range []blockmax.Mode{blockmax.Or, blockmax.And, blockmax.AndOr} {
			if p.Mode == blockmax.And { // all five together are too rare
				p.Weights = p.Weights[:3]
				for i := range p.Segments {
					p.Segments[i].Terms = p.Segments[i].Terms[:3]
				}
			}
			for _, p.K = range []int{1, 10, 1000} {
				plain := *p
				plain.Segments = slices.Clone(p.Segments)
				for i := range plain.Segments {
					plain.Segments[i].Few = nil
				}
				for round := range 4 { // first without ranges and bitmaps, then with them
					got, want := answer(t, cpuexec.Executor{}, p), answer(t, cpuexec.Executor{}, &plain)
					if !slices.Equal(got.Hits, want.Hits) {
						t.Fatalf("share %v, mode %d, k %d, round %d:\n got %v\nwant %v", share, p.Mode, p.K, round, got.Hits, want.Hits)
					}
					most := want.Work.BlocksDecoded * 5 / 4
					if share <= 0.001 && p.K == 1000 && p.Mode != blockmax.And { // all that match are hits
						most = want.Work.BlocksDecoded / 2
					}
					if round == 3 && got.Work.BlocksDecoded > most {
						t.Errorf("share %v, mode %d, k %d, round %d: %d blocks decoded, want at most %d", share, p.Mode, p.K, round, got.Work.BlocksDecoded, most)
					}
					all, err := cpuexec.Parallel{}.Count(context.Background(), p)
					if err != nil || got.Total > all || got.Exact && got.Total != all {
						t.Errorf("share %v, mode %d, k %d: %d of %d matches counted: %v", share, p.Mode, p.K, got.Total, all, err)
					}
				}
			}
		}
	}
}
