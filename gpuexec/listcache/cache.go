package listcache

import (
	"fmt"
	"sync"
)

// Config says how much memory a Cache has and what it keeps there.
type Config struct {
	// Region is the part of the arena that the cache has for its own. The row behind its
	// last one must belong to the arena, too: kernels read a row more than a piece has.
	// With 0 rows nothing is kept, and every batch brings all it needs.
	Region Region

	Policy Policy

	// Lambda is the largest share of a list's extents, by rows, that policy VFB takes in: the
	// paper's maximum admission ratio λ. 0 stands for 1.
	Lambda float64

	// Static: only Admit takes lists in.
	Static bool

	// HalfLife is after how many queries a visit counts half. 0 stands for DefaultHalfLife.
	HalfLife int
}

// DefaultHalfLife is some seconds of queries.
const DefaultHalfLife = 100_000

// A Policy says what is worth keeping. The names are those of Wang 2017.
type Policy uint8

const (
	// VFB (visiting frequency based block admission) keeps the extents that are wanted most
	// often for their size, of each list at most a share Lambda.
	VFB Policy = iota

	// Qtf keeps whole lists: those that most queries have.
	Qtf

	// QtfDf keeps whole lists: those that most queries have for their length.
	QtfDf

	policies // how many there are
)

var policyNames = [policies]string{"vfb", "qtf", "qtfdf"}

func (p Policy) String() string {
	if p < policies {
		return policyNames[p]
	}
	return fmt.Sprintf("Policy(%d)", uint8(p))
}

// ParsePolicy is the inverse of String.
func ParsePolicy(name string) (Policy, error) {
	for p, n := range policyNames {
		if n == name {
			return Policy(p), nil
		}
	}
	return 0, fmt.Errorf("unknown policy %q, want one of %v", name, policyNames)
}

// A Cache keeps pieces of lists in one part of a device's memory. It is safe for
// concurrent use, but batches must run in the order in which they were placed.
type Cache struct {
	mu     sync.Mutex
	config Config
}

// New returns an empty cache.
func New(c Config) (*Cache, error) {
	return &Cache{config: c}, nil
}

// Place says where each piece that a batch needs is to lie, and what must be copied for
// that; see the package comment. buffer is the part of the arena that the batch has for
// itself. Needs and what they hold may be changed after the call.
func (c *Cache) Place(needs []Need, buffer Region, b *Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b.begin(needs)
	for i := range needs {
		b.placeInBuffer(int32(i), &needs[i], buffer)
	}
	b.end()
}
