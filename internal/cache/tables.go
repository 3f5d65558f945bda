package cache

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/blockmax"
)

// Tables cache the impact tables in use. Average lengths are rounded, so one table serves many
// views; making one takes as long as a short query. Every term of every query needs one, so a hit
// takes no lock.
type Tables struct {
	tables atomic.Pointer[map[blockmax.TableKey]*blockmax.Table] // replaced, never changed
	mu     sync.Mutex                                            // held to replace it
}

// maxTables bounds the cache: a table takes 9 KB, and a service uses a few.
const maxTables = 256

// Get returns the table of a similarity for an average length, and makes it on a miss.
func (c *Tables) Get(sim blockmax.BM25, avg float64) *blockmax.Table {
	key := blockmax.MakeTableKey(sim, avg)
	if t := c.lookup(key); t != nil {
		return t
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.lookup(key); t != nil {
		return t
	}
	tables := map[blockmax.TableKey]*blockmax.Table{}
	if old := c.tables.Load(); old != nil && len(*old) < maxTables {
		tables = maps.Clone(*old)
	}
	t := blockmax.NewTable(sim, avg)
	tables[key] = t
	c.tables.Store(&tables)
	return t
}

func (c *Tables) lookup(key blockmax.TableKey) *blockmax.Table {
	if tables := c.tables.Load(); tables != nil {
		return (*tables)[key]
	}
	return nil
}
