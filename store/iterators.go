package store

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// An iteratorPool keeps Pebble iterators from one read of a key to the next. Making an iterator and
// closing it takes longer than the read itself when the block is cached: closing needs a goroutine
// (see closeRead), and waking a core for it takes some 10 µs.
//
// An iterator shows the store as it was when it was made, and keeps the files of that moment. So
// every Commit renews the pool, once it has ingested its segments and once it has dropped others.
type iteratorPool struct {
	mu   sync.Mutex
	free []*pebble.Iterator
	age  uint64 // number of renewals
}

// maxFreeIterators is the most iterators in the pool: some kilobytes and a cached block each.
const maxFreeIterators = 16

// takeIterator returns an iterator without bounds, and the age of the pool, for putIterator.
func (s *Store) takeIterator() (it *pebble.Iterator, age uint64, err error) {
	p := &s.iterators
	p.mu.Lock()
	age = p.age
	if n := len(p.free) - 1; n >= 0 {
		it, p.free[n], p.free = p.free[n], nil, p.free[:n]
	}
	p.mu.Unlock()
	if it == nil {
		it, err = s.db.NewIter(&pebble.IterOptions{UseL6Filters: true})
	}
	return it, age, err
}

// putIterator gives an iterator back. It closes one that is too old, or one too many, or one that has
// met an error.
func (s *Store) putIterator(it *pebble.Iterator, age uint64) error {
	p := &s.iterators
	if it.Error() == nil {
		p.mu.Lock()
		kept := age == p.age && len(p.free) < maxFreeIterators
		if kept {
			p.free = append(p.free, it)
		}
		p.mu.Unlock()
		if kept {
			return nil
		}
	}
	return s.closeRead(it)
}

// renewIterators closes the iterators of the pool, and later those that are in use.
func (s *Store) renewIterators() {
	p := &s.iterators
	p.mu.Lock()
	free := p.free
	p.free = nil
	p.age++
	p.mu.Unlock()
	for _, it := range free {
		_ = s.closeRead(it) // none has met an error
	}
}
