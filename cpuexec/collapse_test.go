package cpuexec_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// TestCollapse compares with grouping all matches, page by page.
func TestCollapse(t *testing.T) {
	pool := cpuexec.NewPool(4, 0)
	defer pool.Close()
	executors := []cpuexec.Parallel{{}, {Pool: pool, Policy: cpuexec.FGQP, Grain: 1}, {Pool: pool, Policy: cpuexec.DOCP}}
	shared, large := 0, 0
	for round := range exectest.Fewer(150) {
		rng := rand.New(rand.NewPCG(41, uint64(round)))
		exectest.Plans(41, round, func(ix *exectest.Index, p *exectest.Plan) bool {
			c := newSortCase(t, rng, p)
			by := newSortCase(t, rng, p)
			key := slices.IndexFunc(by.order.Keys, func(k cpuexec.SortKey) bool { return k.By == cpuexec.ByColumn })
			if key < 0 {
				return true
			}
			var want []cpuexec.Group
			places := map[string]int{} // in want, by term
			matches := c.sorted(wholeAnswer(ix, p))
			for _, place := range matches {
				g := cpuexec.Group{Place: place, Size: 1}
				segment := len(p.Segments) - 1
				for p.Segments[segment].Base > place.Doc {
					segment--
				}
				values := by.values[key][segment][place.Doc-p.Segments[segment].Base]
				if g.Value.Missing = len(values) == 0; !g.Value.Missing {
					g.Value.Value = values[0]
				}
				term := ""
				if !g.Value.Missing {
					term = string(g.Value.Value.AppendTerm(nil))
				}
				if at, ok := places[term]; !ok {
					places[term] = len(want)
					want = append(want, g)
				} else {
					want[at].Size++
					large = max(large, want[at].Size)
				}
			}
			for i, x := range executors {
				o := c.order
				for got, page := 0, 0; page < 3; page++ {
					q := *p
					s, err := x.Collapse(context.Background(), &q, &o, cpuexec.Grouping{Columns: by.order.Keys[key].Columns})
					if err != nil {
						t.Fatal(err)
					}
					rest := want[got:]
					rest = rest[:min(len(rest), q.K)]
					if s.Total != len(matches) || s.Count != len(want) || len(s.Groups) != len(rest) {
						t.Fatalf("round %d, executor %d: %d of %d groups of %d, want %d of %d of %d", round, i, len(s.Groups), s.Count, s.Total, len(rest), len(want), len(matches))
					}
					for n, g := range s.Groups {
						if d := differ([]cpuexec.Place{g.Place}, []cpuexec.Place{rest[n].Place}); d != "" || g.Size != rest[n].Size || !sameValue(g.Value, rest[n].Value) {
							t.Fatalf("round %d, executor %d, %s: group %d is %v, want %v: %s", round, i, c, n, g, rest[n], d)
						}
					}
					if s.Work.Tasks > 0 {
						shared++
					}
					if got += len(rest); len(rest) < q.K || got >= len(want) {
						break
					}
					o.After = &s.Groups[len(s.Groups)-1].Place
				}
			}
			return true
		})
	}
	if shared == 0 || large < 10 {
		t.Errorf("%d searches were shared, the largest group has %d", shared, large)
	}
}

func sameValue(a, b cpuexec.KeyValue) bool {
	return a.Missing == b.Missing && (a.Missing || columns.Compare(a.Value, b.Value) == 0)
}
