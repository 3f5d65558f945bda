package replica

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/riffle-search/riffle"
)

// Two replicas are compared at the same entry, while others are written: at a barrier, of which they are
// told before it is appended, by its lane. Each takes a snapshot when it applies the barrier.

// holds are the barriers for which snapshots are to be taken, by their lanes.
type holds struct {
	mu sync.Mutex
	of map[string]*hold
}

type hold struct {
	done     chan struct{} // closed when snapshot or err is set
	snapshot *riffle.Snapshot
	at       Position
	err      error
	timer    *time.Timer
}

// ErrNoHold says that there is no snapshot of a barrier, or not any more.
var ErrNoHold = errors.New("replica: there is no snapshot of this barrier")

// Hold lets the replica take a snapshot when it applies the barrier of a lane, which must not be in the log
// yet. The snapshot is there for the time given, unless Held takes it.
func (r *Replica) Hold(lane string, keep time.Duration) {
	r.holds.mu.Lock()
	defer r.holds.mu.Unlock()
	if r.holds.of[lane] != nil {
		return
	}
	if r.holds.of == nil {
		r.holds.of = map[string]*hold{}
	}
	h := &hold{done: make(chan struct{})}
	h.timer = time.AfterFunc(keep, func() {
		r.holds.mu.Lock()
		defer r.holds.mu.Unlock()
		if r.holds.of[lane] == h {
			r.holds.remove(lane)
		}
	})
	r.holds.of[lane] = h
}

// remove ends a hold. The caller holds mu.
func (s *holds) remove(lane string) {
	h := s.of[lane]
	delete(s.of, lane)
	h.timer.Stop()
	select {
	case <-h.done:
		if h.snapshot != nil {
			h.snapshot.Close()
		}
	default:
		h.err = ErrNoHold
		close(h.done)
	}
}

// end ends all holds.
func (s *holds) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for lane := range s.of {
		s.remove(lane)
	}
}

// Held waits for the snapshot of a barrier, which the caller closes.
func (r *Replica) Held(ctx context.Context, lane string) (*riffle.Snapshot, Position, error) {
	r.holds.mu.Lock()
	h := r.holds.of[lane]
	r.holds.mu.Unlock()
	if h == nil {
		return nil, Position{}, ErrNoHold
	}
	select {
	case <-h.done:
	case <-ctx.Done():
		return nil, Position{}, fmt.Errorf("replica: the barrier has not come: %w", ctx.Err())
	}
	r.holds.mu.Lock()
	defer r.holds.mu.Unlock()
	if r.holds.of[lane] != h {
		return nil, Position{}, ErrNoHold
	}
	delete(r.holds.of, lane)
	h.timer.Stop()
	return h.snapshot, h.at, h.err
}

// wanted reports whether a snapshot is to be taken at a barrier.
func (s *holds) wanted(lane string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[lane] != nil
}

// take takes the snapshot of a barrier, which has been applied last.
func (r *Replica) take(lane string, at Position) {
	var snapshot *riffle.Snapshot
	err := r.Use(func(e *riffle.Engine) (err error) { snapshot, err = e.Snapshot(); return err })
	r.holds.mu.Lock()
	defer r.holds.mu.Unlock()
	h := r.holds.of[lane]
	if h == nil { // its time is over
		if snapshot != nil {
			snapshot.Close()
		}
		return
	}
	h.snapshot, h.at, h.err = snapshot, at, err
	close(h.done)
}
