package cpuexec_test

import (
	"cmp"
	"context"
	"errors"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/postings"
)

// TestEachMatch compares with the oracle: with and without scores, bitmaps and other goroutines.
func TestEachMatch(t *testing.T) {
	pool := cpuexec.NewPool(4, 0)
	defer pool.Close()
	executors := []cpuexec.Parallel{
		{}, {Pool: pool, Policy: cpuexec.FGQP, Grain: 1}, {Pool: pool, Policy: cpuexec.DOCP},
	}
	shared := 0
	listed.Store(0)
	for round := range exectest.Fewer(300) {
		exectest.Plans(21, round, func(ix *exectest.Index, p *exectest.Plan) bool {
			if round%2 == 0 {
				if err := cpuexec.MakeBitmaps(p, func(*postings.List) bool { return round%4 == 0 }); err != nil {
					t.Fatal(err)
				}
			}
			want := wholeAnswer(ix, p)
			for i, x := range executors {
				for _, scores := range []bool{false, true} {
					got, begun := allMatches(t, x, p, scores)
					if begun > 1 {
						shared++
					}
					for i := range want {
						if !scores && i < len(got) {
							got[i].Score = want[i].Score
						}
					}
					if !slices.Equal(got, want) {
						t.Fatalf("round %d, executor %d, scores %v: %d matches\n%v, want %d\n%v", round, i, scores, len(got), got, len(want), want)
					}
				}
			}
			return true
		})
	}
	if shared == 0 {
		t.Error("no search was shared")
	}
	if listed.Load() == 0 {
		t.Error("no matches came as a list")
	}
}

// wholeAnswer is all matches by document. Which they are may depend on the plan's K.
func wholeAnswer(ix *exectest.Index, p *exectest.Plan) []blockmax.Hit {
	q := *p
	q.After = nil
	total := exectest.Oracle(ix, &q).Total
	if p.Else != nil || p.Tree == nil && p.Mode == blockmax.AndOr { // settle what matches before asking for all
		first := q
		first.Else = nil
		if p.Tree == nil {
			first.Mode = blockmax.And
		}
		if n := exectest.Oracle(ix, &first).Total; n >= p.K {
			q = first
		} else if p.Tree == nil {
			q.Mode = blockmax.Or
		} else {
			q.Tree, q.Else = p.Else, nil
		}
	}
	q.K = max(1, total)
	hits := exectest.Oracle(ix, &q).Hits
	slices.SortFunc(hits, func(a, b blockmax.Hit) int { return cmp.Compare(a.Doc, b.Doc) })
	return hits
}

// listed counts matches of tiles that came as a list.
var listed atomic.Int64

// allMatches returns all matches by document, and how many goroutines have begun.
func allMatches(t *testing.T, x cpuexec.Parallel, p *blockmax.Plan, scores bool) (all []blockmax.Hit, begun int) {
	var mu sync.Mutex
	ended := 0
	err := x.EachMatch(context.Background(), p, scores, func() (func(*cpuexec.Match) error, func()) {
		mu.Lock()
		defer mu.Unlock()
		begun++
		var mine []blockmax.Hit
		return func(m *cpuexec.Match) error {
				count := 0
				for i, word := range m.Set {
					for ; word != 0; word &= word - 1 {
						if d := i*64 + bits.TrailingZeros64(word); m.List != nil && (count == len(m.List) || int(m.List[count]) != d) {
							t.Errorf("tile %d has document %d, and the list %v", m.Tile, d, m.List)
						}
						d := i*64 + bits.TrailingZeros64(word)
						h := blockmax.Hit{Doc: p.Segments[m.Segment].Base + uint32(m.Tile*blockmax.TileDocs+d)}
						if scores {
							h.Score = m.Scores[d]
						}
						mine = append(mine, h)
						count++
					}
				}
				if m.List != nil {
					listed.Add(1)
				}
				if count != m.Count || (m.Scores != nil) != scores {
					t.Errorf("tile %d has %d documents, says %d", m.Tile, count, m.Count)
				}
				return nil
			}, func() {
				mu.Lock()
				defer mu.Unlock()
				ended++
				all = append(all, mine...)
			}
	})
	if err != nil || ended != begun {
		t.Fatalf("%d have begun, %d ended: %v", begun, ended, err)
	}
	slices.SortFunc(all, func(a, b blockmax.Hit) int { return cmp.Compare(a.Doc, b.Doc) })
	return all, begun
}

// TestEachMatchFails: the error of a visit, and that of the context, end the search.
func TestEachMatchFails(t *testing.T) {
	fault := errors.New("fault")
	seen := false
	for round := 0; round < 50 && !seen; round++ {
		exectest.Plans(22, round, func(ix *exectest.Index, p *exectest.Plan) bool {
			if exectest.Oracle(ix, p).Total == 0 {
				return true
			}
			seen = true
			visit := func() (func(*cpuexec.Match) error, func()) {
				return func(*cpuexec.Match) error { return fault }, nil
			}
			if err := (cpuexec.Parallel{}).EachMatch(context.Background(), p, true, visit); !errors.Is(err, fault) {
				t.Errorf("got %v, want the error of the visit", err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if err := (cpuexec.Parallel{}).EachMatch(ctx, p, true, visit); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want that of the context", err)
			}
			return true
		})
	}
	if !seen {
		t.Error("no plan had matches")
	}
}
