package cache

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// Lists keep opened posting lists, of sealed segments and of segments in memory (Growing), least recently used
// ones going first when the byte budget is exceeded. They also remember that a
// segment lacks a term. A query whose lists are all here makes no call to the store.
//
// They are made of shards with a lock each: one lock for all would be what sixteen
// cores with queries of 20 µs wait for. Which list is the oldest is known within a
// shard; shards give up theirs in turn.
type Lists struct {
	budget  int64
	bytes   atomic.Int64 // held by all shards
	bitmaps atomic.Int64 // bytes of these that are bitmaps of lists
	turn    atomic.Uint32
	seed    maphash.Seed
	shards  [cacheShards]listShard
}

const cacheShards = 64

// bitmapShare is the part of the budget that bitmaps may take: one of so many. A bitmap is
// several times as large as its list, so in a large segment those of a few hundred words
// would drive out all lists.
const bitmapShare = 2

type listShard struct {
	mu           sync.Mutex
	lists        map[uint64]*List // by hash; others with the same one follow
	newest       List             // sentinel of a ring: newest.next is the most recently used
	hits, misses int64
	_            [64]byte // a shard's neighbour is on another cache line
}

// A Key names a list: the term of a field in a segment. Of a column it names the field alone.
type Key struct {
	Segment     uint64
	Field, Term string
}

// A List is one opened list and its bounds under the table last used.
type List struct {
	key        Key
	Postings   *postings.List // nil when the segment lacks the term
	column     []uint8        // of sparse norms, instead of a list
	bounds     atomic.Pointer[keyedBounds]
	before     atomic.Pointer[grownFrom] // of a list that has grown, until bounds are asked for
	size       atomic.Int64              // as counted in Lists.bytes; 0 of a list in no cache. Changed under listShard.mu
	bitmap     int64                     // bytes of size
	hash       uint64
	prev, next *List // in the ring; guarded by listShard.mu
	same       *List // the next of the same hash; guarded by listShard.mu
}

type keyedBounds struct {
	key    blockmax.TableKey
	bounds *blockmax.Bounds
}

// Columns marks the keys of columns in Key.segment, which have no term, and MemoryColumns those of
// segments in memory. MemoryLists marks those of their lists.
const (
	Columns       = 1 << 63
	MemoryColumns = 1 << 62
	MemoryLists   = 1 << 61
)

// entryOverhead is about what an entry takes besides its list: the entry, its
// share of the map, and the strings of its key.
const entryOverhead = 256

// NewLists returns a cache of at most so many bytes.
func NewLists(budget int64) *Lists {
	c := &Lists{budget: budget, seed: maphash.MakeSeed()}
	for i := range c.shards {
		s := &c.shards[i]
		s.lists = map[uint64]*List{}
		s.newest.prev, s.newest.next = &s.newest, &s.newest
	}
	return c
}

// hash says where a list belongs: in which shard, and where there. It is taken once for both. The
// same term of several fields has one.
func (c *Lists) hash(key Key) uint64 {
	return maphash.String(c.seed, key.Term) + key.Segment*0x9e3779b97f4a7c15
}

func (c *Lists) shard(hash uint64) *listShard { return &c.shards[hash%cacheShards] }

// find returns the entry of a key, or nil.
func (s *listShard) find(hash uint64, key Key) *List {
	e := s.lists[hash]
	for e != nil && e.key != key {
		e = e.same
	}
	return e
}

// Get returns the list of a term, opening it if need be. Two callers that miss at
// once may both open it; one of the two is kept.
func (c *Lists) Get(key Key, open func() (*postings.List, error)) (*List, error) {
	hash := c.hash(key)
	s := c.shard(hash)
	s.mu.Lock()
	if e := s.find(hash, key); e != nil {
		s.hits++
		s.touch(e)
		s.mu.Unlock()
		return e, nil
	}
	s.misses++
	s.mu.Unlock()
	l, err := open()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if other := s.find(hash, key); other != nil {
		s.mu.Unlock()
		return other, nil
	}
	// The caller's string may be a piece of a long text.
	e := &List{key: Key{key.Segment, key.Field, strings.Clone(key.Term)}, Postings: l, hash: hash}
	grown := c.insert(s, e)
	s.mu.Unlock()
	c.grow(grown, e)
	return e, nil
}

// insert puts an entry into its shard and returns its size.
func (c *Lists) insert(s *listShard, e *List) int64 {
	e.same = s.lists[e.hash]
	e.prev, e.next = e, e
	s.lists[e.hash] = e
	s.touch(e)
	return c.count(e)
}

// Column returns a column of sparse norms, a byte for each of docs documents. It is made if need be, also
// when a segment in memory has grown since it was. It lies among the lists, for a field that few
// documents have is seldom asked for: to keep its column for good would cost a byte for every document.
func (c *Lists) Column(segment uint64, field string, docs uint32, expand func() []uint8) []uint8 {
	key := Key{Segment: segment, Field: field}
	hash := c.hash(key) + maphash.String(c.seed, field) // of so many columns, each goes to a shard of its own
	s := c.shard(hash)
	s.mu.Lock()
	e := s.find(hash, key)
	if e != nil && len(e.column) >= int(docs) {
		s.touch(e)
		s.mu.Unlock()
		return e.column[:docs:docs]
	}
	s.mu.Unlock()
	column := expand()
	e = &List{key: key, column: column, hash: hash}
	s.mu.Lock()
	if other := s.find(hash, key); other != nil {
		c.remove(s, other)
	}
	grown := c.insert(s, e)
	s.mu.Unlock()
	c.grow(grown, e)
	return column
}

// touch makes an entry the newest.
func (s *listShard) touch(e *List) {
	if s.newest.next != e {
		e.prev.next, e.next.prev = e.next, e.prev
		e.prev, e.next = &s.newest, s.newest.next
		e.prev.next, e.next.prev = e, e
	}
}

// count measures an entry and returns by how much it has grown since it was measured last.
func (c *Lists) count(e *List) (grown int64) {
	if e.Postings != nil {
		c.admitBitmap(e)
	}
	size := e.measure()
	return size - e.size.Swap(size)
}

// Settle counts what lists have come to take while a query used them: they load their payload when
// it is asked for, and learn bounds, bitmaps and ranges. Every query settles what it has got,
// or lists that are never asked for again would not be counted.
func (c *Lists) Settle(lists []*List) {
	for _, e := range lists {
		counted := e.size.Load()
		if counted == 0 || counted == e.measure() {
			continue
		}
		s, grown := c.shard(e.hash), int64(0)
		s.mu.Lock()
		if s.find(e.hash, e.key) == e { // else it has been removed meanwhile
			grown = c.count(e)
		}
		s.mu.Unlock()
		if grown != 0 {
			c.grow(grown, e)
		}
	}
}

// admitBitmap counts the bitmap that a list has got since it was last looked at, or has the list
// drop it when bitmaps take their share already.
func (c *Lists) admitBitmap(e *List) {
	bytes := 8 * int64(len(e.Postings.Bitmap()))
	if bytes <= e.bitmap {
		return
	}
	if c.bitmaps.Add(bytes) > c.budget/bitmapShare {
		e.Postings.DropBitmap()
		c.bitmaps.Add(-bytes)
		return
	}
	e.bitmap = bytes
}

func (e *List) measure() int64 {
	size := int64(entryOverhead + len(e.key.Field) + len(e.key.Term) + cap(e.column))
	if e.Postings != nil {
		size += int64(e.Postings.Bytes())
	}
	if kb := e.bounds.Load(); kb != nil {
		size += int64(kb.bounds.Bytes())
	}
	return size
}

// grow counts bytes that a list has come to take, and removes the oldest lists of the
// shards in turn until the budget holds; keep stays.
func (c *Lists) grow(bytes int64, keep *List) {
	held := c.bytes.Add(bytes)
	for fruitless := 0; held > c.budget && fruitless < cacheShards; fruitless++ {
		s := &c.shards[c.turn.Add(1)%cacheShards]
		s.mu.Lock()
		if oldest := s.newest.prev; oldest != &s.newest && oldest != keep {
			c.remove(s, oldest)
			fruitless = -1
		}
		s.mu.Unlock()
		held = c.bytes.Load()
	}
}

func (c *Lists) remove(s *listShard, e *List) {
	c.bytes.Add(-e.size.Load())
	c.bitmaps.Add(-e.bitmap)
	e.prev.next, e.next.prev = e.next, e.prev
	first := s.lists[e.hash]
	switch {
	case first != e:
		for first.same != e {
			first = first.same
		}
		first.same = e.same
	case e.same != nil:
		s.lists[e.hash] = e.same
	default:
		delete(s.lists, e.hash)
	}
}

// DropSegment forgets the lists, or the columns, of a segment that is gone.
func (c *Lists) DropSegment(number uint64) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		for e := s.newest.next; e != &s.newest; e = e.next {
			if e.key.Segment == number {
				c.remove(s, e) // its own links stay
			}
		}
		s.mu.Unlock()
	}
}

// Bytes is how much the lists are counted to take, and what bounds it.
func (c *Lists) Bytes() (bytes, budget int64) { return c.bytes.Load(), c.budget }

// Measure adds up what the lists take, each looked at anew.
func (c *Lists) Measure() (sum int64) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		for e := s.newest.next; e != &s.newest; e = e.next {
			sum += e.measure()
		}
		s.mu.Unlock()
	}
	return sum
}

// Counts returns how often a list was there, and how often not.
func (c *Lists) Counts() (hits, misses int64) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		hits, misses = hits+s.hits, misses+s.misses
		s.mu.Unlock()
	}
	return hits, misses
}

// BoundsFor returns the list's highest impacts under a table. norms are the length codes of its field by
// document, or nil.
func (e *List) BoundsFor(t *blockmax.Table, norms []uint8) (*blockmax.Bounds, error) {
	if kb := e.bounds.Load(); kb != nil && kb.key == t.Key() {
		return kb.bounds, nil
	}
	kb := &keyedBounds{key: t.Key(), bounds: segment.Bounds(e.Postings, t)}
	if err := e.extend(kb, t, norms); err != nil {
		return nil, err
	}
	e.bounds.Store(kb)
	return kb.bounds, nil
}
