package node

import "sync"

// A cacheBudget divides what searches of all replicas of a node keep in memory.
type cacheBudget struct {
	bytes int64

	mu    sync.Mutex
	sizes map[place]int64 // bytes of replicas that are open
}

// leastCache is what a replica has at least, for as long as it does not know its size.
const leastCache = 1 << 20

// first returns what one more replica gets at first.
func (b *cacheBudget) first() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(leastCache, b.bytes/int64(len(b.sizes)+1))
}

// share returns what a replica of a size may keep: half of all is divided alike, so that a small one has something, and
// half in proportion to sizes.
func (b *cacheBudget) share(p place, size int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sizes == nil {
		b.sizes = map[place]int64{}
	}
	b.sizes[p] = size
	total := int64(0)
	for _, n := range b.sizes {
		total += n
	}
	n := int64(len(b.sizes))
	if total == 0 {
		return max(1, b.bytes/n)
	}
	return max(1, b.bytes/2/n+int64(float64(b.bytes/2)*(float64(size)/float64(total))))
}

// leave says that a replica is closed.
func (b *cacheBudget) leave(p place) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sizes, p)
}
