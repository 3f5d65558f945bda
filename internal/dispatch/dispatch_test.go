package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/internal/exectest"
)

// An executor adapts a Dispatcher to exectest.
type executor struct{ d *Dispatcher }

func (e executor) Name() string { return "dispatch/" + e.d.options.Policy.String() }
func (e executor) Prunes() bool { return false } // any skipping is the fake device's
func (e executor) TopK(ctx context.Context, p *Plan) (blockmax.TopK, error) {
	a, err := e.d.TopK(ctx, Query{Plan: p, CPU: cpuexec.Executor{}})
	return a.TopK, err
}

// TestConformance compares answers with the oracle, whatever the policy, and whatever devices leave
// open.
func TestConformance(t *testing.T) {
	for policy := range policies {
		for _, open := range []float64{0, 0.5, 1} {
			t.Run(fmt.Sprintf("%v/%v", policy, open), func(t *testing.T) {
				f, g := newFake(), newFake()
				f.open, g.open = open, open
				d := start(t, Options{Policy: policy, Delay: 1, Threshold: 4, MaxCount: 3, Cores: 2}, f, g)
				if err := exectest.Check(executor{d}, 70+uint64(policy), exectest.Rounds/100); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// TestTogether has many goroutines query a dispatcher concurrently while its devices occasionally
// fail. Every one gets the oracle's answer.
func TestTogether(t *testing.T) {
	for policy := range policies {
		f, g := newFake(), newFake()
		f.open = 0.3
		f.fail = func(batch int) error {
			if batch%5 == 4 {
				return errBroken
			}
			return nil
		}
		d := start(t, Options{Policy: policy, Delay: 50 * time.Microsecond, Threshold: 4, MaxCount: 5, MaxQueued: 6, Cores: 2}, f, g)
		var wg sync.WaitGroup
		for worker := range 8 {
			wg.Go(func() {
				for round := range 6 {
					exectest.Plans(5, 8*round+worker, func(ix *exectest.Index, p *Plan) bool {
						want := exectest.Oracle(ix, p)
						on := []Side{Any, OnGPU, OnCPU}[(round+worker)%3]
						got, err := d.TopK(t.Context(), Query{Plan: p, CPU: cpuexec.Executor{}, On: on})
						if err != nil || !slices.Equal(got.Hits, want.Hits) {
							t.Errorf("%v, round %d: other answers than the oracle's %d: %v", policy, round, len(want.Hits), err)
						}
						return true
					})
				}
			})
		}
		wg.Wait()
		s := d.Stats()
		if all := int64(8 * 6 * 5); s.OnCPU+s.OnGPU+s.OnBoth != all || s.Queued != 0 || s.Running != 0 {
			t.Errorf("%v: %d queries were asked; %+v", policy, all, s)
		}
		if s.FailedBatches == 0 && policy == Devices || s.LostDevices > 0 {
			t.Errorf("%v: %+v", policy, s)
		}
	}
}

// somePlan returns one of the plans for OR that have lists.
func somePlan(t *testing.T, number int) (found *Plan) {
	for round := 0; found == nil; round++ {
		exectest.Plans(6, round, func(ix *exectest.Index, p *Plan) bool {
			if p.Tree == nil && p.Mode == blockmax.Or && FeaturesOf(p).Bytes > 0 {
				if number--; number < 0 {
					found = p
				}
			}
			return found == nil
		})
	}
	return found
}

// TestCount: a batch begins when it has enough queries, even while the device works.
func TestCount(t *testing.T) {
	f := newFake()
	f.hold, f.began = make(chan struct{}, 3), make(chan struct{}, 3)
	d := start(t, Options{Policy: Devices, MaxCount: 4, Depth: 3}, f)
	p := somePlan(t, 0)
	var tickets []Ticket
	for range 9 {
		tk, err := d.Submit(Query{Plan: p, CPU: cpuexec.Executor{}})
		if err != nil {
			t.Fatal(err)
		}
		if tickets = append(tickets, tk); len(tickets)%4 == 1 {
			<-f.began
		}
	}
	for range 3 {
		f.hold <- struct{}{}
	}
	for _, tk := range tickets {
		if a, err := tk.Wait(t.Context()); err != nil || a.By != OnGPU {
			t.Fatalf("answered by %v: %v", a.By, err)
		}
	}
	if s := f.sizes(); !slices.Equal(s, []int{1, 4, 4}) {
		t.Errorf("batches of %v, want 1, 4 and 4", s)
	}
}

// TestBytes: a batch brings at most MaxBytes. Lists that several queries share count once, and
// resident lists count nothing.
func TestBytes(t *testing.T) {
	a, b := somePlan(t, 0), somePlan(t, 1)
	b.Segments = slices.Clone(b.Segments)
	for i := range b.Segments {
		b.Segments[i].Terms = slices.Clone(b.Segments[i].Terms)
		for j := range b.Segments[i].Terms {
			b.Segments[i].Terms[j].Key = 7
		}
	}
	for _, test := range []struct {
		resident int64
		want     []int
	}{{0, []int{1, 3, 1}}, {1 << 40, []int{1, 4}}} {
		f := newFake()
		f.on = map[uint64]int64{7: test.resident}
		f.hold, f.began = make(chan struct{}, 3), make(chan struct{}, 3)
		d := start(t, Options{Policy: Devices, Delay: 1, MaxBytes: FeaturesOf(a).Bytes + FeaturesOf(b).Bytes - 1, Depth: 1}, f)
		var tickets []Ticket
		for i, p := range []*Plan{a, a, a, a, b} {
			tk, err := d.Submit(Query{Plan: p, CPU: cpuexec.Executor{}})
			if err != nil {
				t.Fatal(err)
			}
			tickets = append(tickets, tk)
			if i == 0 {
				<-f.began // the others wait until the device is free
			}
		}
		for range 3 {
			f.hold <- struct{}{}
		}
		for _, tk := range tickets {
			if _, err := tk.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if s := f.sizes(); !slices.Equal(s, test.want) {
			t.Errorf("with %d bytes resident: batches of %v, want %v", test.resident, s, test.want)
		}
	}
}

// TestCancel: a canceled query that waits for its batch is withdrawn; one in a batch waits for its
// end.
func TestCancel(t *testing.T) {
	f := newFake()
	f.hold, f.began = make(chan struct{}), make(chan struct{}, 8)
	d := start(t, Options{Policy: Devices, Delay: time.Hour, MaxCount: 2, Depth: 1}, f)
	q := Query{Plan: somePlan(t, 0), CPU: cpuexec.Executor{}}
	ctx, cancel := context.WithCancel(t.Context())
	busy, _ := d.Submit(q) // or the idle device could take the next query before it is canceled
	<-f.began
	first, _ := d.Submit(q)
	cancel()
	if _, err := first.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a query whose caller went: %v", err)
	}
	if s := d.Stats(); s.Withdrawn != 1 || s.Queued != 0 {
		t.Errorf("%+v; want one withdrawn and none queued", s)
	}
	second, _ := d.Submit(q)
	third, _ := d.Submit(q)
	f.hold <- struct{}{}
	if _, err := busy.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-f.began
	done := make(chan error)
	go func() {
		_, err := second.Wait(ctx)
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("a query in a batch did not wait for its end: %v", err)
	case <-time.After(time.Millisecond):
	}
	f.hold <- struct{}{}
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if a, err := third.Wait(t.Context()); err != nil || a.By != OnGPU {
		t.Errorf("the other query of the batch: by %v, %v", a.By, err)
	}
}

// TestFull: when the queue is full, queries go to the CPU; those that demand a device wait for
// room.
func TestFull(t *testing.T) {
	f := newFake()
	f.hold, f.began = make(chan struct{}, 8), make(chan struct{}, 8)
	d := start(t, Options{Policy: Devices, Delay: time.Hour, MaxCount: 2, MaxQueued: 2, Depth: 1}, f)
	q := Query{Plan: somePlan(t, 0), CPU: cpuexec.Executor{}}
	submit := func(on Side) Ticket {
		q.On = on
		tk, err := d.Submit(q)
		if err != nil {
			t.Fatal(err)
		}
		return tk
	}
	running := []Ticket{submit(Any)} // an idle device takes it at once
	<-f.began
	waiting := []Ticket{submit(Any), submit(Any)}
	away := submit(Any)
	forced := []Ticket{submit(OnGPU), submit(OnGPU)}
	if a, err := away.Wait(t.Context()); err != nil || a.By != OnCPU {
		t.Errorf("one that did not fit: by %v, %v", a.By, err)
	}
	for range 3 {
		f.hold <- struct{}{}
	}
	for i, tk := range slices.Concat(running, waiting, forced) {
		if a, err := tk.Wait(t.Context()); err != nil || a.By != OnGPU {
			t.Errorf("query %d: by %v, %v", i, a.By, err)
		}
	}
	if s := d.Stats(); s.TurnedAway != 1 || s.Batches != 3 {
		t.Errorf("%+v; want one turned away, and three batches", s)
	}
}

// TestLost: when a device is lost, the CPU answers its batch and Failed is called. After the loss
// of the last device, queries that demand one fail.
func TestLost(t *testing.T) {
	f := newFake()
	f.fail = func(int) error {
		f.mu.Lock()
		f.lost = errBroken
		f.mu.Unlock()
		return errBroken
	}
	told := make(chan error, 1)
	d := start(t, Options{Policy: Devices, Delay: 1, Failed: func(device int, lost bool, err error) {
		if device == 0 && lost {
			told <- err
		}
	}}, f)
	q := Query{Plan: somePlan(t, 0), CPU: cpuexec.Executor{}, On: OnGPU}
	if a, err := d.TopK(t.Context(), q); err != nil || a.By != OnCPU {
		t.Errorf("the query of a batch that failed: by %v, %v", a.By, err)
	}
	if err := <-told; !errors.Is(err, errBroken) {
		t.Errorf("was told of %v", err)
	}
	if _, err := d.TopK(t.Context(), q); !errors.Is(err, device.ErrNoDevice) {
		t.Errorf("with no device left: %v", err)
	}
	q.On = Any
	if a, err := d.TopK(t.Context(), q); err != nil || a.By != OnCPU {
		t.Errorf("one that does not demand a device: by %v, %v", a.By, err)
	}
	if s := d.Stats(); s.LostDevices != 1 || s.FailedBatches != 1 || s.FailedOver != 1 {
		t.Errorf("%+v", s)
	}
}

// TestOneIsLost: the workers of a lost device leave queries to those of the others.
func TestOneIsLost(t *testing.T) {
	for range 20 {
		good, bad := newFake(), newFake()
		bad.fail = func(int) error {
			bad.mu.Lock()
			bad.lost = errBroken
			bad.mu.Unlock()
			return errBroken
		}
		d := start(t, Options{Policy: Devices, Delay: 1, Depth: 4}, bad, good)
		q := Query{Plan: somePlan(t, 0), CPU: cpuexec.Executor{}}
		for range 40 {
			if _, err := d.TopK(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestClose: the CPU answers waiting queries, and later ones.
func TestClose(t *testing.T) {
	f := newFake()
	f.hold, f.began = make(chan struct{}, 1), make(chan struct{}, 1)
	d := start(t, Options{Policy: Devices, Delay: time.Hour, Depth: 1}, f)
	q := Query{Plan: somePlan(t, 0), CPU: cpuexec.Executor{}}
	running, err := d.Submit(q) // an idle device takes it at once
	if err != nil {
		t.Fatal(err)
	}
	<-f.began
	waiting, err := d.Submit(q)
	if err != nil {
		t.Fatal(err)
	}
	var closing sync.WaitGroup
	closing.Go(d.Close)
	<-d.stop
	f.hold <- struct{}{}
	closing.Wait()
	d.Close()
	if a, err := running.Wait(t.Context()); err != nil || a.By != OnGPU {
		t.Errorf("one under way: by %v, %v", a.By, err)
	}
	if a, err := waiting.Wait(t.Context()); err != nil || a.By != OnCPU {
		t.Errorf("one that waited: by %v, %v", a.By, err)
	}
	if a, err := d.TopK(t.Context(), q); err != nil || a.By != OnCPU {
		t.Errorf("by %v, %v", a.By, err)
	}
	q.On = OnGPU
	if _, err := d.TopK(t.Context(), q); !errors.Is(err, device.ErrNoDevice) {
		t.Errorf("closed: %v", err)
	}
}
