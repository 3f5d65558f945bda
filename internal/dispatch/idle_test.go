package dispatch

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riffle-search/riffle/blockmax"
)

// A slowDevice takes a fixed time for each batch, one after another.
type slowDevice struct {
	took    time.Duration
	mu      sync.Mutex
	batches []int // number of plans in each
	free    time.Time
}

func (s *slowDevice) Partials(_ context.Context, plans []*Plan) ([]blockmax.Partial, error) {
	s.mu.Lock()
	s.batches = append(s.batches, len(plans))
	if now := time.Now(); s.free.Before(now) {
		s.free = now
	}
	s.free = s.free.Add(s.took)
	wait := time.Until(s.free)
	s.mu.Unlock()
	time.Sleep(wait)
	return make([]blockmax.Partial, len(plans)), nil
}
func (*slowDevice) Resident(uint64) int64 { return 1 << 40 }
func (*slowDevice) Lost() error           { return nil }

// TestIdleTakesAtOnce: an idle device takes a query at once. Queries that arrive while it works
// form a batch, which starts shortly before the device is done, or when the delay is over.
func TestIdleTakesAtOnce(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name    string
		devices int
		delay   time.Duration
		arrive  []time.Duration
		done    []time.Duration
		batches [][]int // of each device, the most first
	}{
		{"alone", 1, 0, []time.Duration{0}, []time.Duration{3 * ms}, [][]int{{1}}},
		{"before the device is done", 1, 0, []time.Duration{0, 1 * ms, 3 * ms / 2, 20 * ms}, []time.Duration{3 * ms, 6 * ms, 6 * ms, 23 * ms}, [][]int{{1, 2, 1}}},
		{"not too early", 1, 0, []time.Duration{0, 1 * ms, 9 * ms / 4, 5 * ms / 2}, []time.Duration{3 * ms, 6 * ms, 9 * ms, 9 * ms}, [][]int{{1, 1, 2}}},
		{"when the delay is over", 1, 1 * ms / 4, []time.Duration{0, 1 * ms, 1*ms + ms/2}, []time.Duration{3 * ms, 6 * ms, 9 * ms}, [][]int{{1, 1, 1}}},
		{"on another device", 2, 0, []time.Duration{0, 1 * ms, 2 * ms}, []time.Duration{3 * ms, 4 * ms, 6 * ms}, [][]int{{1, 1}, {1}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			// Channels made inside a bubble are of no use outside, nor vice versa.
			outside := jobs
			jobs = newJobs()
			defer func() { jobs = outside }()
			synctest.Test(t, func(t *testing.T) {
				devices, fakes := make([]Device, test.devices), make([]*slowDevice, test.devices)
				for i := range devices {
					fakes[i] = &slowDevice{took: 3 * ms}
					devices[i] = fakes[i]
				}
				m := new(Model)
				if err := json.Unmarshal([]byte(`{"version":3,"prices":{"gpu_or":{"batch":3e6}}}`), m); err != nil {
					t.Fatal(err)
				}
				d := New(devices, Options{Policy: Devices, Delay: test.delay, Depth: 3, Model: m})
				synctest.Wait()
				start, done := time.Now(), make([]time.Duration, len(test.arrive))
				var group sync.WaitGroup
				for i, at := range test.arrive {
					group.Go(func() {
						time.Sleep(at)
						if _, err := d.TopK(t.Context(), Query{Plan: new(Plan)}); err != nil {
							t.Error(err)
						}
						done[i] = time.Since(start)
					})
				}
				group.Wait()
				d.Close()
				if !slices.Equal(done, test.done) {
					t.Errorf("done after %v, want %v", done, test.done)
				}
				var batches [][]int
				for _, fake := range fakes {
					batches = append(batches, fake.batches)
				}
				slices.SortFunc(batches, func(a, b []int) int { return slices.Compare(b, a) }) // any idle device may take a query
				if !slices.EqualFunc(batches, test.batches, slices.Equal) {
					t.Errorf("the devices had batches of %v, want %v", batches, test.batches)
				}
			})
		})
	}
}
