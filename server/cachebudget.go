package server

import (
	"sync"
	"time"
)

// A cacheBudget is what the caches of indexes may take together.
type cacheBudget struct {
	bytes   int64
	mounted bool // those of mounted engines, too

	mu      sync.Mutex
	divided time.Time
}

const (
	leastCache  = 1 << 20         // of an index, if there is that much
	divideAfter = 5 * time.Second // after which sizes have changed enough to look again
)

// divideCache divides the budget among the indexes.
func (h *host) divideCache() {
	h.cache.mu.Lock()
	defer h.cache.mu.Unlock()
	h.cache.divided = time.Now()
	h.divide(h.all())
}

// sizesChanged divides the budget anew if it has not been for a while. Engines call it by their listeners: they may be
// waited for by who holds a lock.
func (h *host) sizesChanged() {
	if !h.cache.mu.TryLock() {
		return
	}
	defer h.cache.mu.Unlock()
	if time.Since(h.cache.divided) < divideAfter || !h.mu.TryRLock() {
		return
	}
	all := h.sorted()
	h.mu.RUnlock()
	h.cache.divided = time.Now()
	h.divide(all)
}

// divide divides the budget among the indexes that it is for. The caller holds cache.mu.
func (h *host) divide(all []*index) {
	var with []*index
	var sizes []int64
	for _, ix := range all {
		if !ix.owned && !h.cache.mounted {
			continue
		}
		st, err := ix.engine.Stats()
		if err != nil {
			continue // it is being closed
		}
		size := int64(0)
		for i := range st.Segments {
			size += st.Segments[i].Bytes
		}
		with, sizes = append(with, ix), append(sizes, size)
	}
	for i, share := range sharesOfCache(h.cache.bytes, sizes) {
		// An error says that the engine is being closed.
		_ = with[i].engine.SetCacheBytes(share)
	}
}

// sharesOfCache divides a budget among indexes of the given sizes: half alike, so that a small or new one has something,
// and half in proportion.
func sharesOfCache(budget int64, sizes []int64) []int64 {
	total := int64(0)
	for _, size := range sizes {
		total += size
	}
	shares := make([]int64, len(sizes))
	for i, size := range sizes {
		n := int64(len(sizes))
		shares[i] = budget / n
		if total > 0 {
			shares[i] = budget/2/n + int64(float64(budget/2)*(float64(size)/float64(total)))
		}
		shares[i] = max(1, shares[i])
	}
	return shares
}
