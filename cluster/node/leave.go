package node

import (
	"context"
	"time"
)

// leave lets a replica go when searches have given back its snapshots.
func (s *shard) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving != nil {
		return
	}
	ctx, cancel := context.WithCancel(s.n.ctx)
	s.leaving = cancel
	s.n.running.Go(func() {
		defer cancel()
		began := time.Now()
		for wait := s.n.o.LeaveAfter; ; wait = leavePause {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
			if !s.used() || time.Since(began) > s.n.o.LeaveWithin {
				break
			}
		}
		s.n.gone(s)
	})
}

// leavePause is how often a replica that is to leave is looked at.
const leavePause = 50 * time.Millisecond

// stay lets a replica stay that was to leave.
func (s *shard) stay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving != nil {
		s.leaving()
		s.leaving = nil
	}
}

// mayGo reports whether the replica is still to leave.
func (s *shard) mayGo() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leaving != nil
}

// used reports whether searches use the replica.
func (s *shard) used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil || s.replica == nil {
		return false
	}
	requests, leases := s.server.Load()
	return requests+leases > 0
}
