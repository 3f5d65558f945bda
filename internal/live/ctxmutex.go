package live

import (
	"context"
	"sync/atomic"
)

// A ctxMutex is a mutex for which a goroutine can stop waiting. As with a sync.Mutex, a running
// goroutine may get it before a waiting one: if it were handed over in turn, every holder would
// wait for a goroutine to be scheduled.
type ctxMutex struct {
	held atomic.Bool
	free chan struct{} // has a value whenever held is false after the first unlock; one slot
}

func newCtxMutex() ctxMutex { return ctxMutex{free: make(chan struct{}, 1)} }

func (m *ctxMutex) lock(ctx context.Context) error {
	for !m.held.CompareAndSwap(false, true) {
		select {
		case <-m.free:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (m *ctxMutex) unlock() {
	m.held.Store(false)
	select {
	case m.free <- struct{}{}:
	default:
	}
}
