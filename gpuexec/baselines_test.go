package gpuexec_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/gpuexec/device"
)

// TestBaselinesAreBrought: the papers' own methods run with their kernels or not at all.
func TestBaselinesAreBrought(t *testing.T) {
	dev, err := device.Open(0, device.Options{MemoryBytes: 32 << 20})
	if errors.Is(err, device.ErrNoDevice) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	for _, a := range []gpuexec.Algorithm{gpuexec.Ranges, gpuexec.RangesWAND, gpuexec.RangesBMW, gpuexec.Rounds} {
		if _, err := gpuexec.New(dev, gpuexec.Options{Algorithm: a}); err == nil || !strings.Contains(err.Error(), "Baselines") {
			t.Errorf("%v without its kernels: %v", a, err)
		}
	}
}
