package cpuexec_test

import (
	"testing"

	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// TestConformanceOfFunctions runs functions of plans and of nodes by all algorithms, with and without ranges
// and bitmaps, led by accepted documents, on one goroutine and on several. Only few of the indexes are so
// large that bounds of nodes matter.
func TestConformanceOfFunctions(t *testing.T) {
	check := func(t *testing.T, e exectest.Executor, rounds int) {
		if err := exectest.CheckFunctions(e, 5, exectest.Fewer(rounds)); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range []cpuexec.Algorithm{cpuexec.Exhaustive, cpuexec.WAND, cpuexec.BMW, cpuexec.MaxScore} {
		t.Run(a.String(), func(t *testing.T) { check(t, cpuexec.Executor{Algorithm: a}, 24) })
	}
	t.Run("bmm", func(t *testing.T) { check(t, cpuexec.Executor{}, 80) })
	t.Run("bitmaps", func(t *testing.T) {
		defer cpuexec.SetExactPostings(cpuexec.SetExactPostings(0))
		check(t, withBitmaps{}, 32)
	})
	t.Run("few candidates", func(t *testing.T) { // which bitmaps then leave out
		defer cpuexec.SetFewCandidates(cpuexec.SetFewCandidates(0))
		defer cpuexec.SetAcceptedShare(cpuexec.SetAcceptedShare(1))
		defer cpuexec.SetExactPostings(cpuexec.SetExactPostings(0))
		check(t, withBitmaps{}, 160)
	})
	t.Run("led by few", func(t *testing.T) {
		defer cpuexec.SetLeads(cpuexec.SetLeads(0, 0))
		check(t, cpuexec.Executor{}, 32)
	})
	t.Run("parallel", func(t *testing.T) { check(t, cpuexec.Parallel{Pool: newPool(t, 3), Grain: 1}, 24) })
}
