package live

import (
	"bytes"
	"sync"
	"sync/atomic"
)

// A storedCache keeps stored documents that were read by id or for a hit, as they are in their
// segments. Without it each takes a block of the store: some 16 KB to read and decompress for a
// document of 1 KB. Documents in codes that the store lends are not kept. It keeps documents, not blocks, because those of an answer are seldom
// neighbors. Walks over all documents do not use it.
//
// Each shard evicts by CLOCK: the hand takes the first document that nobody has read since it last
// came by.
type storedCache struct {
	budget       atomic.Int64 // of each shard
	shards       [storedShards]storedShard
	hits, misses atomic.Int64
}

// storedShards is a power of two.
const storedShards = 8

type storedShard struct {
	mu    sync.Mutex
	docs  map[storedKey]*keptDoc
	ring  []*keptDoc
	hand  int
	bytes int64
}

// A storedKey is a document of a sealed segment, whose number no other segment gets.
type storedKey struct {
	segment uint64
	doc     uint32
}

type keptDoc struct {
	key  storedKey
	data []byte
	used bool // since the hand last came by
}

// keptDocBytes is what a document takes besides its bytes: a keptDoc, and its places in the map and
// in the ring.
const keptDocBytes = 128

func (d *keptDoc) size() int64 { return int64(len(d.data)) + keptDocBytes }

func newStoredCache(budget int64) *storedCache {
	c := new(storedCache)
	c.budget.Store(budget / storedShards)
	return c
}

func (c *storedCache) shard(k storedKey) *storedShard {
	h := (k.segment<<32 ^ uint64(k.doc)) * 0x9e3779b97f4a7c15
	return &c.shards[h>>61&(storedShards-1)]
}

// get returns a document, which it reads if it is not cached. The caller must not change it.
func (c *storedCache) get(k storedKey, read func() ([]byte, error)) ([]byte, error) {
	s := c.shard(k)
	s.mu.Lock()
	if d := s.docs[k]; d != nil {
		d.used = true
		s.mu.Unlock()
		c.hits.Add(1)
		return d.data, nil
	}
	s.mu.Unlock()
	c.misses.Add(1)
	data, err := read()
	budget := c.budget.Load()
	if err != nil || int64(len(data))+keptDocBytes > budget/4 {
		return data, err
	}
	s.keep(&keptDoc{key: k, data: bytes.Clone(data)}, budget) // data is a part of a block
	return data, nil
}

// keep adds a document, and evicts others if there are too many.
func (s *storedShard) keep(d *keptDoc, budget int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.docs[d.key] != nil {
		return // another goroutine has read it, too
	}
	s.shrink(budget - d.size())
	if s.docs == nil {
		s.docs = make(map[storedKey]*keptDoc)
	}
	s.docs[d.key] = d
	s.ring = append(s.ring, d)
	s.bytes += d.size()
}

// shrink evicts documents until the others fit into a budget.
func (s *storedShard) shrink(budget int64) {
	for s.bytes > budget && len(s.ring) > 0 {
		if s.hand >= len(s.ring) {
			s.hand = 0
		}
		if old := s.ring[s.hand]; old.used {
			old.used = false
			s.hand++
		} else {
			s.evict(s.hand)
		}
	}
}

// setBudget changes the budget.
func (c *storedCache) setBudget(bytes int64) {
	c.budget.Store(bytes / storedShards)
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.shrink(bytes / storedShards)
		s.mu.Unlock()
	}
}

// evict removes a document by its place in the ring, which the last one takes.
func (s *storedShard) evict(at int) {
	d, last := s.ring[at], len(s.ring)-1
	s.ring[at], s.ring[last] = s.ring[last], nil
	s.ring = s.ring[:last]
	delete(s.docs, d.key)
	s.bytes -= d.size()
}

// drop removes the documents of a segment that is gone.
func (c *storedCache) drop(segment uint64) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		for at := len(s.ring) - 1; at >= 0; at-- {
			if s.ring[at].key.segment == segment {
				s.evict(at)
			}
		}
		s.mu.Unlock()
	}
}

// StoredCounts are figures about cached stored documents.
type StoredCounts struct {
	Docs         int
	Bytes        int64
	Hits, Misses int64
}

func (c *storedCache) counts() StoredCounts {
	n := StoredCounts{Hits: c.hits.Load(), Misses: c.misses.Load()}
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		n.Docs += len(s.ring)
		n.Bytes += s.bytes
		s.mu.Unlock()
	}
	return n
}
