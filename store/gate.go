package store

import (
	"sync"
	"sync/atomic"
)

// A gate counts running calls, so that Close can wait for them: Pebble panics when it is used after
// its Close. An open iterator counts as a call that lasts until the iterator is closed.
//
// A read-write lock would deadlock: a call that makes another call while Close waits would queue
// behind Close, and Close behind it. The gate refuses the inner call instead.
type gate struct {
	closed atomic.Bool // set under mu; read without it by iterators
	mu     sync.Mutex
	calls  int           // calls in progress and open iterators
	idle   chan struct{} // closed once the gate is shut and calls is 0
}

func newGate() gate { return gate{idle: make(chan struct{})} }

func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed.Load() {
		return ErrClosed
	}
	g.calls++
	return nil
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls--; g.calls == 0 && g.closed.Load() {
		close(g.idle)
	}
}

// shut turns new calls away and waits for those in progress.
func (g *gate) shut() {
	g.mu.Lock()
	if !g.closed.Swap(true) && g.calls == 0 {
		close(g.idle)
	}
	g.mu.Unlock()
	<-g.idle
}
