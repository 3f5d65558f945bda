package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/device"
)

// TestSubmitWhileBatchesForm: Submit returns while somebody holds the dispatcher's mutex, who then
// looks after the queries.
func TestSubmitWhileBatchesForm(t *testing.T) {
	d := New([]Device{&slowDevice{}}, Options{Policy: Devices, MaxCount: 2})
	defer d.Close()
	d.mu.Lock()
	var tickets []Ticket
	for range 5 {
		ticket, err := d.Submit(Query{Plan: new(Plan)}) // would wait forever
		if err != nil {
			t.Fatal(err)
		}
		tickets = append(tickets, ticket)
	}
	if n := d.queued.Load(); n != 5 {
		t.Errorf("the gauge shows %d queries that wait, want 5", n)
	}
	d.unlock()
	for _, ticket := range tickets {
		if _, err := ticket.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if s := d.Stats(); s.OnGPU != 5 || s.Queued != 0 {
		t.Errorf("of 5 queries %+v", s)
	}
}

// A heldDevice does nothing until it is let go.
type heldDevice struct {
	slowDevice
	hold, began chan struct{}
}

func (h *heldDevice) Partials(_ context.Context, plans []*Plan) ([]blockmax.Partial, error) {
	h.began <- struct{}{}
	<-h.hold
	return make([]blockmax.Partial, len(plans)), nil
}

// TestWithdrawnFromInbox: the caller of a query that nobody has let in stops waiting.
func TestWithdrawnFromInbox(t *testing.T) {
	held := &heldDevice{hold: make(chan struct{}), began: make(chan struct{})}
	d := New([]Device{held}, Options{Policy: Devices, Depth: 1})
	var first sync.WaitGroup
	defer d.Close()
	defer first.Wait()
	defer close(held.hold)
	first.Go(func() {
		if _, err := d.TopK(context.Background(), Query{Plan: new(Plan)}); err != nil {
			t.Error(err)
		}
	})
	<-held.began // so that nobody forms a batch
	d.mu.Lock()
	ticket, err := d.Submit(Query{Plan: new(Plan)})
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Unlock() // without a look at the inbox
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ticket.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, want %v", err, context.Canceled)
	}
	if s := d.Stats(); s.Withdrawn != 1 || s.Queued != 0 {
		t.Errorf("one query was withdrawn: %+v", s)
	}
}

// TestInboxOfClosed: queries that come when the last device is lost or the dispatcher is closed
// are told so.
func TestInboxOfClosed(t *testing.T) {
	d := New([]Device{&slowDevice{}}, Options{Policy: Devices})
	defer d.Close()
	d.mu.Lock()
	demanding, err := d.Submit(Query{Plan: new(Plan), On: OnGPU})
	if err != nil {
		t.Fatal(err)
	}
	other, err := d.Submit(Query{Plan: new(Plan)})
	if err != nil {
		t.Fatal(err)
	}
	d.alive = 0
	d.unlock()
	if _, err := demanding.Wait(t.Context()); !errors.Is(err, device.ErrNoDevice) {
		t.Errorf("the error is %v, want %v", err, device.ErrNoDevice)
	}
	if _ = other.job.await(t.Context()); other.job.state != toCPU {
		t.Errorf("a query for any processor has state %d, want %d", other.job.state, toCPU)
	}
}

// A leadingDevice says how long the host takes for its batches.
type leadingDevice struct {
	slowDevice
	lead time.Duration
}

func (l *leadingDevice) Lead(int) time.Duration { return l.lead }

// TestLead: the next batch is formed as long before the device is done as the host takes for it, and sooner
// by as much as estimates err.
func TestLead(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		lead, unsure time.Duration
		batches      []int
	}{
		{2 * ms, 0, []int{1, 1, 1}},  // of those that arrive at 0, 0.5 and 2 ms; the second is formed at 1 ms
		{ms / 2, 0, []int{1, 2}},     // at 2.5 ms
		{ms / 2, ms, []int{1, 1, 1}}, // at 1.5 ms
		{0, 0, []int{1, 2}},          // not known: at 2.1 ms
	} {
		outside := jobs
		jobs = newJobs()
		synctest.Test(t, func(t *testing.T) {
			dev := &leadingDevice{slowDevice{took: 3 * ms}, test.lead}
			m := new(Model)
			if err := json.Unmarshal([]byte(`{"version":3,"prices":{"gpu_or":{"batch":3e6}}}`), m); err != nil {
				t.Fatal(err)
			}
			d := New([]Device{dev}, Options{Policy: Devices, Depth: 3, Model: m})
			synctest.Wait()
			d.unsure = test.unsure
			var group sync.WaitGroup
			for _, at := range []time.Duration{0, ms / 2, 2 * ms} {
				group.Go(func() {
					time.Sleep(at)
					if _, err := d.TopK(t.Context(), Query{Plan: new(Plan)}); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			d.Close()
			if !slices.Equal(dev.batches, test.batches) {
				t.Errorf("with a lead of %v and errors of %v, batches of %v, want %v", test.lead, test.unsure, dev.batches, test.batches)
			}
		})
		jobs = outside
	}
}

// TestThirdBatch: where the host takes longer for a batch than the device, a third one is formed when
// the host is done with the second, though the device still computes the first.
func TestThirdBatch(t *testing.T) {
	const ms = time.Millisecond
	dev := &leadingDevice{lead: 5 * ms}
	d := New([]Device{dev}, Options{Policy: Devices, Depth: 3})
	defer d.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	s := &deviceState{Device: dev}
	s.line.begin(&batch{cost: 2 * ms}, now.Add(-8*ms))
	second := &batch{cost: 2 * ms}
	s.line.begin(second, now.Add(-3*ms))
	j := &job{query: Query{Plan: new(Plan)}, arrived: now, due: now}
	d.queue.put(j, forDevices)
	defer d.queue.remove(j)
	if start, wait := d.ready(s, now); start || wait != 2*ms {
		t.Errorf("while the host works on the second batch: %v, look again after %v", start, wait)
	}
	if start, _ := d.ready(s, now.Add(2*ms)); !start {
		t.Error("the host is done with the second batch, and the third is not formed")
	}
	s.line.begin(&batch{cost: 2 * ms}, now)
	if start, _ := d.ready(s, now.Add(20*ms)); start {
		t.Error("a fourth batch is formed")
	}
}

// TestInboxParts: what several goroutines put into the parts comes out by arrival, each query once.
func TestInboxParts(t *testing.T) {
	var in inbox
	in.open(partCores * 4)
	if len(in.parts) != 4 {
		t.Fatalf("%d parts for 16 cores", len(in.parts))
	}
	const each, goroutines = 500, 4
	seen := map[*job]bool{}
	take := func() {
		last := time.Time{}
		for _, j := range in.take() {
			if j.arrived.Before(last) || seen[j] {
				t.Fatal("a query comes out twice, or before one that arrived earlier")
			}
			seen[j], last = true, j.arrived
		}
	}
	var group sync.WaitGroup
	for range goroutines {
		group.Go(func() {
			for range each {
				in.put(&job{arrived: time.Now()})
			}
		})
	}
	for len(seen) < each*goroutines/2 {
		if in.some.Load() {
			take()
		}
	}
	group.Wait()
	if len(seen) < each*goroutines {
		if !in.some.Load() {
			t.Fatal("the inbox seems empty, and is not")
		}
		take()
	}
	if len(seen) != each*goroutines {
		t.Errorf("%d queries came out, %d went in", len(seen), each*goroutines)
	}
}
