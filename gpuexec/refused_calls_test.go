package gpuexec_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/internal/exectest"
)

// refuse makes the emulated driver refuse some calls (gpuexec/emulator/README.md). A real one refuses none.
func refuse(t *testing.T, calls string) {
	t.Helper()
	if !strings.Contains(os.Getenv("RIFFLE_LIBCUDA"), "emulator") {
		t.Skip("this test is for the emulated driver: RIFFLE_LIBCUDA")
	}
	t.Setenv("RIFFLE_EMULATOR_REFUSE", calls)
}

// eachKind runs a test with resident lists and with Stream, with little memory for either.
func eachKind(t *testing.T, test func(t *testing.T, x *gpuexec.Executor)) {
	shape := gpuexec.Shape{Multiprocessors: 2, StripTiles: -1, WindowTiles: 1}
	t.Run("resident", func(t *testing.T) { test(t, openShaped(t, 0, 256<<10, gpuexec.Options{FlatBytes: 128 << 10}, shape)) })
	t.Run("streams", func(t *testing.T) { test(t, openStream(t, 64<<10, gpuexec.Options{HostBytes: 512 << 10}, shape)) })
}

// versioned returns plans over a collection whose mean length depends on a number.
func (c *collection) versioned(rng *rand.Rand, version int) (plans []*exectest.Plan) {
	of := c.under(320 + float64(version))
	for mode := range 3 {
		plans = append(plans, of.plan(rng, blockmax.Mode(mode), 1+rng.IntN(30), 2+rng.IntN(3)))
	}
	return plans
}

// TestRefusedCalls lets each call of the driver fail that a batch makes, one after the other. The batch
// fails, and those after it have the CPU's answers.
func TestRefusedCalls(t *testing.T) {
	c := newCollection(10_000, []float64{0.3, 0.2, 0.1, 0.05, 0.001})
	eachKind(t, func(t *testing.T, x *gpuexec.Executor) {
		made := 0
		for call, without := 1, 0; without < 3; call++ {
			rng := rand.New(rand.NewPCG(3, uint64(call/3)))
			refuse(t, fmt.Sprint(call))
			_, err := x.Run(context.Background(), c.versioned(rng, call/7))
			refuse(t, "")
			if without++; err != nil {
				made, without = call, 0
			}
			for range 2 {
				if err := checkLarge(x, c.versioned(rng, call/7)); err != nil {
					t.Fatalf("after call %d has failed (%v): %v", call, err, err)
				}
			}
		}
		if made < 20 {
			t.Errorf("a batch makes %d calls", made)
		}
	})
}

// TestRefusedTogether lets calls fail while several goroutines run batches. Others are answered as by the
// CPU.
func TestRefusedTogether(t *testing.T) {
	c := newCollection(10_000, []float64{0.3, 0.2, 0.1, 0.05, 0.001})
	eachKind(t, func(t *testing.T, x *gpuexec.Executor) {
		refuse(t, "*97")
		var group sync.WaitGroup
		var mu sync.Mutex
		failed, good := 0, 0
		for worker := range 4 {
			group.Go(func() {
				rng := rand.New(rand.NewPCG(9, uint64(worker)))
				for i := range 30 {
					err := checkLarge(x, c.versioned(rng, i/10))
					var refused *device.Error
					mu.Lock()
					switch {
					case err == nil:
						good++
					case errors.As(err, &refused):
						failed++
					default:
						t.Error(err)
					}
					mu.Unlock()
				}
			})
		}
		group.Wait()
		refuse(t, "")
		if failed == 0 || good == 0 || x.Lost() != nil {
			t.Errorf("%d batches have failed, %d not; %v", failed, good, x.Lost())
		}
	})
}

// TestRefusedForGood lets a batch fail after which the device cannot be waited for either. What it still
// does with the batch's memory is unknown, so it is lost. Where it can be waited for after some tries, it
// is not.
func TestRefusedForGood(t *testing.T) {
	c := newCollection(10_000, []float64{0.3, 0.2, 0.1, 0.05, 0.001})
	for calls, lost := range map[string]bool{"*1": true, "*3": false} {
		t.Run(calls, func(t *testing.T) {
			eachKind(t, func(t *testing.T, x *gpuexec.Executor) {
				rng := rand.New(rand.NewPCG(3, 3))
				if err := checkLarge(x, c.versioned(rng, 0)); err != nil {
					t.Fatal(err)
				}
				refuse(t, calls)
				var refused *device.Error
				if _, err := x.Run(t.Context(), c.versioned(rng, 0)); !errors.As(err, &refused) || errors.Is(err, device.ErrLost) {
					t.Errorf("the batch fails by %v", err)
				}
				refuse(t, "")
				if errors.Is(x.Lost(), device.ErrLost) != lost {
					t.Errorf("the device is lost by %v", x.Lost())
				}
				switch err := checkLarge(x, c.versioned(rng, 0)); {
				case lost && !errors.Is(err, device.ErrLost):
					t.Errorf("a batch after that fails by %v", err)
				case !lost && err != nil:
					t.Error(err)
				}
			})
		})
	}
}

// TestRefusedAtOpen lets each call of the driver fail that opens an executor. What was made is freed.
func TestRefusedAtOpen(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 3
	}
	for call := 1; ; call += step {
		refuse(t, fmt.Sprint(call))
		dev, err := device.Open(0, device.Options{MemoryBytes: 64 << 20})
		if err != nil {
			continue
		}
		_, err = gpuexec.New(dev, gpuexec.Options{Shape: small})
		refuse(t, "")
		if err := dev.Close(); err != nil {
			t.Errorf("call %d: %v", call, err)
		}
		if err == nil {
			if call < 50 {
				t.Errorf("an executor takes %d calls", call-1)
			}
			return
		}
	}
}
