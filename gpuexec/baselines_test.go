package gpuexec_test

import (
	"strings"
	"testing"

	"github.com/riffle-search/riffle/gpuexec"
)

// TestBaselinesAreBrought: the papers' own methods need their kernels, and refuse to run without.
func TestBaselinesAreBrought(t *testing.T) {
	dev := openDevice(t, 0, 32<<20)
	defer dev.Close()
	for _, a := range []gpuexec.Algorithm{gpuexec.Ranges, gpuexec.RangesWAND, gpuexec.RangesBMW, gpuexec.Rounds} {
		if _, err := gpuexec.New(dev, gpuexec.Options{Algorithm: a}); err == nil || !strings.Contains(err.Error(), "Baselines") {
			t.Errorf("%v without its kernels: %v", a, err)
		}
	}
}
