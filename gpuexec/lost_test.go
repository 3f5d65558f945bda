package gpuexec_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/internal/exectest"
)

// TestLost lets the device fail between two batches: the first is answered, and all others report
// the loss.
func TestLost(t *testing.T) {
	t.Setenv("RIFFLE_EMULATOR_FAIL", "12") // a real device does not fail
	c := newCollection(5000, []float64{0.3, 0.1})
	dev := openDevice(t, 0, 32<<20)
	defer dev.Close()
	x, err := gpuexec.New(dev, gpuexec.Options{Shape: small})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	var lost error
	for range 20 {
		if _, err := x.Run(context.Background(), []*exectest.Plan{c.plan(rng, blockmax.Or, 10, 2)}); err != nil {
			lost = err
		} else if lost != nil {
			t.Fatal("a lost device answers")
		}
	}
	if lost == nil {
		t.Skip("the device is real")
	}
	if !errors.Is(lost, device.ErrLost) || !errors.Is(x.Lost(), device.ErrLost) {
		t.Errorf("the errors are %v and %v", lost, x.Lost())
	}
}
