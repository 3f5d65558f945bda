package oplog

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"slices"
	"sync"
)

// A Memory is a Log in the memory of one process, for tests and for trying things out.
type Memory struct {
	identity string
	limit    int // bytes of messages

	mu    sync.Mutex
	first uint64
	kept  []Entry // from first on
	lanes map[string]lastEntry
	bytes int
	grown chan struct{} // closed and replaced when an entry is added
}

type lastEntry struct {
	sequence, after uint64
	id              string
}

// NewMemory returns an empty log that takes so many bytes of messages, or any number if limit is 0.
func NewMemory(limit int) *Memory {
	return &Memory{
		identity: rand.Text(), limit: limit, first: 1,
		lanes: make(map[string]lastEntry), grown: make(chan struct{}),
	}
}

// Append implements Log.
func (l *Memory) Append(ctx context.Context, lane string, after uint64, m Message) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := m.Check(); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.lanes[lane]
	if last.id == m.ID && last.after == after {
		return last.sequence, nil
	}
	if last.sequence != after {
		return 0, &LaneError{Lane: lane, After: after, Last: last.sequence, LastID: last.id}
	}
	if l.limit > 0 && l.bytes+len(m.Data) > l.limit {
		return 0, fmt.Errorf("%w: it has %d of at most %d bytes", ErrFull, l.bytes, l.limit)
	}
	next := l.first + uint64(len(l.kept))
	m.Data = slices.Clone(m.Data)
	l.kept = append(l.kept, Entry{Sequence: next, Lane: lane, Message: m})
	l.lanes[lane] = lastEntry{next, after, m.ID}
	l.bytes += len(m.Data)
	close(l.grown)
	l.grown = make(chan struct{})
	return next, nil
}

// Read implements Log.
func (l *Memory) Read(ctx context.Context, from uint64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for next := from; ; next++ {
			e, err := l.wait(ctx, next)
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// wait returns an entry, for which it waits if it is the next.
func (l *Memory) wait(ctx context.Context, sequence uint64) (Entry, error) {
	for {
		l.mu.Lock()
		end := l.first + uint64(len(l.kept))
		if sequence < l.first || sequence > end {
			defer l.mu.Unlock()
			return Entry{}, &GapError{Want: sequence, First: l.first, Last: end - 1}
		}
		if sequence < end {
			defer l.mu.Unlock()
			return l.kept[sequence-l.first], nil
		}
		grown := l.grown
		l.mu.Unlock()
		select {
		case <-grown:
		case <-ctx.Done():
			return Entry{}, ctx.Err()
		}
	}
}

// Get implements Log.
func (l *Memory) Get(_ context.Context, sequence uint64) (Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := l.first + uint64(len(l.kept))
	if sequence < l.first || sequence >= end {
		return Entry{}, &GapError{Want: sequence, First: l.first, Last: end - 1}
	}
	return l.kept[sequence-l.first], nil
}

// Bounds implements Log.
func (l *Memory) Bounds(context.Context) (Bounds, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Bounds{Identity: l.identity, First: l.first, Last: l.first + uint64(len(l.kept)) - 1, Sure: true}, nil
}

// Trim implements Log.
func (l *Memory) Trim(_ context.Context, before uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.kept) > 0 && l.first < before {
		e := l.kept[0]
		l.bytes -= len(e.Data)
		if l.lanes[e.Lane].sequence == e.Sequence {
			delete(l.lanes, e.Lane)
		}
		l.kept = l.kept[1:]
		l.first++
	}
	return nil
}
