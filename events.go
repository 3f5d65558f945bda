package riffle

import (
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/live"
)

// Work counts what a search did; see blockmax.Work.
type Work = blockmax.Work

// A Listener receives the events of an Engine. Fields may be nil. The goroutine that did the work
// calls the functions, so they must return quickly and be safe for concurrent use. They may search,
// read, and call Stats. They must not call methods that wait for that goroutine: Close, and those
// that change the index or wait for its background work, such as Apply, Flush or Compact. Log must
// not call the Engine.
type Listener struct {
	Applied  func(ApplyEvent)  // a batch is durable and visible
	Searched func(SearchEvent) // a search has been answered, or has failed
	Sealed   func(SealEvent)   // the in-memory segment has been written out
	Merged   func(MergeEvent)  // segments have become one
	Expired  func(ExpireEvent) // documents have been deleted by Options.Expire

	// GPUFailed: a GPU failed to answer a batch, or to invert documents of a build. The CPU did it
	// instead; nothing is lost.
	GPUFailed func(GPUEvent)

	// Failed: background work has failed: a seal, a merge, a clean-up. It is called once for each
	// failure. The next attempt follows after a pause, of a second at first, doubling up to ten
	// minutes. Flush and Compact try at once and return the error. Apply returns it when memory is
	// full and cannot be written out.
	//
	// When the underlying store cannot flush or compact its own tables, Failed is called after six
	// failures in a row, and again each time this number has doubled. When the log fails, Failed is
	// called once, and Apply fails until the index is reopened.
	Failed func(error)

	// Log receives the messages of the underlying store, one line a call.
	Log func(line string)
}

// An ApplyEvent describes one batch.
type ApplyEvent struct {
	Puts, Updates, Deletes int
	Duration               time.Duration // from the call of Apply until durable and visible
}

// A SearchEvent describes one search.
type SearchEvent struct {
	Query    Query
	K        int
	Hits     int
	Work     Work
	Executor string
	Duration time.Duration
	Err      error
}

// A SealEvent describes one sealed segment.
type SealEvent struct {
	Segment  uint64
	Docs     int   // documents written, without those deleted meanwhile
	Bytes    int64 // size in the store
	Duration time.Duration
}

// A MergeEvent describes one merge.
type MergeEvent struct {
	Inputs     []uint64 // numbers of the merged segments
	InputDocs  int      // documents of these, deleted ones included
	InputBytes int64    // size of these in the store
	Segment    uint64   // number of the new one; 0 when nothing was left
	Docs       int
	Bytes      int64
	Duration   time.Duration
}

// A GPUEvent describes a batch that a GPU failed to answer, or documents that it failed to invert.
type GPUEvent struct {
	Device int  // index into Options.GPU.Devices, or number of the device when that is nil, and in Build
	Lost   bool // the device gets no further batch, or documents
	Err    error
}

// JoinListeners returns a Listener that passes every event on to all of them, in their order. Nil ones are left
// out.
func JoinListeners(all ...*Listener) *Listener {
	return &Listener{
		Applied:   joined(all, func(l *Listener) func(ApplyEvent) { return l.Applied }),
		Searched:  joined(all, func(l *Listener) func(SearchEvent) { return l.Searched }),
		Sealed:    joined(all, func(l *Listener) func(SealEvent) { return l.Sealed }),
		Merged:    joined(all, func(l *Listener) func(MergeEvent) { return l.Merged }),
		Expired:   joined(all, func(l *Listener) func(ExpireEvent) { return l.Expired }),
		GPUFailed: joined(all, func(l *Listener) func(GPUEvent) { return l.GPUFailed }),
		Failed:    joined(all, func(l *Listener) func(error) { return l.Failed }),
		Log:       joined(all, func(l *Listener) func(string) { return l.Log }),
	}
}

// joined returns a function that calls those of all listeners, or nil if none has one.
func joined[E any](all []*Listener, of func(*Listener) func(E)) func(E) {
	var told []func(E)
	for _, l := range all {
		if l != nil && of(l) != nil {
			told = append(told, of(l))
		}
	}
	if len(told) < 2 {
		return append(told, nil)[0]
	}
	return func(ev E) {
		for _, f := range told {
			f(ev)
		}
	}
}

func (l *Listener) gpuFailed(ev GPUEvent) {
	if l != nil && l.GPUFailed != nil {
		l.GPUFailed(ev)
	}
}

// live returns the listener as package live takes it. It accepts nil.
func (l *Listener) live() live.Listener {
	if l == nil {
		return live.Listener{}
	}
	to := live.Listener{Failed: l.Failed}
	if told := l.Applied; told != nil {
		to.Applied = func(ev live.Applied) { told(ApplyEvent(ev)) }
	}
	if told := l.Sealed; told != nil {
		to.Sealed = func(ev live.Sealed) { told(SealEvent(ev)) }
	}
	if told := l.Merged; told != nil {
		to.Merged = func(ev live.Merged) { told(MergeEvent(ev)) }
	}
	return to
}
