package segment

import "runtime"

// Cores bounds how many cores some merges use together. Their goroutines take turns of some 50 µs
// (pace). A goroutine gives its turn up before it waits for another one, so none of them can wait
// for each other. A nil *Cores has no bound.
type Cores struct {
	busy chan struct{} // an element for each goroutine that computes; those that wait get one in turn
}

// NewCores returns a bound of n cores.
func NewCores(n int) *Cores { return &Cores{make(chan struct{}, n)} }

// take waits for a turn.
func (c *Cores) take() {
	if c != nil {
		c.busy <- struct{}{}
	}
}

// tryTake takes a turn if nobody would wait for it.
func (c *Cores) tryTake() bool {
	if c == nil {
		return true
	}
	select {
	case c.busy <- struct{}{}:
		return true
	default:
		return false
	}
}

// give ends a turn.
func (c *Cores) give() {
	if c != nil {
		<-c.busy
	}
}

// yield lets other goroutines have the core, and the turn if one waits for it.
func (c *Cores) yield() {
	c.give()
	runtime.Gosched()
	c.take()
}
