package gpu

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/exectest"
)

// TestGivenUp: Stats says why a device gets no further batch, also when its context is not lost.
func TestGivenUp(t *testing.T) {
	if !strings.Contains(os.Getenv("RIFFLE_LIBCUDA"), "emulator") {
		t.Skip("this test is for the emulated driver: RIFFLE_LIBCUDA")
	}
	t.Setenv("RIFFLE_EMULATOR_DEVICES", "2")
	for _, layout := range []accelerator.Layout{accelerator.Copies, accelerator.Ranges} {
		a, err := Open(accelerator.Options{Policy: accelerator.Devices, Layout: layout, MemoryBytes: 32 << 20, BatchBytes: 4 << 20})
		if err != nil {
			t.Fatal(err)
		}
		a.Start(1000, 100)
		if a.Stats().Devices[0].Lost != nil {
			t.Error("a device is lost at once")
		}
		t.Setenv("RIFFLE_EMULATOR_REFUSE", "*1")
		for range 20 {
			exectest.Plans(3, 1, func(_ *exectest.Index, p *exectest.Plan) bool {
				if p.Tree != nil || p.Mode != blockmax.Or {
					return true
				}
				if ticket, err := a.Submit(accelerator.Query{Plan: p, CPU: cpuexec.Parallel{}}); err != nil {
					t.Fatal(err)
				} else if _, err := ticket.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
				return false
			})
		}
		t.Setenv("RIFFLE_EMULATOR_REFUSE", "")
		var why *device.Error
		for i, d := range a.Stats().Devices {
			if !errors.As(d.Lost, &why) {
				t.Errorf("layout %v: device %d is lost by %v", layout, i, d.Lost)
			}
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}
