package dispatch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riffle-search/riffle/blockmax"
)

// A sleepingCPU takes some time for a query.
type sleepingCPU struct{ took time.Duration }

func (s sleepingCPU) TopK(context.Context, *Plan) (blockmax.TopK, error) {
	time.Sleep(s.took)
	return blockmax.TopK{}, nil
}

func (s sleepingCPU) Finish(context.Context, *Plan, *blockmax.Partial) (blockmax.TopK, error) {
	panic("there is no device")
}

// TestClockTime: to ask for the time of a thread takes some, which is on its clock, but not a part of what
// a query costs. A time far from what a query took is of another thread.
func TestClockTime(t *testing.T) {
	const took = 100 * time.Microsecond
	for _, test := range []struct {
		name    string
		onCore  time.Duration
		learned float64 // 0 for nothing
	}{
		{"undisturbed", took + 700, float64(took)},
		{"disturbed", took / 2, float64(took / 2)},
		{"on another thread, older", time.Second, 0},
		{"on another thread, younger", -time.Second, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			outside := jobs
			jobs = newJobs()
			defer func() { jobs = outside }()
			synctest.Test(t, func(t *testing.T) {
				m := DefaultModel()
				d := New(nil, Options{Model: m})
				defer d.Close()
				clock := []time.Duration{0, test.onCore}
				d.threadTime = func(*Plan) (now time.Duration) {
					now, clock = clock[0], clock[1:]
					return now
				}
				j := newJob(d, Query{Plan: new(Plan), CPU: sleepingCPU{took}})
				j.features = Features{Terms: 1, Postings: 1000, K: 10}
				j.forced = true
				if _, err := j.compute(t.Context()); err != nil {
					t.Fatal(err)
				}
				seen := &m.cpu[anyOf].seen
				learned := 0.0
				if seen.a[perQuery][perQuery] > 0 {
					learned = seen.b[perQuery] / seen.a[perQuery][perQuery]
				}
				if learned < test.learned*0.999 || learned > test.learned*1.001 {
					t.Errorf("the model learned a cost of %.0f ns, want %.0f", learned, test.learned)
				}
			})
		})
	}
}
