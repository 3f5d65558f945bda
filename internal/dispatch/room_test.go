package dispatch

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/riffle-search/riffle/cpuexec"
)

// TestRoomWithoutBatch: a query that waits for room in the queue gets it when those in the queue are
// withdrawn, too.
func TestRoomWithoutBatch(t *testing.T) {
	f := newFake()
	f.hold, f.began = make(chan struct{}, 8), make(chan struct{}, 8)
	d := start(t, Options{Policy: Devices, MaxCount: 1, MaxQueued: 1, Depth: 1}, f)
	p := somePlan(t, 0)
	submit := func() Ticket {
		tk, err := d.Submit(Query{Plan: p, CPU: cpuexec.Executor{}, On: OnGPU})
		if err != nil {
			t.Fatal(err)
		}
		return tk
	}
	first := submit()
	<-f.began
	second, third := submit(), submit() // in the queue, and waiting for room
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := second.Wait(gone); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(f.hold)
	if _, err := first.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := third.Wait(soon); err != nil {
		t.Fatal(err)
	}
}
