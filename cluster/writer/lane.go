package writer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/riffle-search/riffle/cluster/oplog"
)

// A lane sends one message after the other.
type lane struct {
	w       *Writer
	number  int
	renewed int    // how often it got another name
	after   uint64 // its last entry
	sent    int    // messages, for their ids

	mu      sync.Mutex
	queue   []*item
	arrived chan struct{} // has an element if items have come
}

func (l *lane) name() string { return fmt.Sprintf("%s-%d-%d", l.w.session, l.number, l.renewed) }

func (l *lane) add(x *item) {
	l.mu.Lock()
	l.queue = append(l.queue, x)
	l.mu.Unlock()
	select {
	case l.arrived <- struct{}{}:
	default:
	}
}

// take returns the items of the next message: not more than bodyBytes, unless it is one. A barrier is
// alone.
func (l *lane) take() (items []*item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size, n := 0, 0
	for n < len(l.queue) {
		x := l.queue[n]
		if n > 0 && (x.barrier || l.queue[0].barrier || size+len(x.change) > bodyBytes) {
			break
		}
		size += len(x.change) + 1
		n++
	}
	items = append(items, l.queue[:n]...)
	clear(l.queue[:n])
	l.queue = l.queue[n:]
	if n == 0 {
		l.queue = nil
	}
	return items
}

func (l *lane) run() {
	for {
		items := l.take()
		for len(items) > 0 {
			items = l.message(items)
		}
		l.mu.Lock()
		more := len(l.queue) > 0
		l.mu.Unlock()
		if more && l.w.ctx.Err() == nil {
			continue
		}
		select {
		case <-l.arrived:
		case <-l.w.ctx.Done():
			for _, x := range l.take() {
				l.finish(x, Outcome{Err: ErrClosed})
			}
			if l.empty() {
				return
			}
		}
	}
}

func (l *lane) empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) == 0
}

func (l *lane) finish(x *item, o Outcome) {
	l.w.leave(len(x.change))
	x.end(o)
}

// message sends items as one message until their outcome is known, and returns those that must go
// into another: the second half, if the message became too large.
func (l *lane) message(items []*item) (rest []*item) {
	var m oplog.Message
	unknown := false // an attempt has ended so, and may still succeed
	for {
		if !unknown {
			if items = l.waiting(items); len(items) == 0 {
				return rest
			}
			data, err := l.encode(items)
			if err == nil && len(data) > oplog.MaxMessageBytes {
				if len(items) > 1 {
					half := len(items) / 2
					rest, items = append(items[half:len(items):len(items)], rest...), items[:half]
					for _, x := range rest {
						x.held()
					}
					continue
				}
				err = fmt.Errorf("%w: it has %d bytes of at most %d", ErrTooLarge, len(data), oplog.MaxMessageBytes)
			}
			if err != nil {
				l.finishAll(items, Outcome{Err: err})
				return rest
			}
			l.sent++
			m = oplog.Message{ID: fmt.Sprint(l.sent), Data: data}
		}
		sequence, err := l.attempt(m)
		lane, refused := errors.AsType[*oplog.LaneError](err)
		switch {
		case refused && lane.LastID == m.ID: // an earlier attempt has succeeded
			sequence, err = lane.Last, nil
			fallthrough
		case err == nil:
			l.after = sequence
			l.finishAll(items, Outcome{Sequence: sequence})
			return rest
		case refused && lane.Last == 0 && l.after > 0: // its last entry has been trimmed
			l.renewed, l.after = l.renewed+1, 0
			if unknown { // the entry may have been trimmed, too; a late one is refused
				l.finishAll(items, Outcome{Err: fmt.Errorf("writer: %w: the log has been trimmed meanwhile", oplog.ErrUnknown)})
				return rest
			}
			continue
		case refused, errors.Is(err, oplog.ErrUnknown):
			unknown = true
		case errors.Is(err, oplog.ErrSealed):
			if unknown { // an earlier attempt may still become visible
				err = fmt.Errorf("%w: %w", oplog.ErrUnknown, err)
			}
			l.finishAll(items, Outcome{Err: err})
			return rest
		case errors.Is(err, oplog.ErrFull) && !unknown:
			l.finishAll(items, Outcome{Err: err})
			return rest
		case !unknown: // nothing has happened: callers may go
			for _, x := range items {
				x.held()
			}
		}
		select {
		case <-time.After(l.w.options.Pause):
		case <-l.w.ctx.Done():
			if unknown {
				err = fmt.Errorf("%w: %w", oplog.ErrUnknown, ErrClosed)
			} else {
				err = errors.Join(ErrClosed, err)
			}
			l.finishAll(append(items, rest...), Outcome{Err: err})
			return nil
		}
	}
}

// waiting returns the items that have not been withdrawn.
func (l *lane) waiting(items []*item) []*item {
	kept := items[:0:0]
	for _, x := range items {
		if x.send() {
			kept = append(kept, x)
		} else {
			l.w.leave(len(x.change))
		}
	}
	return kept
}

func (l *lane) finishAll(items []*item, o Outcome) {
	for _, x := range items {
		l.finish(x, o)
	}
}

func (l *lane) attempt(m oplog.Message) (uint64, error) {
	ctx, cancel := context.WithTimeout(l.w.ctx, l.w.options.Attempt)
	defer cancel()
	return l.w.log.Append(ctx, l.name(), l.after, m)
}

func (l *lane) encode(items []*item) ([]byte, error) {
	r := oplog.Record{Kind: oplog.Changes, Epoch: l.w.options.Epoch, Schema: l.w.options.Schema}
	if items[0].barrier {
		r.Kind = oplog.Barrier
		return r.Append(nil)
	}
	size := 0
	for _, x := range items {
		size += len(x.change) + binary.MaxVarintLen32
	}
	r.Body = make([]byte, 0, size)
	for _, x := range items {
		r.Body = oplog.AppendChange(r.Body, x.change)
	}
	return r.Append(make([]byte, 0, size/2+64))
}
