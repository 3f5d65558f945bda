package blockmax

import (
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/postings"
)

// Bounds are the highest impacts (16-bit fractions) of a list under one Table. Any number of
// goroutines may share them, but they must not be copied.
type Bounds struct {
	List   uint16   // of the whole list
	Extent []uint16 // of each extent of 32 blocks
	Block  []uint16 // of each block, once Need has been asked for it
	Best   Best     // what its best postings reach; may be nil

	onDemand *boundsOnDemand // nil when Block is complete
	base     *Table          // under which Extent and Block were computed
	slack    bool            // they are higher than that, see Under
	reached  Best            // with slack: Best under base
	refinement
}

// boundsOnDemand are the bounds of blocks of a list that reads the extents of its directory on
// demand.
type boundsOnDemand struct {
	list  *postings.List
	table *Table
	slack bool            // bounds get slack
	ready []atomic.Uint32 // a bit for each extent whose blocks have bounds
	left  atomic.Int32    // extents whose blocks have none
	mu    sync.Mutex      // held while an extent gets its bounds
}

// NewBounds computes the highest impacts of a list and of its extents under a table; of its blocks,
// too, unless the list reads them on demand. It takes some 5 ns per block or extent and does not
// read the payload. The result holds for every table with the same Key, so callers keep it with the
// list. An error is the list's loader's, or matches corrupt.Err.
func NewBounds(l *postings.List, t *Table) (*Bounds, error) {
	b := &Bounds{List: t.Highest(l.ListImpacts), Extent: highestOfEach(&l.ExtImpacts, t), base: t}
	var tally Tally // best pairs are actual postings
	if l.OnDemand() {
		b.Block = make([]uint16, l.Blocks())
		b.onDemand = newOnDemand(l, t, len(b.Extent))
		return b, b.tallyExtents(&tally)
	}
	blocks, err := l.BlockImpacts()
	if err != nil {
		return nil, err
	}
	b.Block = highestOfEach(blocks, t)
	for i, impact := range b.Block {
		if !l.Cut || i < len(b.Block)-1 {
			tally.Add(impact)
		}
	}
	b.Best = tally.Best()
	return b, nil
}

// Of the extents with the highest bounds, the best postings of blocks count, and of the others only
// those of the extent. The best 10 postings of all blocks lie in the best 10 extents.
const (
	talliedExtents = 8
	talliedFrom    = 64 // extents of a list that is too long for that: its directory has several parts
)

// tallyExtents sets Best for a list that reads extents on demand.
func (b *Bounds) tallyExtents(tally *Tally) error {
	x := b.onDemand
	var best [talliedExtents]int
	n := 0
	if len(b.Extent) <= talliedFrom {
		for e, bound := range b.Extent {
			at := n
			for at > 0 && b.Extent[best[at-1]] < bound {
				at--
			}
			if at < talliedExtents {
				n = min(n+1, talliedExtents)
				copy(best[at+1:n], best[at:])
				best[at] = e
			}
		}
	}
	for _, e := range best[:n] {
		from := e * postings.ExtentBlocks
		to := min(from+postings.ExtentBlocks, len(b.Block))
		if err := b.readExtent(e); err != nil {
			return err
		}
		for _, impact := range b.Block[from:to] {
			tally.Add(impact)
		}
	}
	for e := range b.Extent {
		if x.has(e) {
			continue
		}
		for _, p := range x.list.ExtImpacts.Of(e) {
			tally.Add(x.table.Impact(p.TF, p.Len))
		}
	}
	b.Best = tally.Best()
	return nil
}

func newOnDemand(l *postings.List, t *Table, extents int) *boundsOnDemand {
	x := &boundsOnDemand{list: l, table: t, ready: make([]atomic.Uint32, (extents+31)/32)}
	x.left.Store(int32(extents))
	return x
}

// read notes that the blocks of an extent have bounds.
func (x *boundsOnDemand) read(e int) {
	x.ready[e/32].Or(1 << (e % 32))
	x.left.Add(-1)
}

func (x *boundsOnDemand) has(e int) bool { return x.ready[e/32].Load()>>(e%32)&1 != 0 }

// Need makes Block have the values of blocks [from, to), and the list have these blocks
// (postings.List.Need). For an extent that cannot be read, which searching its blocks will find, the
// bound of the extent serves.
func (b *Bounds) Need(from, to int) {
	if x := b.onDemand; x != nil && x.left.Load() > 0 {
		for e := from / postings.ExtentBlocks; e*postings.ExtentBlocks < to; e++ {
			if !x.has(e) {
				b.readExtent(e)
			}
		}
	}
}

// readExtent computes the bounds of the blocks of extent e, unless another goroutine has.
func (b *Bounds) readExtent(e int) error {
	x := b.onDemand
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.has(e) {
		return nil
	}
	from := e * postings.ExtentBlocks
	to := min(from+postings.ExtentBlocks, len(b.Block))
	m, err := x.list.BlockImpactsOf(e)
	for i := from; i < to; i++ {
		if err != nil {
			b.Block[i] = b.Extent[e]
		} else {
			b.Block[i] = x.table.Highest(m.Of(i - from))
			if x.slack {
				b.Block[i] = above(b.Block[i])
			}
		}
	}
	x.read(e)
	return err
}

// Sheet returns what KeepSheet has kept for sheet i, or nil.
func (b *Bounds) Sheet(i int) *[64]uint8 {
	if sheets := b.sheets.Load(); sheets != nil && i < len(*sheets) {
		return (*sheets)[i].Load()
	}
	return nil
}

// KeepSheet keeps a copy of what an executor has found of the 64 tiles of sheet i: a bound for each,
// in 8 bits (Coarse). It must follow from the bounds of blocks or extents, so that it holds for
// good.
func (b *Bounds) KeepSheet(i int, tiles *[64]uint8) {
	var sheets []atomic.Pointer[[64]uint8]
	old := b.sheets.Load()
	if old != nil {
		sheets = *old
	}
	if i >= len(sheets) {
		longer := make([]atomic.Pointer[[64]uint8], max(i+1, 2*len(sheets)))
		for j := range sheets {
			longer[j].Store(sheets[j].Load())
		}
		if !b.sheets.CompareAndSwap(old, &longer) {
			return // another goroutine keeps one; this sheet's will come again
		}
		sheets = longer
	}
	kept := *tiles
	sheets[i].Store(&kept)
}

func highestOfEach(m *postings.Impacts, t *Table) []uint16 {
	bounds := make([]uint16, max(0, len(m.Start)-1))
	for i := range bounds {
		bounds[i] = t.Highest(m.Of(i))
	}
	return bounds
}
