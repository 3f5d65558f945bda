package server

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// A gate admits a number of requests at a time. Others wait for their turn; if too many wait already, a
// request is refused at once.
type gate struct {
	slots   chan struct{} // one for each request that has been admitted
	waiting atomic.Int64
	queue   int64        // most that wait
	served  atomic.Int64 // requests that have left
	busy    atomic.Int64 // nanoseconds that these have taken
	refused atomic.Int64 // requests for which there was no place
}

func newGate(slots, queue int) *gate {
	return &gate{slots: make(chan struct{}, slots), queue: int64(queue)}
}

// enter waits for a turn. The caller must call leave at the end.
func (g *gate) enter(ctx context.Context) error {
	return g.take(ctx, g.queue)
}

// again is enter for a request that has had a turn before: it is never refused.
func (g *gate) again(ctx context.Context) error {
	return g.take(ctx, math.MaxInt64)
}

// take is enter if so many may wait.
func (g *gate) take(ctx context.Context, queue int64) error {
	select {
	case g.slots <- struct{}{}:
	default:
		if g.waiting.Add(1) > queue {
			g.waiting.Add(-1)
			return g.refuse()
		}
		select {
		case g.slots <- struct{}{}:
			g.waiting.Add(-1)
		case <-ctx.Done():
			g.waiting.Add(-1)
			return context.Cause(ctx)
		}
	}
	return nil
}

// leave ends a turn that began at a time.
func (g *gate) leave(since time.Time) {
	g.busy.Add(int64(time.Since(since)))
	g.served.Add(1)
	<-g.slots
}

// full says whether enter would refuse a request. That can have changed before enter is called.
func (g *gate) full() bool { return len(g.slots) == cap(g.slots) && g.waiting.Load() >= g.queue }

// refuse returns the problem of a request for which there is no place. The client is told to come back when
// those that wait now have been answered, at the mean time that requests have taken so far.
func (g *gate) refuse() *fault {
	g.refused.Add(1)
	p := kindBusy.fault("%d requests wait already", g.queue)
	if n := g.served.Load(); n > 0 {
		each := time.Duration(g.busy.Load() / n)
		p.retry = int((each*time.Duration(g.queue)/time.Duration(cap(g.slots)) + time.Second - 1) / time.Second)
	}
	p.retry = min(max(p.retry, 1), 60)
	return p
}

// A budget bounds what requests hold together, in bytes.
type budget struct {
	most int64
	held atomic.Int64
}

// take takes bytes, or says that there are not so many left. A refusal changes nothing, so that it cannot cause others.
func (b *budget) take(n int64) bool {
	for {
		held := b.held.Load()
		if held+n > b.most {
			return false
		}
		if b.held.CompareAndSwap(held, held+n) {
			return true
		}
	}
}

func (b *budget) give(n int64) { b.held.Add(-n) }
