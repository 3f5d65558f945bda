package cache

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"unique"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// Lists cache opened posting lists, of sealed segments and of segments in memory (Growing). When
// the byte budget is exceeded, the least recently used ones shrink: they lose their postings and
// keep directories and bounds, which are small and cost the most to make. If that is not enough,
// the least recently used ones are evicted. They also remember that a segment lacks a term. A query
// whose lists are all cached makes no call to the store.
//
// The cache consists of shards with a lock each: sixteen cores with queries of 20 µs would wait for
// a single lock. The order of use is known within a shard only; shards evict their oldest lists in
// turn.
type Lists struct {
	budget   atomic.Int64
	beside   func() int64 // what else counts in the budget; nil for nothing
	bytes    atomic.Int64 // held by all shards
	bitmaps  atomic.Int64 // bytes of these in bitmaps of lists
	excerpts atomic.Int64 // bytes of excerpts of filters
	places   atomic.Int64 // bytes of positions of lists
	turn     atomic.Uint32
	uses     useTable // of filters
	seed     maphash.Seed
	shards   [cacheShards]listShard
}

const cacheShards = 64

// bitmapShare: bitmaps may take 1/bitmapShare of the budget. A bitmap is several times as large as
// its list, so in a large segment those of a few hundred words would evict all lists.
const bitmapShare = 2

// positionShare: positions may take 1/positionShare of the budget, so that phrases leave room for
// postings, which all queries need.
const positionShare = 2

type listShard struct {
	mu           sync.Mutex
	lists        map[uint64]*List // by hash; others with the same hash follow, such as those of other segments
	newest       List             // sentinel of a ring: newest.next is the most recently used
	shrunk       List             // sentinel of a ring of entries that have shrunk since their last use
	hits, misses int64
	hitBytes     int64 // of the lists found, counted whole
	readBytes    int64 // from the store, for lists

	readPositions int64  // part of readBytes
	inserted      uint64 // entries so far
	filters       FilterCounts
	random        uint32   // see visit
	_             [64]byte // a shard's neighbour is on another cache line
}

// A Key identifies a list: the term of a field in a segment. For a column it has the field alone.
type Key struct {
	Segment     uint64
	Field, Term string
}

// A List is one opened list, with its bounds under the last used table. What a look-up reads comes
// first, on one cache line.
type List struct {
	key        Key
	Postings   *postings.List // nil if the segment lacks the term
	bounds     atomic.Pointer[keyedBounds]
	weighted   atomic.Pointer[keyedBounds] // bounds under a table of blockmax.Table.Weighted
	same       *List                       // the next of the same hash; guarded by listShard.mu
	size       atomic.Int64                // as counted in Lists.bytes; 0 for an uncached list. Changed under listShard.mu
	touched    uint64                      // listShard.inserted when the entry was last made the newest
	visits     uint64                      // look-ups, about: see visit. Guarded by listShard.mu
	until      atomic.Uint32               // of a segment in memory: see first
	prev, next *List                       // in the ring; guarded by listShard.mu
	hash       uint64
	fetched    int64 // of Postings.Fetched, counted so far; guarded by listShard.mu
	bitmap     int64 // part of size
	places     int64 // the same: positions

	fetchedPlaces int64                     // as fetched, of positions
	before        atomic.Pointer[grownFrom] // of a list that has grown, until bounds are needed
	making        sync.Mutex                // held while bounds are computed from the list

	// Of a segment in memory, the list has the postings of documents [first, n) for any n from from
	// to until.
	first, from uint32

	column []uint8 // of sparse norms, instead of a list
	filter *Filter // instead of a list

	values *segment.HeldColumn // instead of a list
}

type keyedBounds struct {
	key    blockmax.TableKey
	bounds *blockmax.Bounds
}

// Columns marks the keys of columns, which have no term, in Key.segment. MemoryColumns marks those
// of segments in memory, MemoryLists the keys of their lists, and MemoryTails those of lists of their
// last documents alone.
const (
	Columns       = 1 << 63
	MemoryColumns = 1 << 62
	MemoryLists   = 1 << 61
	MemoryTails   = 1 << 59
)

// entryOverhead is about what an entry takes in addition to its list: the entry, its share of the
// map, and the strings of its key.
const entryOverhead = 256

// NewLists returns a cache with a budget in bytes.
func NewLists(budget int64) *Lists {
	c := &Lists{seed: maphash.MakeSeed()}
	c.budget.Store(budget)
	for i := range c.shards {
		s := &c.shards[i]
		s.lists = map[uint64]*List{}
		s.newest.prev, s.newest.next = &s.newest, &s.newest
		s.shrunk.prev, s.shrunk.next = &s.shrunk, &s.shrunk
	}
	return c
}

// Beside makes lists leave room in their budget for what others hold, up to half of it. It must be
// called before the cache is used.
func (c *Lists) Beside(held func() int64) { c.beside = held }

// SetBudget changes the budget. With a smaller one it evicts what does not fit.
func (c *Lists) SetBudget(bytes int64) {
	c.budget.Store(bytes)
	c.grow(0, nil)
}

// room is how many bytes the lists may take.
func (c *Lists) room() int64 {
	if c.beside == nil {
		return c.budget.Load()
	}
	budget := c.budget.Load()
	return budget - min(c.beside(), budget/2)
}

// hash returns a list's hash, which determines its shard and its place there. A term has the same
// one in all segments: see Together.
func (c *Lists) hash(key Key) uint64 {
	return maphash.String(c.seed, key.Term) + hashOdd*maphash.String(c.seed, key.Field)
}

const hashOdd = 0x9e3779b97f4a7c15

func (c *Lists) shard(hash uint64) *listShard { return &c.shards[hash%cacheShards] }

// find returns the entry of a key, or nil.
func (s *listShard) find(hash uint64, key Key) *List {
	e := s.lists[hash]
	for e != nil && e.key != key {
		e = e.same
	}
	return e
}

// Get returns the list of a term, and opens it on a miss. Two callers that miss at once may both
// open it; one of the two is kept.
func (c *Lists) Get(key Key, open func() (*postings.List, error)) (*List, error) {
	hash := c.hash(key)
	s := c.shard(hash)
	s.mu.Lock()
	if e := s.find(hash, key); e != nil {
		s.hits++
		s.hitBytes += e.size.Load()
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
	e := &List{key: s.keep(hash, key), Postings: l, hash: hash}
	grown := c.insert(s, e)
	s.mu.Unlock()
	c.grow(grown, e)
	return e, nil
}

// Find returns the list of a term of a sealed segment if it is cached, else nil.
func (c *Lists) Find(segment uint64, field string, term []byte) *List {
	key := Key{Segment: segment, Field: field, Term: string(term)}
	hash := c.hash(key)
	s := c.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.find(hash, key)
	if e == nil || e.Postings == nil {
		return nil
	}
	s.hits++
	s.hitBytes += e.size.Load()
	s.touch(e)
	return e
}

// keep returns the key with strings that may stay: those of the list of another segment if there is
// one, otherwise copies. The caller's may be slices of a long text.
func (s *listShard) keep(hash uint64, key Key) Key {
	for e := s.lists[hash]; e != nil; e = e.same {
		if e.key.Term == key.Term && e.key.Field == key.Field {
			return Key{key.Segment, e.key.Field, e.key.Term}
		}
	}
	return Key{key.Segment, unique.Make(key.Field).Value(), strings.Clone(key.Term)}
}

// insert puts an entry into its shard and returns its size.
func (c *Lists) insert(s *listShard, e *List) int64 {
	e.same = s.lists[e.hash]
	e.prev, e.next = e, e
	s.lists[e.hash] = e
	s.inserted++
	if e.filter != nil {
		s.filters.Cached++
	}
	s.touch(e)
	return c.count(e)
}

// Column returns a column of sparse norms, a byte for each of docs documents. It makes the column
// on a miss, or when a segment in memory has grown since. Columns are cached with the lists,
// because queries rarely need a field that few documents have: keeping its column for good would
// cost a byte for every document.
func (c *Lists) Column(segment uint64, field string, docs uint32, expand func() []uint8) []uint8 {
	key := Key{Segment: segment, Field: field}
	hash := c.hash(key)
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

// touch counts a look-up and makes an entry the newest. Without an insertion since the last time it does nothing: the
// order matters only to evictions, and moving an entry reads its neighbors into the processor's
// cache.
func (s *listShard) touch(e *List) {
	s.visit(e)
	if e.touched == s.inserted {
		return
	}
	e.touched = s.inserted
	if s.newest.next != e {
		s.newest.take(e)
	}
}

// take moves an entry to the front of a ring, given its sentinel.
func (r *List) take(e *List) {
	e.prev.next, e.next.prev = e.next, e.prev
	e.prev, e.next = r, r.next
	e.prev.next, e.next.prev = e, e
}

// entries calls yield for every entry of the shard, which yield may remove.
func (s *listShard) entries(yield func(e *List) bool) {
	for _, r := range []*List{&s.newest, &s.shrunk} {
		for e := r.next; e != r; e = e.next { // the links of a removed entry stay
			if !yield(e) {
				return
			}
		}
	}
}

// count measures an entry and returns how much it has grown since it was last measured.
func (c *Lists) count(e *List) (grown int64) {
	if e.Postings != nil {
		c.admitBitmap(e)
		c.admitPositions(e)
		s := c.shard(e.hash)
		s.readBytes += e.takeFetched()
		s.readPositions += e.takeFetchedPositions()
	}
	if e.filter != nil {
		c.admitExcerpts(e.filter)
	}
	size := e.measure()
	grown = size - e.size.Swap(size)
	if e.filter != nil {
		c.shard(e.hash).filters.Bytes += grown
	}
	return grown
}

// Settle counts how much lists have grown during a query: they load their payload on demand, and
// keep bounds, bitmaps and ranges. Every query must settle its lists, or the growth of lists that
// are never used again would not be counted.
func (c *Lists) Settle(lists []*List) {
	for _, e := range lists {
		if e != nil { // the look-up of a later one has failed
			c.settle(e)
		}
	}
}

// settle is Settle for one entry.
func (c *Lists) settle(e *List) {
	counted := e.size.Load()
	if counted == 0 {
		return
	}
	failed := e.Postings != nil && e.Postings.Failed()
	if !failed && counted == e.measure() {
		return
	}
	s, grown := c.shard(e.hash), int64(0)
	s.mu.Lock()
	switch {
	case s.find(e.hash, e.key) != e: // it has been evicted meanwhile
		if e.Postings != nil {
			s.readBytes += e.takeFetched()
			s.readPositions += e.takeFetchedPositions()
		}
	case failed:
		c.remove(s, e) // the fault may pass
	default:
		grown = c.count(e)
	}
	s.mu.Unlock()
	if grown != 0 {
		c.grow(grown, e)
	}
}

// admitPositions counts the positions that a list holds, or makes the list drop them when positions
// already take their share. A phrase of common words has more than all its postings.
func (c *Lists) admitPositions(e *List) {
	bytes := e.Postings.PositionBytes()
	grown := bytes - e.places
	if c.places.Add(grown) > c.budget.Load()/positionShare && grown > 0 {
		e.Postings.DropPositions()
		c.places.Add(e.Postings.PositionBytes() - bytes)
		bytes = e.Postings.PositionBytes()
	}
	e.places = bytes
}

// takeFetched returns how many bytes the list has read from the store since the last call. The caller
// holds the lock of the shard.
func (e *List) takeFetched() int64 {
	all := e.Postings.Fetched()
	more := all - e.fetched
	e.fetched = all
	return more
}

// takeFetchedPositions is takeFetched for positions, which takeFetched counts, too.
func (e *List) takeFetchedPositions() int64 {
	all := e.Postings.FetchedPositions()
	more := all - e.fetchedPlaces
	e.fetchedPlaces = all
	return more
}

// admitBitmap counts the bitmap that a list has got since its last check, or makes the list drop it
// when bitmaps already take their share.
func (c *Lists) admitBitmap(e *List) {
	bytes := 8 * int64(len(e.Postings.Bitmap()))
	if bytes <= e.bitmap {
		return
	}
	if c.bitmaps.Add(bytes) > c.budget.Load()/bitmapShare {
		e.Postings.DropBitmap()
		c.bitmaps.Add(-bytes)
		return
	}
	e.bitmap = bytes
}

func (e *List) measure() int64 {
	size := int64(entryOverhead + len(e.key.Field) + len(e.key.Term) + cap(e.column))
	if e.filter != nil {
		size += int64(e.filter.bytes())
	}
	if e.values != nil {
		size += e.values.Held()
	}
	if e.Postings != nil {
		size += int64(e.Postings.Bytes())
	}
	for _, slot := range [...]*atomic.Pointer[keyedBounds]{&e.bounds, &e.weighted} {
		if kb := slot.Load(); kb != nil {
			size += int64(kb.bounds.Bytes())
		}
	}
	return size
}

// grow counts the growth of a list. Then it shrinks the oldest lists of the shards in turn, and
// evicts the oldest shrunk ones, until they fit into their room; keep stays.
func (c *Lists) grow(bytes int64, keep *List) {
	room := c.room()
	if c.bytes.Add(bytes) <= room {
		return
	}
	for _, free := range [...]func(*Lists, *listShard, *List) bool{(*Lists).shrinkOldest, (*Lists).removeOldest} {
		for fruitless := 0; c.bytes.Load() > room && fruitless < cacheShards; fruitless++ {
			s := &c.shards[c.turn.Add(1)%cacheShards]
			s.mu.Lock()
			if free(c, s, keep) {
				fruitless = -1
			}
			s.mu.Unlock()
		}
	}
}

// shrinkOldest shrinks the oldest list that can. It returns false if there is none.
func (c *Lists) shrinkOldest(s *listShard, keep *List) bool {
	for e := s.newest.prev; e != &s.newest && e != keep; e = s.newest.prev {
		s.shrunk.take(e)
		e.touched = 0 // the next use moves it back
		if e.Postings != nil && e.Postings.Shrink() || e.filter != nil && e.filter.shrink() || e.values != nil && e.values.Shrink() {
			c.bytes.Add(c.count(e))
			return true
		}
	}
	return false
}

// removeOldest evicts the oldest shrunk entry. It returns false if there is none.
func (c *Lists) removeOldest(s *listShard, keep *List) bool {
	oldest := s.shrunk.prev
	if oldest == &s.shrunk || oldest == keep {
		return false
	}
	c.remove(s, oldest)
	return true
}

func (c *Lists) remove(s *listShard, e *List) {
	if e.Postings != nil {
		s.readBytes += e.takeFetched()
		s.readPositions += e.takeFetchedPositions()
	}
	c.bytes.Add(-e.size.Load())
	c.bitmaps.Add(-e.bitmap)
	c.places.Add(-e.places)
	if e.filter != nil {
		s.filters.Cached--
		s.filters.Bytes -= e.size.Load()
		c.excerpts.Add(-e.filter.excerpts)
		e.filter.excerpts = 0
	}
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

// DropSegment drops the lists, the columns of either kind or the filters of a segment that is gone.
func (c *Lists) DropSegment(number uint64) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		for e := range s.entries {
			if e.key.Segment == number {
				c.remove(s, e)
			}
		}
		s.mu.Unlock()
	}
}

// Bytes returns the counted size of the lists, and its budget.
func (c *Lists) Bytes() (bytes, budget int64) { return c.bytes.Load(), c.budget.Load() }

// Measure returns the size of the lists, measuring each again.
func (c *Lists) Measure() (sum int64) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		for e := range s.entries {
			sum += e.measure()
		}
		s.mu.Unlock()
	}
	return sum
}

// Counts are figures about the look-ups of lists.
type Counts struct {
	Hits, Misses int64
	HitBytes     int64 // of the lists that were found, counted whole
	ReadBytes    int64 // from the store, for lists: of their directories, postings and positions
	PositionRead int64 // part of ReadBytes
}

// Counts returns figures about the look-ups.
func (c *Lists) Counts() (sum Counts) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		sum.Hits, sum.Misses = sum.Hits+s.hits, sum.Misses+s.misses
		sum.HitBytes, sum.ReadBytes = sum.HitBytes+s.hitBytes, sum.ReadBytes+s.readBytes
		sum.PositionRead += s.readPositions
		s.mu.Unlock()
	}
	return sum
}

// BoundsFor returns the list's highest impacts under a table. norms are the length codes of its
// field by document, or nil.
func (e *List) BoundsFor(t *blockmax.Table, norms []uint8) (*blockmax.Bounds, error) {
	slot := &e.bounds
	if t.Key().Weight > 0 {
		slot = &e.weighted // queries of both kinds may alternate
	}
	if bounds := boundsIn(slot, e.Postings, t); bounds != nil {
		return bounds, nil
	}
	// Hundreds of queries may want those of a common word at once.
	e.making.Lock()
	defer e.making.Unlock()
	if bounds := boundsIn(slot, e.Postings, t); bounds != nil {
		return bounds, nil
	}
	bounds, err := blockmax.NewBounds(e.Postings, t)
	if err != nil {
		return nil, err
	}
	kb := &keyedBounds{t.Key(), bounds}
	if slot == &e.bounds {
		if err := e.extend(kb, t, norms); err != nil {
			return nil, err
		}
	}
	slot.Store(kb)
	return kb.bounds, nil
}

// boundsIn returns the bounds of a slot if they are under a table, or such that follow from them, which
// then replace them. Otherwise it returns nil.
func boundsIn(slot *atomic.Pointer[keyedBounds], l *postings.List, t *blockmax.Table) *blockmax.Bounds {
	kb := slot.Load()
	switch {
	case kb == nil:
		return nil
	case kb.key == t.Key():
		return kb.bounds
	}
	next := kb.bounds.Under(l, t)
	if next == nil || slot.CompareAndSwap(kb, &keyedBounds{t.Key(), next}) {
		return next
	}
	if kb = slot.Load(); kb.key == t.Key() { // all users share one
		return kb.bounds
	}
	return next
}
