// Package exectest holds every executor to the oracle: exhaustive scoring written
// for obviousness. One line of test is all an executor needs:
//
//	func TestConformance(t *testing.T) { exectest.Run(t, gpuexec.New(dev)) }
//
// A run makes 2,000 random small indexes. Blocks hold 1 to 8 postings, so that
// even tiny lists have many blocks and extents; scores take few distinct values,
// so that ties, also at the k-th hit and across blocks and segments, are common.
// Plans vary in everything a Plan can say: modes, trees, weights of zero, missing
// terms, deletions, static ranks, tail bounds, After, counting, k from 1 to 10,000.
// Answers must be equal to the last hit and the last bit of every score.
//
// A round depends on nothing but the seed and its number; a failure prints the
// flags that replay it alone.
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

// An Executor is what is tested.
type Executor interface {
	Name() string
	Prunes() bool // it skips blocks that cannot matter
	TopK(context.Context, *Plan) (blockmax.TopK, error)
}

var (
	seed = flag.Uint64("exectest.seed", 1, "`seed` of the random indexes")
	only = flag.Int("exectest.round", -1, "run only this `round`")
)

// Rounds is the number of random indexes of a run; a twentieth of it with -short.
const Rounds = 2000

// Fewer is for tests of many settings, which need not try each with all rounds: so many rounds, a quarter of them with
// -short.
func Fewer(rounds int) int {
	if testing.Short() {
		return rounds / 4
	}
	return rounds
}

// Run fails the test unless e answers as the oracle does, and, if it claims to
// prune, has skipped blocks.
func Run(t *testing.T, e Executor) {
	t.Helper()
	rounds := Rounds
	if testing.Short() {
		rounds /= 20
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

// Check is Run for a number of rounds, with the failure as an error.
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

// Round runs the plans of one random index and returns the blocks skipped in
// those of mode OR, in which an executor that does not prune must decode all.
func Round(e Executor, seed uint64, round int) (skipped int64, err error) {
	Plans(seed, round, func(ix *Index, p *Plan) bool {
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

// Plans calls visit with the plans of a round, each beside the index that the
// Oracle needs to answer it, until visit returns false.
func Plans(seed uint64, round int, visit func(*Index, *Plan) bool) {
	rng := rand.New(rand.NewPCG(seed, uint64(round)))
	whole := newIndex(rng)
	for _, k := range []int{1, 2, 10, 1000, blockmax.MaxK} {
		ix := whole.pick(rng)
		if !visit(ix, ix.newPlan(rng, k)) {
			return
		}
	}
}

// compare says how an answer differs from the oracle's.
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
