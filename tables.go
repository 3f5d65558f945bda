package riffle

import (
	"sync"

	"github.com/riffle-search/riffle/blockmax"
)

// tableCache keeps the impact tables in use. Average lengths are rounded, so one
// table serves many views; making one takes as long as a short query.
type tableCache struct {
	mu     sync.Mutex
	tables map[blockmax.TableKey]*blockmax.Table
}

// maxTables bounds the cache: a table takes 9 KB, and a service uses a few.
const maxTables = 256

func (c *tableCache) get(sim BM25, avg float64) *blockmax.Table {
	key := blockmax.MakeTableKey(sim, avg)
	c.mu.Lock()
	defer c.mu.Unlock()
	if t, ok := c.tables[key]; ok {
		return t
	}
	if c.tables == nil || len(c.tables) >= maxTables {
		c.tables = map[blockmax.TableKey]*blockmax.Table{}
	}
	t := blockmax.NewTable(sim, avg)
	c.tables[key] = t
	return t
}
