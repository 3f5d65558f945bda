package gpu

import (
	"errors"
	"sync"
	"testing"

	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/internal/accelerator"
)

// TestDropWhileStarting drops lists while the accelerator starts, as a merge does that ends while an index
// is opened. The race detector looks at it.
func TestDropWhileStarting(t *testing.T) {
	t.Setenv("RIFFLE_EMULATOR_DEVICES", "2") // a machine with GPUs ignores this
	a, err := Open(accelerator.Options{Layout: accelerator.Ranges, MemoryBytes: 32 << 20, BatchBytes: 4 << 20})
	if errors.Is(err, device.ErrNoDevice) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for range 100 {
			a.Drop(func(uint64) bool { return true })
		}
	})
	a.Start(1000, 100)
	group.Wait()
	if layout := a.Stats().Layout; layout != accelerator.Ranges && len(a.Stats().Devices) > 1 {
		t.Errorf("the layout is %v", layout)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
