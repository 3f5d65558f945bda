package cpuexec_test

import (
	"testing"

	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

func TestConformance(t *testing.T) {
	for a := cpuexec.Auto; a <= cpuexec.BMM; a++ {
		t.Run(a.String(), func(t *testing.T) {
			exectest.Run(t, cpuexec.Executor{Algorithm: a})
		})
	}
}
