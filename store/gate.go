package store

import "sync"

// A gate counts the calls in progress, so that Close can wait for them and
// Pebble, which panics when it is used after its Close, never is. Unlike a
// read-write lock it lets a call make another one while Close waits: that one is
// turned away instead of queueing behind Close for ever.
type gate struct {
	mu     sync.Mutex
	calls  int // calls in progress
	iters  int // open iterators, which outlive the calls that made them
	closed bool
	idle   sync.Cond // calls became 0; L is &mu
}

func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ErrClosed
	}
	g.calls++
	return nil
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls--; g.calls == 0 && g.closed {
		g.idle.Broadcast()
	}
}

// holdIter notes that an iterator was opened (+1) or closed (-1).
func (g *gate) holdIter(n int) {
	g.mu.Lock()
	g.iters += n
	g.mu.Unlock()
}

// shut turns new calls away and waits for those in progress. With iterators open
// it opens again and returns how many there are.
func (g *gate) shut() (iters int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return 0, ErrClosed
	}
	g.closed = true
	for g.calls > 0 {
		g.idle.Wait()
	}
	if g.iters > 0 {
		g.closed = false
	}
	return g.iters, nil
}
