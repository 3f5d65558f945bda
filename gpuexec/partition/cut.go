package partition

import (
	"sync"

	"github.com/riffle-search/riffle/blockmax"
)

// A cut says which documents of a segment are each device's. It never changes.
type cut struct {
	ends []uint32 // range i ends before document ends[i], where range i+1 begins
}

// of is the range of device i, [from, to).
func (c *cut) of(i int) (from, to uint32) {
	if i > 0 {
		from = c.ends[i-1]
	}
	return from, c.ends[i]
}

// A segmentID tells segments apart. The high half of the key of a list is a number of its segment.
// Should two segments have the same ID, they have the same cut, which is then less even.
type segmentID struct {
	number uint64
	docs   uint32
}

// cuts are those of the segments seen. They are kept as long as the segments: what a device has
// cached of a list is the part that belongs to the cut.
type cuts struct {
	devices         int
	unit, leastDocs uint32
	mu              sync.Mutex
	known           map[segmentID]*cut
}

// of returns the cut of a segment. at is its place in a plan.
func (c *cuts) of(s *blockmax.Segment, at int) *cut {
	id := segmentID{uint64(at), s.Docs}
	keyed := false
	for t := range s.Terms {
		if term := &s.Terms[t]; term.Bounds != nil && term.Key != 0 {
			id.number, keyed = term.Key>>32, true
			break
		}
	}
	if !keyed { // its lists are not cached, so it may be cut otherwise each time
		return c.make(id, nil)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.known[id]
	if known == nil {
		if c.known == nil {
			c.known = map[segmentID]*cut{}
		}
		known = c.make(id, normsOf(s))
		c.known[id] = known
	}
	return known
}

// drop forgets the segments whose lists gone reports.
func (c *cuts) drop(gone func(key uint64) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.known {
		if gone(id.number << 32) {
			delete(c.known, id)
		}
	}
}

// normsOf are the lengths of a segment's documents in some field of the plan, nil if unknown.
func normsOf(s *blockmax.Segment) []uint8 {
	for t := range s.Terms {
		if term := &s.Terms[t]; term.Bounds != nil && term.Norms != nil {
			return term.Norms[:s.Docs]
		}
	}
	return nil
}

// make cuts a segment into ranges of about the same number of words, if norms tells that of each
// document, or else of documents.
func (c *cuts) make(id segmentID, norms []uint8) *cut {
	n := uint32(c.devices)
	made := &cut{ends: make([]uint32, n)}
	if uint64(id.docs) < uint64(n)*uint64(c.leastDocs) {
		owner := uint32(id.number % uint64(n))
		for i := owner; i < n; i++ {
			made.ends[i] = id.docs
		}
		return made
	}
	words := c.wordsBefore(id.docs, norms)
	unit := 0
	for i := range made.ends {
		share := words[len(words)-1] / uint64(n) * uint64(i+1)
		for unit < len(words)-1 && words[unit] < share {
			unit++
		}
		made.ends[i] = min(id.docs, uint32(unit)*c.unit)
	}
	made.ends[n-1] = id.docs
	return made
}

// wordsBefore sums up the words of the documents before each unit, and of all.
func (c *cuts) wordsBefore(docs uint32, norms []uint8) []uint64 {
	words := []uint64{0}
	sum := uint64(0)
	for from := uint32(0); from < docs; from += c.unit {
		to := min(docs, from+c.unit)
		if norms == nil {
			sum += uint64(to - from)
		} else {
			for _, code := range norms[from:to] {
				sum += uint64(blockmax.CodeLength(code)) + 1
			}
		}
		words = append(words, sum)
	}
	return words
}
