package live

import (
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/cache"
)

// fieldTotals are the statistics of a field over a whole view. They include deleted documents until
// their segment is merged.
type fieldTotals struct {
	docs   uint64 // documents that have the field
	tokens uint64
	norms  bool

	last atomic.Pointer[simTable] // last result of table
}

// A simTable is the impact table of a field under a similarity.
type simTable struct {
	sim   blockmax.BM25
	table *blockmax.Table
}

func (t *fieldTotals) average() float64 {
	if t.docs == 0 || !t.norms {
		return 1
	}
	return float64(t.tokens) / float64(t.docs)
}

// table returns the field's impact table under a similarity.
func (t *fieldTotals) table(sim blockmax.BM25, tables *cache.Tables) *blockmax.Table {
	if last := t.last.Load(); last != nil && last.sim == sim {
		return last.table
	}
	next := &simTable{sim, t.tableAt(sim, t.average(), tables)}
	t.last.Store(next)
	return next.table
}

// tableAt returns the field's impact table under a similarity and a given average length.
func (t *fieldTotals) tableAt(sim blockmax.BM25, average float64, tables *cache.Tables) *blockmax.Table {
	if !t.norms {
		sim.B, average = 0, 1 // no lengths are kept: all count as equal
	}
	return tables.Get(sim, average)
}

func (v *View) field(name string) *fieldTotals {
	if t, ok := v.totals.Load(name); ok {
		return t.(*fieldTotals)
	}
	t := new(fieldTotals)
	for i := range v.segs {
		if f, ok := v.segs[i].reader.Field(name); ok {
			t.docs += uint64(f.Docs)
			if sum, over := bits.Add64(t.tokens, f.Tokens, 0); over == 0 {
				t.tokens = sum
			} else {
				t.tokens = math.MaxUint64 // a segment claims a sum that no documents can have
			}
			t.norms = t.norms || f.Norms
		}
	}
	v.totals.Store(name, t)
	return t
}
