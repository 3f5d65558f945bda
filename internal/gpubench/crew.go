package main

import (
	"context"
	"sync"
)

// A crew is clients that are told what to ask. The one that has been idle for the shortest time comes first: its
// stack has been enlarged, and is in the cache of a core. On two cores, the goroutines of a new client for each
// query took a tenth of the time of searches to enlarge theirs.
type crew struct {
	contexts []context.Context
	desks    []desk
	waiting  sync.WaitGroup // for answers
}

// A desk is a part of a crew: thousands that take turns at one lock wait for each other.
type desk struct {
	mu      sync.Mutex
	idle    []chan<- func(context.Context) // the last one first
	line    []func(context.Context)        // what nobody has taken up, while there are as many clients as may be
	clients int
	most    int      // clients; 0 is any number
	_       [64]byte // so that no two are in one line of a core's cache
}

// newCrew makes a crew of so many at most, or of any number.
func newCrew(contexts []context.Context, most int) *crew {
	c := &crew{contexts: contexts, desks: make([]desk, len(contexts))}
	for i := range c.desks {
		c.desks[i].most = (most + len(contexts) - 1) / len(contexts)
	}
	return c
}

// ask has an idle client, or a new one, ask query number i. If there are as many clients as may be, the query waits for
// the first that has its answer. ask does not wait.
func (c *crew) ask(i int, query func(context.Context)) {
	c.waiting.Add(1)
	part := i % len(c.desks)
	d := &c.desks[part]
	d.mu.Lock()
	if last := len(d.idle) - 1; last >= 0 {
		to := d.idle[last]
		d.idle = d.idle[:last]
		d.mu.Unlock()
		to <- query
		return
	}
	if d.most > 0 && d.clients == d.most {
		d.line = append(d.line, query)
		d.mu.Unlock()
		return
	}
	d.clients++
	d.mu.Unlock()
	queries := make(chan func(context.Context), 1)
	go func() {
		for ok := true; ok; query, ok = <-queries {
			for query != nil {
				query(c.contexts[part])
				query = d.next(queries)
				c.waiting.Done()
			}
		}
	}()
}

// next is a query of the line. If there is none, the client is idle from then on.
func (d *desk) next(client chan<- func(context.Context)) (query func(context.Context)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.line) == 0 {
		d.idle = append(d.idle, client)
		return nil
	}
	query, d.line = d.line[0], d.line[1:]
	return query
}

// end waits for all answers and dismisses the crew.
func (c *crew) end() {
	c.waiting.Wait()
	for i := range c.desks {
		d := &c.desks[i]
		d.mu.Lock()
		for _, client := range d.idle {
			close(client)
		}
		d.mu.Unlock()
	}
}
