package riffle

import (
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// A listCache keeps opened posting lists of sealed segments, least recently used
// ones going first when the byte budget is exceeded. It also remembers that a
// segment lacks a term. A query whose lists are all here makes no call to the store.
type listCache struct {
	mu     sync.Mutex
	budget int64
	bytes  int64
	lists  map[listKey]*cachedList
	newest cachedList // sentinel of a ring: newest.next is the most recently used

	hits, misses atomic.Int64
}

type listKey struct {
	segment     uint64
	field, term string
}

// A cachedList is one opened list and its bounds under the table last used.
type cachedList struct {
	key        listKey
	list       *postings.List // nil when the segment lacks the term
	bounds     atomic.Pointer[keyedBounds]
	size       int64
	prev, next *cachedList // guarded by listCache.mu
}

type keyedBounds struct {
	key    blockmax.TableKey
	bounds *blockmax.Bounds
}

// entryOverhead is about what an entry takes besides its list: the entry, its
// share of the map, and the strings of its key.
const entryOverhead = 256

func newListCache(budget int64) *listCache {
	c := &listCache{budget: budget, lists: map[listKey]*cachedList{}}
	c.newest.prev, c.newest.next = &c.newest, &c.newest
	return c
}

// get returns the list of a term, opening it if need be. Two callers that miss at
// once may both open it; one of the two is kept.
func (c *listCache) get(key listKey, open func() (*postings.List, error)) (*cachedList, error) {
	c.mu.Lock()
	if e, ok := c.lists[key]; ok {
		c.touch(e)
		c.mu.Unlock()
		c.hits.Add(1)
		return e, nil
	}
	c.mu.Unlock()
	c.misses.Add(1)
	l, err := open()
	if err != nil {
		return nil, err
	}
	e := &cachedList{key: key, list: l}
	c.mu.Lock()
	defer c.mu.Unlock()
	if other, ok := c.lists[key]; ok {
		return other, nil
	}
	c.lists[key] = e
	e.prev, e.next = &c.newest, c.newest.next
	e.prev.next, e.next.prev = e, e
	c.resize(e)
	c.evict(e)
	return e, nil
}

// touch moves an entry to the front and takes note of payload loaded since.
func (c *listCache) touch(e *cachedList) {
	e.prev.next, e.next.prev = e.next, e.prev
	e.prev, e.next = &c.newest, c.newest.next
	e.prev.next, e.next.prev = e, e
	c.resize(e)
	c.evict(e)
}

func (c *listCache) resize(e *cachedList) {
	size := int64(entryOverhead + len(e.key.field) + len(e.key.term))
	if e.list != nil {
		size += int64(e.list.Bytes())
	}
	c.bytes += size - e.size
	e.size = size
}

// evict removes the oldest entries until the budget holds; keep stays.
func (c *listCache) evict(keep *cachedList) {
	for c.bytes > c.budget {
		oldest := c.newest.prev
		if oldest == keep || oldest == &c.newest {
			return
		}
		c.remove(oldest)
	}
}

func (c *listCache) remove(e *cachedList) {
	e.prev.next, e.next.prev = e.next, e.prev
	delete(c.lists, e.key)
	c.bytes -= e.size
}

// dropSegment forgets the lists of a segment that is gone.
func (c *listCache) dropSegment(number uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, e := range c.lists {
		if key.segment == number {
			c.remove(e)
		}
	}
}

func (c *listCache) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

// boundsFor returns the list's highest impacts under a table.
func (e *cachedList) boundsFor(t *blockmax.Table) *blockmax.Bounds {
	if kb := e.bounds.Load(); kb != nil && kb.key == t.Key() {
		return kb.bounds
	}
	kb := &keyedBounds{key: t.Key(), bounds: segment.Bounds(e.list, t)}
	e.bounds.Store(kb)
	return kb.bounds
}
