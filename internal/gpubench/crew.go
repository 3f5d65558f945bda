package main

import (
	"context"
	"sync"
)

// A crew is goroutines that each wait for the answer to a query and then for another query, as those of a
// server's connections do. A goroutine for each query would begin with a small stack: on two cores,
// enlarging it took a tenth of the time of searches.
type crew struct {
	contexts []context.Context
	stops    []func()

	mu      sync.Mutex
	idle    []chan<- func(context.Context) // the last one first: its stack and the core's cache are warm
	members int
	waiting sync.WaitGroup // for answers
}

// newCrew has a number of contexts for its queries, since thousands that wait with one context take turns
// at its lock.
func newCrew(ctx context.Context) *crew {
	c := &crew{contexts: make([]context.Context, 64)}
	for i := range c.contexts {
		own, stop := context.WithCancel(ctx)
		c.contexts[i], c.stops = own, append(c.stops, stop)
	}
	return c
}

// run has one of the crew ask, who may be new. It does not wait. One goroutine calls it.
func (c *crew) run(ask func(context.Context)) {
	c.waiting.Add(1)
	c.mu.Lock()
	if last := len(c.idle) - 1; last >= 0 {
		to := c.idle[last]
		c.idle = c.idle[:last]
		c.mu.Unlock()
		to <- ask
		return
	}
	c.mu.Unlock()
	ctx := c.contexts[c.members%len(c.contexts)]
	c.members++
	asks := make(chan func(context.Context), 1)
	asks <- ask
	go func() {
		for ask := range asks {
			ask(ctx)
			c.mu.Lock()
			c.idle = append(c.idle, asks)
			c.mu.Unlock()
			c.waiting.Done()
		}
	}()
}

// stop ends the contexts.
func (c *crew) stop() {
	for _, stop := range c.stops {
		stop()
	}
}

// end waits for all answers and dismisses the crew.
func (c *crew) end() {
	c.waiting.Wait()
	for _, asks := range c.idle {
		close(asks)
	}
	c.stop()
}
