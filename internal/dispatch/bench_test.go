package dispatch

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// A quickDevice answers at once.
type quickDevice struct{}

func (quickDevice) Partials(_ context.Context, plans []*Plan) ([]blockmax.Partial, error) {
	return make([]blockmax.Partial, len(plans)), nil
}
func (quickDevice) Resident(uint64) int64 { return 1 << 40 }
func (quickDevice) Lost() error           { return nil }

// BenchmarkSubmit measures what a query costs the host from Submit to its answer, without the
// device.
func BenchmarkSubmit(b *testing.B) {
	var plan *Plan
	for round := 0; plan == nil; round++ {
		exectest.Plans(6, round, func(_ *exectest.Index, p *Plan) bool {
			if p.Tree == nil && FeaturesOf(p).Bytes > 0 {
				plan = p
			}
			return plan == nil
		})
	}
	for _, policy := range []Policy{Devices, Auto} {
		b.Run(fmt.Sprint("policy=", policy), func(b *testing.B) {
			d := New([]Device{quickDevice{}}, Options{Policy: policy, Cores: 2})
			defer d.Close()
			b.ReportAllocs()
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			for range 4 { // each with many queries under way, as in SearchBatch
				wg.Go(func() {
					var open []Ticket
					for left.Add(-1) >= 0 {
						on := Any
						if policy == Auto {
							on = OnGPU // the policy still chooses, and is overruled
						}
						tk, err := d.Submit(Query{Plan: plan, CPU: cpuexec.Executor{}, On: on})
						if err != nil {
							b.Error(err)
							return
						}
						if open = append(open, tk); len(open) == 512 {
							for _, tk := range open {
								tk.Wait(b.Context())
							}
							open = open[:0]
						}
					}
					for _, tk := range open {
						tk.Wait(b.Context())
					}
				})
			}
			wg.Wait()
		})
	}
}
