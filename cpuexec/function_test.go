package cpuexec_test

import (
	"testing"

	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/internal/impl"
)

// TestConformanceOfFunctions runs functions of plans and of nodes by all algorithms, with and without ranges
// and bitmaps, on one goroutine and on several.
func TestConformanceOfFunctions(t *testing.T) {
	check := func(t *testing.T, e exectest.Executor) {
		rounds := 24
		if e.Name() == "cpu/bmm" { // only few of the indexes are so large that bounds of nodes matter
			rounds = 120
		}
		if err := exectest.CheckFunctions(e, 5, exectest.Fewer(rounds)); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range []cpuexec.Algorithm{cpuexec.Exhaustive, cpuexec.WAND, cpuexec.BMW, cpuexec.MaxScore, cpuexec.BMM} {
		t.Run(a.String(), func(t *testing.T) { check(t, cpuexec.Executor{Algorithm: a}) })
	}
	for variant := range impl.Each("cpuexec") {
		t.Run(variant+"/bitmaps", func(t *testing.T) {
			defer cpuexec.SetExactPostings(cpuexec.SetExactPostings(0))
			check(t, withBitmaps{})
		})
	}
	t.Run("led by few", func(t *testing.T) {
		defer cpuexec.SetLeads(cpuexec.SetLeads(0, 0))
		check(t, cpuexec.Executor{})
	})
	t.Run("parallel", func(t *testing.T) { check(t, cpuexec.Parallel{Pool: newPool(t, 3), Grain: 1}) })
}
