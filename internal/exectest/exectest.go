// Package exectest compares executors with the oracle: exhaustive scoring written to be obviously
// correct. An executor needs one line of test:
//
//	func TestConformance(t *testing.T) { exectest.Run(t, gpuexec.New(dev)) }
//
// A run makes 2,000 random small indexes. Blocks hold 1 to 8 postings, so that even tiny lists have
// many blocks and extents; scores take few distinct values, so that ties, also at the k-th hit and
// across blocks and segments, are common. Plans vary in everything that a Plan can express: modes,
// trees, weights of zero, missing terms, deletions, static ranks, tail bounds, After, counting, k
// from 1 to 10,000. Answers must be equal in every hit and every bit of its score.
//
// A round depends only on the seed and its number. A failure prints the flags that replay the round
// alone.
package exectest

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
)

// A Plan is a query over lists of package postings.
type Plan = blockmax.Plan

// An Executor is the executor under test.
type Executor interface {
	Name() string
	Prunes() bool // whether it skips blocks that cannot matter
	TopK(context.Context, *Plan) (blockmax.TopK, error)
}

var (
	seed = flag.Uint64("exectest.seed", 1, "`seed` of the random indexes")
	only = flag.Int("exectest.round", -1, "run only this `round`")
)

// Rounds is the number of random indexes of a run; with -short it is a twentieth.
const Rounds = 2000

// Fewer sets the number of rounds for tests of many settings, which need not run all rounds for
// each. With -short it is a quarter of rounds.
func Fewer(rounds int) int {
	if testing.Short() {
		return rounds / 4
	}
	return rounds
}

// Run fails the test unless e answers as the oracle does. If e claims to prune, it must also skip
// blocks.
func Run(t *testing.T, e Executor) {
	t.Helper()
	RunPart(t, e, 1)
}

// RunPart is Run with 1/parts of the rounds, but not fewer than with -short, for tests of many
// settings.
func RunPart(t *testing.T, e Executor, parts int) {
	t.Helper()
	rounds := max(Rounds/parts, Rounds/20)
	if testing.Short() {
		rounds = Rounds / 20
	}
	if *only >= 0 {
		if _, err := Round(e, *seed, *only); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := Check(e, *seed, rounds); err != nil {
		t.Fatal(err)
	}
}

// Check is Run for a number of rounds. It returns the failure as an error.
func Check(e Executor, seed uint64, rounds int) error {
	var skipped int64
	for round := range rounds {
		n, err := Round(e, seed, round)
		if err != nil {
			return err
		}
		skipped += n
	}
	if skipped == 0 && e.Prunes() {
		return fmt.Errorf("%s claims to prune and skipped no block of any flat OR in %d rounds", e.Name(), rounds)
	}
	return nil
}

// CheckProximities is Check with plans whose tree is a proximity, alone or as a required node. It does
// not ask whether e prunes.
func CheckProximities(e Executor, seed uint64, rounds int) error {
	return checkTrees(e, seed, rounds, "proximities", (*Index).proximityTree)
}

// CheckCombined is Check with plans whose tree is made of words of several fields. It does not ask
// whether e prunes.
func CheckCombined(e Executor, seed uint64, rounds int) error {
	return checkTrees(e, seed, rounds, "combined", (*Index).combinedTree)
}

// checkTrees is Check with other trees.
func checkTrees(e Executor, seed uint64, rounds int, name string, tree func(*Index, *rand.Rand, *Plan) *blockmax.Node) error {
	for round := range rounds {
		var err error
		plans(seed, round, name, func(ix *Index, p *Plan) bool {
			if len(ix.parts[0].Terms) == 0 {
				return true
			}
			rng := rand.New(rand.NewPCG(seed, uint64(round)<<8|uint64(p.K%256)))
			p.Else, p.After = nil, nil
			p.Tree = tree(ix, rng, p)
			for i := range p.Segments {
				p.Segments[i].Tail = nil // bounds another tree
			}
			want := Oracle(ix, p)
			for range 1 + rng.IntN(3) { // lists learn from use
				var got blockmax.TopK
				if got, err = e.TopK(context.Background(), p); err == nil {
					err = compare(p, got, want)
				}
				if err != nil {
					err = fmt.Errorf("%s: seed %d, round %d: %w\n%s%v", e.Name(), seed, round, err, describe(p), ix)
					return false
				}
			}
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Round runs the plans of one random index. It returns the blocks skipped in plans of mode OR, of
// which an executor that does not prune must decode all.
func Round(e Executor, seed uint64, round int) (skipped int64, err error) {
	plans(seed, round, "plans", func(ix *Index, p *Plan) bool {
		var got blockmax.TopK
		got, err = e.TopK(context.Background(), p)
		if err == nil {
			err = compare(p, got, Oracle(ix, p))
		}
		if err != nil {
			err = fmt.Errorf("%s: %w\nreplay with -exectest.seed=%d -exectest.round=%d\n%s%v", e.Name(), err, seed, round, describe(p), ix)
			return false
		}
		if p.Tree == nil && p.Mode == blockmax.Or {
			skipped += got.Work.BlocksSkipped
		}
		return true
	})
	return skipped, err
}

// Plans calls visit with the plans of a round, and with the index that Oracle needs to answer each,
// until visit returns false.
func Plans(seed uint64, round int, visit func(*Index, *Plan) bool) {
	plans(seed, round, "", visit)
}

// plans is Plans. Runs of one name must ask the oracle for the same: it answers once for all of them.
func plans(seed uint64, round int, name string, visit func(*Index, *Plan) bool) {
	rng := rand.New(rand.NewPCG(seed, uint64(round)))
	whole := newIndex(rng)
	for _, k := range []int{1, 2, 10, 1000, blockmax.MaxK} {
		ix := whole.pick(rng)
		if name != "" {
			ix.known = knownOf(name, seed, round, k)
		}
		if !visit(ix, ix.newPlan(rng, k)) {
			return
		}
	}
}

// compare returns an error that says how an answer differs from the oracle's.
func compare(p *Plan, got, want blockmax.TopK) error {
	if !slices.Equal(got.Hits, want.Hits) {
		at := 0
		for at < min(len(got.Hits), len(want.Hits)) && got.Hits[at] == want.Hits[at] {
			at++
		}
		return fmt.Errorf("answers differ from hit %d on:\n got %v\nwant %v", at, got.Hits[at:min(at+5, len(got.Hits))], want.Hits[at:min(at+5, len(want.Hits))])
	}
	switch {
	case got.Exact && got.Total != want.Total:
		return fmt.Errorf("total is %d and said to be exact, want %d", got.Total, want.Total)
	case got.Total > want.Total || got.Total < len(got.Hits):
		return fmt.Errorf("total is at least %d, of %d documents and %d hits", got.Total, want.Total, len(got.Hits))
	case p.CountAll && !got.Exact:
		return fmt.Errorf("total %d is not exact as the plan asks", got.Total)
	}
	w := got.Work
	if w.BlocksDecoded < 0 || w.BlocksSkipped < 0 || w.DocsScored < int64(len(got.Hits)) {
		return fmt.Errorf("work %+v for %d hits", w, len(got.Hits))
	}
	return nil
}
