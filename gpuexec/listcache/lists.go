package listcache

import (
	"cmp"
	"slices"
)

// A List is a list with pieces in the cache.
type List struct {
	Key           uint64
	Visits        float64 // of queries that had it; they fade with Config.HalfLife
	Extents       int
	CachedExtents int
	CachedBytes   int64 // of these; the head takes more
}

// listsAtOnce is how many entries MostVisited reads while it holds the lock that batches wait for:
// some 20 µs.
const listsAtOnce = 256

// MostVisited returns the n lists in the cache that queries have wanted most, in that order.
func (c *Cache) MostVisited(n int) []List {
	if n <= 0 {
		return nil
	}
	var keys []uint64
	c.sizes.Range(func(key, _ any) bool {
		keys = append(keys, key.(uint64))
		return true
	})
	var best []List
	for part := range slices.Chunk(keys, listsAtOnce) {
		best = c.appendLists(best, part)
		if len(best) >= 2*n+listsAtOnce {
			slices.SortFunc(best, compareVisits)
			best = best[:n]
		}
	}
	slices.SortFunc(best, compareVisits)
	return slices.Clip(best[:min(n, len(best))])
}

// appendLists appends those of the keys that have pieces in the cache.
func (c *Cache) appendLists(to []List, keys []uint64) []List {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		e := c.entries[key]
		if e == nil || e.headAt == nil {
			continue
		}
		e.fade(c.epoch)
		to = append(to, List{Key: key, Visits: float64(e.queries), Extents: len(e.sizes), CachedExtents: e.kept, CachedBytes: RowBytes * e.resident})
	}
	return to
}

func compareVisits(a, b List) int {
	return cmp.Or(cmp.Compare(b.Visits, a.Visits), cmp.Compare(a.Key, b.Key))
}
