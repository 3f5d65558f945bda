package listcache

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Config says how much memory a Cache has and what it keeps there.
type Config struct {
	// Region is the part of the arena that belongs to the cache. The row after its last one must
	// belong to the arena, too: kernels read one row past a piece. With 0 rows nothing is kept, and
	// every batch copies all it needs.
	Region Region

	Policy Policy

	// Lambda is the largest share of a list's extents, by rows, that policy VFB admits: the paper's
	// maximum admission ratio λ. 0 stands for 1.
	Lambda float64

	// Static: only Admit adds lists.
	Static bool

	// HalfLife is the number of queries after which a visit counts half. 0 stands for
	// DefaultHalfLife.
	HalfLife int
}

// DefaultHalfLife is a few seconds of queries.
const DefaultHalfLife = 100_000

// A Policy decides what is worth keeping. The names are those of Wang 2017.
type Policy uint8

const (
	// VFB (visiting frequency based block admission) keeps the extents that are wanted most often,
	// but at most a share Lambda of each list.
	VFB Policy = iota

	// Qtf keeps whole lists: those that occur in most queries.
	Qtf

	// QtfDf keeps whole lists: those that occur in most queries for their length.
	QtfDf

	policies // the number of policies
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

// A Cache keeps pieces of lists in one part of a device's memory. It is safe for concurrent use,
// but batches must run in the order in which they were placed.
//
// It is deterministic: its decisions depend only on the sequence of calls.
type Cache struct {
	mu      sync.Mutex
	config  Config
	entries map[uint64]*entry
	sizes   sync.Map // key -> *atomic.Int64: rows that are resident, for Resident
	slots   *slots
	stats   Stats
	batch   uint64 // number of the last batch
	serial  uint64 // the last one assigned
	queries int    // counted since the epoch began
	epoch   uint32
	refused int      // lists refused since one was last let through
	found   []uint32 // scratch memory
}

// New returns an empty cache. An error names the field of Config at fault.
func New(config Config) (*Cache, error) {
	if config.Lambda == 0 {
		config.Lambda = 1
	}
	if config.HalfLife == 0 {
		config.HalfLife = DefaultHalfLife
	}
	switch {
	case config.Policy >= policies:
		return nil, fmt.Errorf("listcache: Policy: there is no %v", config.Policy)
	case !(config.Lambda > 0 && config.Lambda <= 1):
		return nil, fmt.Errorf("listcache: Lambda is %v, want more than 0 and at most 1", config.Lambda)
	case config.HalfLife < 0:
		return nil, fmt.Errorf("listcache: HalfLife is %d, want it positive", config.HalfLife)
	case uint64(config.Region.First)+uint64(config.Region.Rows) >= uint64(Missing):
		return nil, fmt.Errorf("listcache: Region: %d rows from %d on are more than rows have numbers", config.Region.Rows, config.Region.First)
	}
	c := &Cache{config: config, entries: map[uint64]*entry{}}
	c.slots = newSlots(config.Region, config.Static)
	return c, nil
}

// Drop forgets the lists whose keys gone reports: those of segments that no query will use again.
// No other list is touched.
func (c *Cache) Drop(gone func(key uint64) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var keys []uint64
	for key := range c.entries {
		if gone(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys) // slots become free in a fixed order
	for _, key := range keys {
		c.dropEntry(c.entries[key])
		c.forget(key)
	}
}

// Resident returns how many bytes of a list's extents are cached or scheduled to be. It does not
// wait for a batch that is being placed.
func (c *Cache) Resident(key uint64) int64 {
	if n, ok := c.sizes.Load(key); ok {
		return RowBytes * n.(*atomic.Int64).Load()
	}
	return 0
}

// forget removes all knowledge of a list without resident pieces.
func (c *Cache) forget(key uint64) {
	delete(c.entries, key)
	c.sizes.Delete(key)
}

// Reset empties the cache, because the device has lost its contents. Counts of visits remain.
func (c *Cache) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
}

// clear removes everything.
func (c *Cache) clear() {
	for _, e := range c.entries {
		c.dropEntry(e)
	}
	c.slots.clear()
}

// passTime begins another epoch after enough queries, and forgets lists that have not been wanted
// for long.
func (c *Cache) passTime() {
	if c.queries < c.config.HalfLife {
		return
	}
	c.queries = 0
	c.epoch++
	c.slots.fade()
	for key, e := range c.entries {
		if e.fade(c.epoch); e.headAt == nil && e.queries < 0.5 {
			c.forget(key)
		}
	}
}
