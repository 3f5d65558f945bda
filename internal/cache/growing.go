package cache

import (
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// Growing is Get for a list of a segment in memory. The caller's view has docs documents, and count
// postings of the term, at least one. A list with more postings than the cached one replaces it,
// and extends what was derived from it: a search after a small batch pays for the postings of the
// batch.
func (c *Lists) Growing(key Key, count int, docs uint32, open func() (*postings.List, error)) (*List, error) {
	words := blockmax.Tiles(docs) * blockmax.TileDocs / 64
	hash := c.hash(key)
	s := c.shard(hash)
	s.mu.Lock()
	old := s.find(hash, key)
	if old != nil {
		s.touch(old)
	}
	s.mu.Unlock()
	if old != nil && old.Postings.Count == count {
		old.Postings.WidenBitmap(words)
		old.checked.Store(docs)
		return old, nil
	}
	l, err := open()
	if err != nil {
		return nil, err
	}
	if old != nil && old.Postings.Count > count {
		return &List{Postings: l}, nil // for an old view
	}
	e := &List{Postings: l, hash: hash}
	e.checked.Store(docs)
	if old != nil {
		if err := e.follow(old, words); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	e.key = s.keep(hash, key)
	if other := s.find(hash, key); other != nil {
		if other.Postings.Count >= count {
			s.mu.Unlock()
			return &List{Postings: l}, nil
		}
		c.remove(s, other)
	}
	grown := c.insert(s, e)
	s.mu.Unlock()
	c.grow(grown, e)
	return e, nil
}

// grownFrom is what was derived from a list when it had fewer postings.
type grownFrom struct {
	count  int
	learnt *keyedBounds
}

// follow takes over what was derived from a shorter list of the same term.
func (e *List) follow(old *List, words int) error {
	if kb := old.bounds.Load(); kb != nil {
		e.before.Store(&grownFrom{old.Postings.Count, kb})
	}
	return e.Postings.Follow(old.Postings, words)
}

// extend extends what was derived under the table of kb.
func (e *List) extend(kb *keyedBounds, t *blockmax.Table, norms []uint8) error {
	before := e.before.Swap(nil)
	if before == nil || before.learnt.key != kb.key {
		return nil
	}
	kb.bounds.Follow(before.learnt.bounds)
	if r := before.learnt.bounds.Refined(); r != nil {
		longer, err := segment.Extend(r, e.Postings, before.count, t, norms)
		if err != nil {
			return err
		}
		kb.bounds.Refine(longer)
	}
	return nil
}
