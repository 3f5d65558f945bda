package cpuexec_test

import (
	"fmt"
	"testing"

	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/internal/impl"
)

func TestConformance(t *testing.T) {
	for a := cpuexec.Auto; a <= cpuexec.BMM; a++ {
		t.Run(a.String(), func(t *testing.T) {
			exectest.Run(t, cpuexec.Executor{Algorithm: a})
		})
	}
}

// TestConformanceOfVariants runs all variants of the kernels. Lists are bounded by their
// blocks and, once they have been used a little, by their ranges: by default the
// small lists of the test are all decoded at once.
func TestConformanceOfVariants(t *testing.T) {
	for variant := range impl.Each("cpuexec") {
		for _, n := range []int{0, 16} {
			t.Run(fmt.Sprintf("%s/exact=%d", variant, n), func(t *testing.T) {
				defer cpuexec.SetExactPostings(cpuexec.SetExactPostings(n))
				exectest.Run(t, cpuexec.Executor{Algorithm: cpuexec.BMM})
			})
		}
	}
}
