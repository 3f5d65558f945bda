package writer

import (
	"context"
	"fmt"
	"sync"

	"github.com/riffle-search/riffle/cluster/oplog"
)

// An item is a change on its way.
type item struct {
	change  []byte
	barrier bool

	mu        sync.Mutex
	under     bool // in a message that has been sent at least once
	withdrawn bool // the caller has gone before that
	outcome   Outcome
	done      chan struct{} // closed when outcome is known
}

// send reports whether the item may become a part of a message.
func (x *item) send() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.withdrawn {
		return false
	}
	x.under = true
	return true
}

// held says that the message of the item was not taken, so that the caller may withdraw it again.
func (x *item) held() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.under = false
}

func (x *item) end(o Outcome) {
	x.outcome = o
	close(x.done)
}

// wait returns the outcome. When ctx ends before it is known, the item is withdrawn, or its outcome
// not known.
func (x *item) wait(ctx context.Context) Outcome {
	select {
	case <-x.done:
		return x.outcome
	default:
	}
	select {
	case <-x.done:
		return x.outcome
	case <-ctx.Done():
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	select {
	case <-x.done:
		return x.outcome
	default:
	}
	if x.under {
		return Outcome{Err: fmt.Errorf("writer: %w: %w", oplog.ErrUnknown, ctx.Err())}
	}
	x.withdrawn = true
	return Outcome{Err: fmt.Errorf("writer: the log took no changes: %w", ctx.Err())}
}
