package cpuexec

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
)

// A Group is the matches that have one value.
type Group struct {
	Place          // of the match that comes first
	Value KeyValue // what they have in common
	Size  int      // of them
}

// A Collapsed is the answer to a plan whose matches are collapsed to one of each group.
type Collapsed struct {
	Groups []Group // at most K, in the order of their places
	Count  int     // of all groups
	Total  int     // of all matches
	Work   blockmax.Work

	All []GroupSize // with Grouping.All, in no particular order
}

// A GroupSize is a group without its place.
type GroupSize struct {
	Value  KeyValue
	Size   int
	Before bool // its place is not after that of the order
}

// A Grouping says which matches are a group.
type Grouping struct {
	// Columns are those of the field to group by, as in a SortKey. The least value of a document counts,
	// and documents without one are a group.
	Columns []*columns.Column

	Bytes int64 // of memory that groups may take; 0 for no bound
	All   bool  // the sizes of all groups are wanted
}

// A GroupLimitError says that groups take too much memory.
type GroupLimitError struct{ Limit int64 } // bytes

func (e *GroupLimitError) Error() string {
	return fmt.Sprintf("the groups take more than %d bytes of memory", e.Limit)
}

// Collapse returns the first K groups of matches, by the places of their first matches in an order. All
// matches are visited, and all groups are in memory: beyond the bound it fails with a *GroupLimitError.
func (x Parallel) Collapse(ctx context.Context, p *blockmax.Plan, o *Order, by Grouping) (Collapsed, error) {
	if x.Pool != nil {
		if err := x.begin(); err != nil {
			return Collapsed{}, err
		}
		defer x.end()
	}
	if err := check(p); err != nil {
		return Collapsed{}, err
	}
	if err := o.check(p); err != nil {
		return Collapsed{}, err
	}
	r := newRun(ctx, p)
	defer r.release()
	r.parallel = x
	tree, err := r.matchingTree()
	if err != nil {
		return Collapsed{}, err
	}
	visited := *o
	visited.After = nil // the first match of a group may be before it
	job := &collapseJob{sortJob: sortJob{order: &visited, k: math.MaxInt, reached: make([]atomic.Uint64, len(p.Segments))}, by: by, groups: map[string]*Group{}}
	for i := range job.reached {
		job.reached[i].Store(math.MaxUint64)
	}
	err = r.pass(segmentPass{
		name: "collapse", run: func(r *run) error { return r.visitMatches(o.Scored()) }, byTiles: true,
		begin: job.begin,
	}, tree)
	if err != nil {
		return Collapsed{}, err
	}
	if job.err != nil {
		return Collapsed{}, job.err
	}
	found := job.first(o, p.K)
	found.Work = r.out.work
	found.Work.BlocksSkipped = r.out.skipped()
	return found, nil
}

// A collapseJob is what the goroutines share that collapse the matches of a plan.
type collapseJob struct {
	sortJob
	by   Grouping
	held atomic.Int64 // bytes of all groups

	mu     sync.Mutex
	groups map[string]*Group // by the term of their value, "" for none
	total  int
	err    error
}

// hold counts memory of groups, and fails beyond the bound.
func (j *collapseJob) hold(bytes int64) error {
	if now := j.held.Add(bytes); j.by.Bytes > 0 && now > j.by.Bytes {
		return &GroupLimitError{j.by.Bytes}
	}
	return nil
}

// first returns the first k groups after the place of an order.
func (j *collapseJob) first(o *Order, k int) Collapsed {
	all := make([]*Group, 0, len(j.groups))
	var sizes []GroupSize
	for _, g := range j.groups {
		before := o.After != nil && !o.isAfter(&g.Place)
		if j.by.All {
			sizes = append(sizes, GroupSize{g.Value, g.Size, before})
		}
		if before {
			continue
		}
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *Group) int { return o.Compare(&a.Place, &b.Place) })
	found := Collapsed{Groups: make([]Group, min(k, len(all))), Count: len(j.groups), Total: j.total, All: sizes}
	for i := range found.Groups {
		found.Groups[i] = *all[i]
	}
	return found
}

// isAfter reports whether a place comes after that of the order.
func (o *Order) isAfter(p *Place) bool {
	for i := range o.Keys {
		if c := o.compare(i, &p.Keys[i], &o.After.Keys[i]); c != 0 {
			return c > 0
		}
	}
	return o.Ties || p.Doc > o.After.Doc
}

// A collapser groups the matches of one segment after the other, on one goroutine.
type collapser struct {
	job    *collapseJob
	s      *sorter
	column *columns.Column
	keys   [tileDocs]uint64 // of the groups, for documents of the tile
	has    bitset           // those that have one
	slots  map[uint64]int32 // of the groups by key, in the heap of s
	none   int32            // that of documents without a value, or 0
	of     []uint64         // keys of the groups, by slot
	sizes  []int            // by slot
	held   int64            // bytes of the slots, which the job counts
}

// The memory of a group, but for its sort keys: as a slot, with a row of the map and what a heap has
// besides codes; and as a Group in the map of the job, with a pointer for the final order.
const (
	slotBytes  = 100
	groupBytes = int64(unsafe.Sizeof(Group{})) + 64
)

// bytes is the memory that the job takes for a group.
func (g *Group) bytes() int64 {
	n := groupBytes + int64(len(g.Keys))*int64(unsafe.Sizeof(KeyValue{}))
	for i := range g.Keys {
		n += int64(len(g.Keys[i].Value.Term))
	}
	return n
}

// begin makes a run visit matches for the job.
func (j *collapseJob) begin(r *run) (end func()) {
	c := &collapser{job: j, s: sorters.Get().(*sorter), slots: map[uint64]int32{}}
	c.s.begin(&j.sortJob)
	r.sorter = c.s
	at := -1
	r.visit = func(m *Match) error {
		if m.Segment != at {
			if err := c.flush(); err != nil {
				return err
			}
			at = m.Segment
			if err := c.enter(r); err != nil {
				return err
			}
		}
		return c.add(r, m.Count)
	}
	return func() {
		if err := c.flush(); err != nil {
			j.mu.Lock()
			j.err = err
			j.mu.Unlock()
		}
		r.endSorting()
	}
}

// enter begins with the current segment of a run.
func (c *collapser) enter(r *run) error {
	if err := c.s.enter(r); err != nil {
		return c.s.fail(r, err)
	}
	c.column = c.job.by.Columns[r.at.index]
	clear(c.slots)
	c.none, c.of, c.sizes = 0, append(c.of[:0], 0), append(c.sizes[:0], 0) // slot 0 is no group's
	return nil
}

// flush hands in the groups of a segment.
func (c *collapser) flush() error {
	h := &c.s.heap
	if len(c.sizes) < 2 {
		return nil
	}
	h.slots = h.slots[:0]
	for slot := 1; slot < len(c.sizes); slot++ {
		h.slots = append(h.slots, int32(slot))
	}
	places, err := h.places() // puts the slots in order
	if err != nil {
		return &ColumnError{c.s.index, err}
	}
	j := c.job
	j.mu.Lock()
	defer j.mu.Unlock()
	var term []byte
	for i, slot := range h.slots {
		g := Group{Place: places[i], Size: c.sizes[slot]}
		if term = term[:0]; slot == c.none {
			g.Value.Missing = true
		} else {
			if g.Value.Value, err = c.column.Value(c.of[slot]); err != nil {
				return &ColumnError{c.s.index, err}
			}
			term = g.Value.Value.AppendTerm(term)
		}
		j.total += g.Size
		before := j.groups[string(term)]
		if before == nil {
			j.groups[string(term)] = &g
			if err := j.hold(g.bytes() + int64(len(term))); err != nil {
				return err
			}
			continue
		}
		before.Size += g.Size
		if j.order.Compare(&g.Place, &before.Place) < 0 {
			before.Place = g.Place
		}
	}
	c.sizes = c.sizes[:0]
	j.held.Add(-c.held)
	c.held = 0
	return nil
}

// add adds the n matches of the window.
func (c *collapser) add(r *run, n int) error {
	s, set := c.s, &r.win.matches
	for i := range s.comps {
		if err := s.load(r, i, set, n); err != nil {
			return err
		}
	}
	c.has = bitset{}
	if c.column != nil {
		if err := c.column.Select(int(r.win.base/tileDocs), (*[64]uint64)(set), columns.Least, &s.scratch.sel); err != nil {
			return s.fail(r, err)
		}
		for i, d := range s.scratch.sel.Docs {
			c.keys[d%tileDocs] = s.scratch.sel.Keys[i]
			c.has[d/64%64] |= 1 << (d % 64)
		}
	}
	h := &s.heap
	for i, word := range set {
		for ; word != 0; word &= word - 1 {
			d := 64*i + bits.TrailingZeros64(word)
			for k := range h.n {
				h.codes[k] = s.codes[k][d]
			}
			h.docs[0], h.score[0], h.known[0] = s.base+r.win.base+uint32(d), 0, false
			if s.scored {
				h.score[0] = r.win.scores[d]
			}
			has := c.has[i]>>(d%64)&1 == 1
			slot := c.none
			if has {
				slot = c.slots[c.keys[d]]
			}
			if slot == 0 {
				slot = h.addSlot()
				h.move(slot, 0)
				c.of, c.sizes = append(c.of, c.keys[d]), append(c.sizes, 1)
				if has {
					c.slots[c.keys[d]] = slot
				} else {
					c.none = slot
				}
				continue
			}
			c.sizes[slot]++
			if h.compare(0, slot) < 0 {
				h.move(slot, 0)
			}
		}
	}
	if s.err != nil {
		return s.err
	}
	held := int64(len(c.sizes)) * int64(slotBytes+8*h.n)
	held, c.held = held-c.held, held
	return c.job.hold(held)
}
