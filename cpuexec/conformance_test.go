package cpuexec_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/internal/impl"
)

func TestConformance(t *testing.T) {
	for a := cpuexec.Auto; a <= cpuexec.BMM; a++ {
		t.Run(a.String(), func(t *testing.T) {
			parts := 2
			if a == cpuexec.Auto {
				parts = 1
			}
			exectest.RunPart(t, cpuexec.Executor{Algorithm: a}, parts)
		})
	}
}

// TestConformanceOfVariants runs all variants of the kernels. Lists are bounded by their blocks
// and, after some use, by their ranges; or by their extents. By default the small lists of the test
// would all be decoded at once.
func TestConformanceOfVariants(t *testing.T) {
	for variant := range impl.Each("cpuexec") {
		for _, n := range [][2]int{{0, 16}, {16, 16}, {0, 0}} {
			t.Run(fmt.Sprintf("%s/exact=%d/narrow=%d", variant, n[0], n[1]), func(t *testing.T) {
				defer cpuexec.SetExactPostings(cpuexec.SetExactPostings(n[0]))
				defer cpuexec.SetNarrowExtents(cpuexec.SetNarrowExtents(n[1]))
				exectest.RunPart(t, cpuexec.Executor{Algorithm: cpuexec.BMM}, 4)
			})
		}
	}
}

// TestConformanceWithBitmaps gives half of the lists bitmaps before their first use, and tests even
// a single candidate against them.
func TestConformanceWithBitmaps(t *testing.T) {
	defer cpuexec.SetFewCandidates(cpuexec.SetFewCandidates(1))
	for variant := range impl.Each("cpuexec") {
		t.Run(variant, func(t *testing.T) { exectest.RunPart(t, withBitmaps{}, 2) })
	}
}

type withBitmaps struct{ cpuexec.Executor }

func (e withBitmaps) TopK(ctx context.Context, p *exectest.Plan) (blockmax.TopK, error) {
	if err := cpuexec.MakeBitmaps(p, someLists); err != nil {
		return blockmax.TopK{}, err
	}
	return e.Executor.TopK(ctx, p)
}

// TestConformanceOfCombined runs trees of words of several fields, with and without ranges and bitmaps.
func TestConformanceOfCombined(t *testing.T) {
	for variant := range impl.Each("cpuexec") {
		for _, exact := range []int{0, 1024} {
			for _, bitmaps := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/exact=%d/bitmaps=%v", variant, exact, bitmaps), func(t *testing.T) {
					defer cpuexec.SetExactPostings(cpuexec.SetExactPostings(exact))
					var e exectest.Executor = cpuexec.Executor{}
					if bitmaps {
						e = withBitmaps{}
					}
					if err := exectest.CheckCombined(e, 11, exectest.Fewer(80)); err != nil {
						t.Fatal(err)
					}
				})
			}
		}
	}
}

// TestConformanceOfProximities runs mostly trees that are one proximity, with lists of all densities. A
// tile is searched word by word until there is a threshold.
func TestConformanceOfProximities(t *testing.T) {
	defer cpuexec.SetFirstWords(cpuexec.SetFirstWords(1))
	for variant := range impl.Each("cpuexec") {
		for _, exact := range []int{0, 1024} {
			for _, bitmaps := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/exact=%d/bitmaps=%v", variant, exact, bitmaps), func(t *testing.T) {
					defer cpuexec.SetExactPostings(cpuexec.SetExactPostings(exact))
					var e exectest.Executor = cpuexec.Executor{}
					if bitmaps {
						e = withBitmaps{}
					}
					if err := exectest.CheckProximities(e, 10, exectest.Fewer(400)); err != nil {
						t.Fatal(err)
					}
				})
			}
		}
	}
}
