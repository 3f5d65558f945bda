package cache

import (
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// Growing is Get for a list of documents in memory: those of segment key.Segment from first to below
// docs. count is how many postings the list has, or -1 if that is not known without opening it. A
// list with more postings than the cached one replaces it, and extends what was derived from it: a
// search after a small batch pays for the postings of the batch.
func (c *Lists) Growing(key Key, first, docs uint32, count int, open func() (*postings.List, error)) (*List, error) {
	hash := c.hash(key)
	s := c.shard(hash)
	s.mu.Lock()
	old := s.find(hash, key)
	if old != nil {
		s.touch(old)
	}
	s.mu.Unlock()
	follows := old != nil && old.first == first && old.from <= docs // the documents of old, and perhaps more
	if follows && (docs <= old.until.Load() || old.count() == count) {
		old.lasts(docs)
		return old, nil
	}
	l, err := open()
	if err != nil {
		return nil, err
	}
	e := &List{Postings: l, hash: hash, first: first, from: docs}
	switch {
	case follows && old.count() == e.count():
		old.lasts(docs)
		return old, nil
	case old != nil && (old.first > first || old.from > docs):
		return e, nil // for an old view
	case follows && old.Postings != nil && first == 0: // what a tail derives is not worth extending
		if err := e.follow(old, wordsOf(docs-first)); err != nil {
			return nil, err
		}
	}
	e.until.Store(docs)
	s.mu.Lock()
	e.key = s.keep(hash, key)
	if other := s.find(hash, key); other != nil {
		if other.first > first || other.from >= docs {
			s.mu.Unlock()
			return &List{Postings: l}, nil
		}
		e.visits = other.visits
		c.remove(s, other)
	}
	grown := c.insert(s, e)
	s.mu.Unlock()
	c.grow(grown, e)
	return e, nil
}

// wordsOf returns how many words the bitmaps of a segment have.
func wordsOf(docs uint32) int { return blockmax.Tiles(docs) * blockmax.TileDocs / 64 }

// count returns the number of postings.
func (e *List) count() int {
	if e.Postings == nil {
		return 0
	}
	return e.Postings.Count
}

// lasts notes that the list has all postings of a view with the given number of documents.
func (e *List) lasts(docs uint32) {
	for until := e.until.Load(); until < docs; until = e.until.Load() {
		if e.Postings != nil {
			e.Postings.WidenBitmap(wordsOf(docs - e.first))
		}
		if e.until.CompareAndSwap(until, docs) {
			return
		}
	}
}

// covers reports whether a list of a segment in memory is that of a place.
func (e *List) covers(p Place) bool {
	return e.first == p.First && e.from <= p.Docs && p.Docs <= e.until.Load()
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
