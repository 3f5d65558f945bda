package blockmax

import (
	"math/bits"
	"slices"
)

// A Collector keeps the k best of the hits offered to it, in any order. Call Reset first. It is not
// safe for concurrent use.
type Collector struct {
	k     int
	after uint64 // only keys below it may enter
	heap  []uint64
	// Once it holds k keys, heap is a min-heap: the worst hit kept is heap[0]. The children of
	// heap[i] are the four at heap[4*i+1]. That halves the levels of a binary heap, and the least
	// of four is found without branches. Invariant: len(heap) <= k, and every key is below after.
	floor uint64   // the lowest key that may enter: heap[0]+1 once there are k
	spare []uint64 // for sorting
}

// Reset empties the collector for a query and keeps its memory. It then collects the k best hits (k
// >= 1) that rank after the given one; a nil after admits all.
func (c *Collector) Reset(k int, after *Hit) {
	if k < 1 {
		panic("BUG: blockmax: a collector of no hits")
	}
	c.k, c.after, c.floor, c.heap = k, 1<<63, 0, c.heap[:0]
	if after != nil {
		c.after = hitKey(after.Doc, after.Score)
	}
}

// hitKey is larger for better hits. Scores are below 1<<31, so keys are below 1<<63.
func hitKey(doc, score uint32) uint64 { return uint64(score)<<32 | uint64(^doc) }

// Need returns the lowest score with which document doc, or any later one, can still enter. It is 0
// while fewer than k hits are kept. It never falls as hits come in and never as doc rises.
//
// A tie loses to a lower document, so for documents after the worst hit the need is one above its
// score. Documents that come in ascending order are always after it.
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

// Worst returns the worst hit kept, once there are k. A hit that does not rank before it cannot
// enter.
func (c *Collector) Worst() (h Hit, full bool) {
	if len(c.heap) < c.k {
		return Hit{}, false
	}
	key := c.heap[0]
	return Hit{Doc: ^uint32(key), Score: uint32(key >> 32)}, true
}

// Offer adds a document with its whole score. Offer each document at most once.
func (c *Collector) Offer(doc, score uint32) {
	if key := hitKey(doc, score); key >= c.floor && key < c.after {
		c.enter(key)
	}
}

// Takes reports whether a document of the given score could enter, if its number were low.
func (c *Collector) Takes(score uint32) bool { return hitKey(0, score) >= c.floor }

// enter adds a key that is better than the worst kept.
func (c *Collector) enter(key uint64) {
	if len(c.heap) == c.k {
		c.heap[0] = key
		c.down(0)
	} else if c.heap = append(c.heap, key); len(c.heap) < c.k {
		return
	} else {
		for i := (c.k - 2) / 4; i >= 0; i-- {
			c.down(i)
		}
	}
	c.floor = c.heap[0] + 1
}

// Hits returns the hits kept so far, best first, in a new slice.
func (c *Collector) Hits() []Hit {
	c.sort() // ascending keys are a heap
	hits := make([]Hit, len(c.heap))
	for i, key := range c.heap {
		hits[len(hits)-1-i] = Hit{Doc: ^uint32(key), Score: uint32(key >> 32)}
	}
	return hits
}

// down moves the key at i to its place in the heap below.
func (c *Collector) down(i int) {
	h := c.heap
	key := h[i]
	for {
		first := 4*i + 1
		if first >= len(h) {
			break
		}
		least, at := h[first], first
		if first+3 < len(h) {
			least, at = leastOf4((*[4]uint64)(h[first:]))
			at += first
		} else {
			for child := first + 1; child < len(h); child++ {
				if h[child] < least {
					least, at = h[child], child
				}
			}
		}
		if least >= key {
			break
		}
		h[i] = least
		i = at
	}
	h[i] = key
}

// leastOf4 returns the lowest key and its index. The index is unpredictable, so there are no
// branches: keys are below 1<<63, so the sign of a difference tells which is lower.
func leastOf4(h *[4]uint64) (least uint64, at int) {
	d01, d23 := int64(h[1]-h[0]), int64(h[3]-h[2])
	m01, m23 := d01>>63, d23>>63 // all ones if the second is lower
	a, b := h[0]+uint64(d01&m01), h[2]+uint64(d23&m23)
	d := int64(b - a)
	m := d >> 63
	i, j := -m01, 2-m23
	return a + uint64(d&m), int(i + (j-i)&m)
}

// sortBuckets is the number of buckets of sort, and the number of keys from which they pay: 1,000
// keys are sorted in 13 µs instead of 38.
const sortBuckets = 512

// sort puts the keys in ascending order. It first distributes many keys over buckets of equal width
// between the lowest and the highest.
func (c *Collector) sort() {
	if len(c.heap) < sortBuckets/2 {
		slices.Sort(c.heap)
		return
	}
	low := slices.Min(c.heap)
	shift := max(0, bits.Len64(slices.Max(c.heap)-low)-bits.Len(sortBuckets-1))
	var ends [sortBuckets + 1]int
	for _, key := range c.heap {
		ends[(key-low)>>shift+1]++
	}
	for i := range sortBuckets {
		ends[i+1] += ends[i]
	}
	c.spare = slices.Grow(c.spare[:0], len(c.heap))[:len(c.heap)]
	for _, key := range c.heap {
		to := &ends[(key-low)>>shift]
		c.spare[*to] = key
		*to++
	}
	from := 0
	for _, end := range ends[:sortBuckets] {
		slices.Sort(c.spare[from:end])
		from = end
	}
	c.heap, c.spare = c.spare, c.heap
}
