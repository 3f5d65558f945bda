package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riffle-search/riffle/cpuexec"
)

// TestSharedContext: of many queries that share a context, those that wait end with it, and those that a
// device has are answered. A query that comes later ends at once. Others with a context of their own
// are not concerned.
func TestSharedContext(t *testing.T) {
	const waiting = 8 * sharedBy
	plan := &Plan{K: 1}
	f := newFake()
	f.hold, f.began = make(chan struct{}), make(chan struct{}, 100)
	d := start(t, Options{Policy: Devices, Depth: 1}, f)
	release := sync.OnceFunc(func() { close(f.hold) })
	t.Cleanup(release) // before the dispatcher is closed
	shared, cancel := context.WithCancel(t.Context())
	defer cancel()
	var failed, answered atomic.Int64
	var group sync.WaitGroup
	ask := func(ctx context.Context) {
		group.Go(func() {
			switch _, err := d.TopK(ctx, Query{Plan: plan, CPU: cpuexec.Executor{}}); {
			case err == nil:
				answered.Add(1)
			case errors.Is(err, context.Canceled):
				failed.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	settle := func(queued int) {
		t.Helper()
		for until := time.Now().Add(10 * time.Second); d.Stats().Queued != queued; time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("%d queries wait, want %d", d.Stats().Queued, queued)
			}
		}
	}
	ask(shared)
	<-f.began // it has the device
	for range waiting {
		ask(shared)
	}
	own, stop := context.WithCancel(t.Context())
	defer stop()
	ask(own)
	settle(waiting + 1)
	cancel()
	settle(1)
	ask(shared)
	for failed.Load() < waiting+1 {
		time.Sleep(time.Millisecond)
	}
	release()
	group.Wait()
	if failed.Load() != waiting+1 || answered.Load() != 2 {
		t.Errorf("%d queries failed and %d were answered, want %d and 2", failed.Load(), answered.Load(), waiting+1)
	}
	if s := d.Stats(); s.Withdrawn != waiting+1 {
		t.Errorf("%d queries were withdrawn, want %d", s.Withdrawn, waiting+1)
	}
}

// TestSharedContextRace lets contexts that many queries share end at any time. Each query ends once, with
// an answer or with the context's error, also where jobs are used again for other queries.
func TestSharedContextRace(t *testing.T) {
	plan := &Plan{K: 1}
	d := start(t, Options{Policy: Devices, Depth: 2, MaxCount: 64}, newFake())
	for range 60 {
		shared, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for i := range 4 * sharedBy {
			group.Go(func() {
				ctx := shared
				if i%8 == 0 {
					ctx = context.WithoutCancel(shared)
				}
				_, err := d.TopK(ctx, Query{Plan: plan, CPU: cpuexec.Executor{}})
				if err != nil && (i%8 == 0 || !errors.Is(err, context.Canceled)) {
					t.Error(i, err)
				}
			})
		}
		time.Sleep(50 * time.Microsecond)
		cancel()
		group.Wait()
	}
	if s := d.Stats(); s.Queued != 0 || s.Running != 0 {
		t.Errorf("%d queries wait and %d run in the end", s.Queued, s.Running)
	}
}

// BenchmarkContexts measures what a query costs many clients, that share a context or not, without the
// device.
func BenchmarkContexts(b *testing.B) {
	const clients = 4096
	plan := &Plan{K: 1}
	for _, distinct := range []int{clients, 1} {
		b.Run(fmt.Sprint("contexts=", distinct), func(b *testing.B) {
			d := New([]Device{quickDevice{}}, Options{Policy: Devices, Cores: 2})
			defer d.Close()
			contexts := make([]context.Context, distinct)
			for i := range contexts {
				ctx, stop := context.WithCancel(b.Context())
				defer stop()
				contexts[i] = ctx
			}
			var left atomic.Int64
			left.Store(int64(b.N))
			var group sync.WaitGroup
			for i := range clients {
				group.Go(func() {
					for left.Add(-1) >= 0 {
						if _, err := d.TopK(contexts[i%distinct], Query{Plan: plan, CPU: cpuexec.Executor{}}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
		})
	}
}
