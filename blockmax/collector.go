package blockmax

import "slices"

// A Collector keeps the k best hits among the documents it is offered, in any
// order. It is not safe for concurrent use.
type Collector struct {
	k     int
	after uint64 // only keys below it are wanted
	heap  []uint64
	// heap is a binary min-heap of keys: the worst hit kept is heap[0].
	// Invariant: len(heap) <= k, and every key is below after.
}

// NewCollector returns a collector of the k best hits (k >= 1) that rank behind
// after; a nil after admits all.
func NewCollector(k int, after *Hit) *Collector {
	c := new(Collector)
	c.Reset(k, after)
	return c
}

// Reset empties the collector for another query and keeps its memory.
func (c *Collector) Reset(k int, after *Hit) {
	if k < 1 {
		panic("BUG: blockmax: a collector of no hits")
	}
	c.k, c.after, c.heap = k, 1<<63, c.heap[:0]
	if after != nil {
		c.after = rankKey(after.Doc, after.Score)
	}
}

// rankKey is larger the better a hit ranks. Scores are below 1<<31, so keys are
// below 1<<63.
func rankKey(doc, score uint32) uint64 { return uint64(score)<<32 | uint64(^doc) }

// Need returns the lowest score with which document doc, or any later one, can
// still enter; 0 while fewer than k hits are kept. It never falls as hits come in
// and never as doc rises.
//
// A tie loses to a lower document, so for documents behind the worst hit the need
// is one above its score. Documents that come in ascending order are always
// behind it.
func (c *Collector) Need(doc uint32) uint32 {
	if len(c.heap) < c.k {
		return 0
	}
	worst := c.heap[0]
	score := uint32(worst >> 32)
	if doc >= ^uint32(worst) {
		return score + 1
	}
	return score
}

// Worst returns the worst hit kept, once k are: what does not rank before it cannot
// enter.
func (c *Collector) Worst() (h Hit, full bool) {
	if len(c.heap) < c.k {
		return Hit{}, false
	}
	key := c.heap[0]
	return Hit{Doc: ^uint32(key), Score: uint32(key >> 32)}, true
}

// Full reports whether k hits are kept.
func (c *Collector) Full() bool { return len(c.heap) == c.k }

// Offer hands in a document with its whole score, at most once each.
func (c *Collector) Offer(doc, score uint32) {
	key := rankKey(doc, score)
	if key >= c.after {
		return
	}
	if len(c.heap) < c.k {
		c.heap = append(c.heap, key)
		c.up(len(c.heap) - 1)
		return
	}
	if key > c.heap[0] {
		c.heap[0] = key
		c.down(0)
	}
}

// Hits returns the hits kept so far, best first, in a slice of their own.
func (c *Collector) Hits() []Hit {
	keys := slices.Clone(c.heap)
	slices.Sort(keys)
	slices.Reverse(keys)
	hits := make([]Hit, len(keys))
	for i, key := range keys {
		hits[i] = Hit{Doc: ^uint32(key), Score: uint32(key >> 32)}
	}
	return hits
}

func (c *Collector) up(i int) {
	key := c.heap[i]
	for i > 0 {
		parent := (i - 1) / 2
		if c.heap[parent] <= key {
			break
		}
		c.heap[i] = c.heap[parent]
		i = parent
	}
	c.heap[i] = key
}

func (c *Collector) down(i int) {
	key := c.heap[i]
	for {
		child := 2*i + 1
		if child >= len(c.heap) {
			break
		}
		if r := child + 1; r < len(c.heap) && c.heap[r] < c.heap[child] {
			child = r
		}
		if c.heap[child] >= key {
			break
		}
		c.heap[i] = c.heap[child]
		i = child
	}
	c.heap[i] = key
}
