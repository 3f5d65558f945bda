package dispatch

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A watchtower waits for the ends of contexts on behalf of jobs. A goroutine that selects from a channel
// takes the channel's lock twice. Thousands of jobs whose clients share a context take turns at that
// lock: it halved the throughput of four GPUs. So jobs that are many to share a context wait for
// their own channel alone, and are told when it ends.
type watchtower [watchSlots]watchSlot

// A watchSlot counts the jobs that wait with the contexts of a hash, and watches one of these contexts.
type watchSlot struct {
	waiting atomic.Int64
	watch   atomic.Pointer[watch]
	_       [48]byte // the next slot is on another cache line
}

// A watch is the jobs that are told when a context ends, in parts, since each has a lock.
type watch struct {
	done  <-chan struct{}
	parts [watchParts]watchPart
}

type watchPart struct {
	mu    sync.Mutex // before Dispatcher.mu and gate.mu
	jobs  []*job
	ended bool
	_     [24]byte
}

const (
	watchSlots = 1024
	watchParts = 16

	// sharedBy: from so many waiting jobs in a slot on, they may share a context. A job with a context of
	// its own is better off with select.
	sharedBy = 32
)

// of returns the slot of a channel.
func (t *watchtower) of(done <-chan struct{}) *watchSlot {
	address := uint64(*(*uintptr)(unsafe.Pointer(&done)))
	return &t[address*0x9e3779b97f4a7c15>>54%watchSlots]
}

// join makes a context's end tell a job that it has left, if it can be taken out of what it waits in.
// It returns nil if the job must see to the context itself. Otherwise the job, once told, must leave
// the part.
func (s *watchSlot) join(ctx context.Context, j *job) *watchPart {
	w := s.watch.Load()
	if w == nil {
		w = &watch{done: ctx.Done()}
		if !s.watch.CompareAndSwap(nil, w) {
			return nil // for once
		}
		context.AfterFunc(ctx, func() {
			s.watch.CompareAndSwap(w, nil)
			w.end()
		})
	}
	if w.done != ctx.Done() {
		return nil
	}
	p := &w.parts[rand.IntN(watchParts)]
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil
	}
	j.place = len(p.jobs)
	p.jobs = append(p.jobs, j)
	return p
}

// quit takes a job out.
func (p *watchPart) quit(j *job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.jobs) - 1
	p.jobs[j.place] = p.jobs[last]
	p.jobs[j.place].place = j.place
	p.jobs[last] = nil
	p.jobs = p.jobs[:last]
}

// end tells the jobs. Those that can no longer leave are told by others. The jobs stay in their parts,
// and belong to their waiters, until these quit.
func (w *watch) end() {
	for i := range w.parts {
		p := &w.parts[i]
		p.mu.Lock()
		p.ended = true
		for _, j := range slices.Backward(p.jobs) {
			if j.takeOut() {
				j.tell(left)
			}
		}
		p.mu.Unlock()
	}
}

// hear waits until a job has been told, or until its context ends. It reports whether the job was told.
// A job that the end of the context made leave has the state left.
func (d *Dispatcher) hear(ctx context.Context, j *job) (told bool) {
	done := ctx.Done()
	if done == nil {
		<-j.ready
		return true
	}
	s := d.watchtower.of(done)
	defer s.waiting.Add(-1)
	if s.waiting.Add(1) > sharedBy {
		if p := s.join(ctx, j); p != nil {
			<-j.ready
			p.quit(j)
			return true
		}
	}
	select {
	case <-j.ready:
		return true
	case <-done:
		return false
	}
}
