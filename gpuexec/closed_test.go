package gpuexec_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/internal/exectest"
)

// TestClosedDevice closes a device while batches run. Each of them is answered as by the CPU, or fails
// since the device is closed; none uses memory that is freed.
func TestClosedDevice(t *testing.T) {
	c := newCollection(10_000, []float64{0.3, 0.2, 0.1, 0.05, 0.001})
	for round := range 8 {
		dev := openDevice(t, 0, 3*batchBytes+(8<<20))
		x, err := gpuexec.New(dev, gpuexec.Options{Shape: small, BatchBytes: batchBytes, ColumnBytes: columnBytes, FlatBytes: 1 << 20, Stream: round%2 == 1, WindowBytes: 4 << 20})
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		answered := make(chan struct{}, 1)
		for worker := range 3 {
			group.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(round), uint64(worker)))
				for {
					err := checkLarge(x, []*exectest.Plan{c.plan(rng, blockmax.Or, 10, 3), c.plan(rng, blockmax.And, 10, 2)})
					if errors.Is(err, device.ErrClosed) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					select {
					case answered <- struct{}{}:
					default:
					}
				}
			})
		}
		ended := make(chan struct{})
		go func() {
			group.Wait()
			close(ended)
		}()
		select {
		case <-answered:
		case <-ended: // they have failed
		}
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
		<-ended
	}
}
