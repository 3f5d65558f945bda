package cpuexec

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/shapes"
)

// Sorting by columns. The segments, sheets and tiles whose bounds (columns.Zone; of scores, those of the
// lists) come first are visited first. The last of the k best so far is the threshold: what cannot come
// before it is skipped, and documents are compared with it in the packed form of the column, before the
// tree is evaluated. So the order of documents in the segment does not matter, nor does the direction.

// A Sorted is the answer to a plan in an Order.
type Sorted struct {
	Places []Place // at most K
	Total  int     // accepted documents that match: exact if Exact, else a lower bound
	Exact  bool
	Work   blockmax.Work
}

// Sort returns the first K matches of a plan in an order. K matters as it does for TopK; the After of
// the plan has no effect.
func (x Parallel) Sort(ctx context.Context, p *blockmax.Plan, o *Order) (Sorted, error) {
	if x.Pool != nil {
		if err := x.begin(); err != nil {
			return Sorted{}, err
		}
		defer x.end()
	}
	if err := check(p); err != nil {
		return Sorted{}, err
	}
	if err := o.check(p); err != nil {
		return Sorted{}, err
	}
	r := newRun(ctx, p)
	defer r.release()
	r.parallel = x
	tree, err := r.matchingTree()
	if err != nil {
		return Sorted{}, err
	}
	job := &sortJob{order: o, k: p.K, reached: make([]atomic.Uint64, len(p.Segments))}
	for i := range job.reached {
		job.reached[i].Store(math.MaxUint64)
	}
	err = r.pass(segmentPass{
		name: "sort", run: (*run).sortSegment, byTiles: true, order: job.orderSegments,
		begin: func(r *run) func() {
			r.sorter = sorters.Get().(*sorter)
			r.sorter.begin(job)
			return r.endSorting
		},
	}, tree)
	if err != nil {
		return Sorted{}, err
	}
	s := Sorted{Places: job.best, Total: r.out.total, Exact: !r.out.pruned}
	if p.CountAll && r.out.pruned {
		if s.Total, err = r.countMatches(tree); err != nil {
			return Sorted{}, err
		}
		s.Exact = true
	}
	s.Work = r.out.work
	s.Work.BlocksSkipped = r.out.skipped()
	return s, nil
}

// A sortJob is what the goroutines share that sort the matches of a plan.
type sortJob struct {
	order *Order
	k     int

	// reached has, for each segment, a code of its first component that k documents of the segment are
	// known to have, or lower ones.
	reached []atomic.Uint64

	mu   sync.Mutex
	best []Place // in order, at most k
}

// reach notes that k documents of a segment have at most a code.
func (j *sortJob) reach(segment int, code uint64) {
	for a := &j.reached[segment]; ; {
		if old := a.Load(); code >= old || a.CompareAndSwap(old, code) {
			return
		}
	}
}

// add merges places, in order, into the best.
func (j *sortJob) add(places []Place) {
	if len(places) == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	merged := make([]Place, 0, min(j.k, len(j.best)+len(places)))
	a, b := j.best, places
	for len(merged) < cap(merged) {
		if len(b) == 0 || len(a) > 0 && j.order.Compare(&a[0], &b[0]) < 0 {
			merged, a = append(merged, a[0]), a[1:]
		} else {
			merged, b = append(merged, b[0]), b[1:]
		}
	}
	j.best = merged
}

// last returns the last of the k best, once there are k.
func (j *sortJob) last() *Place {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.best) < j.k {
		return nil
	}
	p := j.best[j.k-1]
	return &p
}

// orderSegments puts the segments whose first key begins with the first value first.
func (j *sortJob) orderSegments(segments []int) {
	k := &j.order.Keys[0]
	if k.By != ByColumn || len(segments) < 2 {
		return
	}
	firsts := make([]KeyValue, len(k.Columns))
	for _, s := range segments {
		v := &firsts[s]
		c := k.Columns[s]
		if c == nil || c.Docs() == 0 || k.MissingFirst && !c.Full() {
			v.Missing = true
			continue
		}
		key, greatest := c.Bounds()
		if k.From != nil {
			near, far := k.From.Between(key, greatest)
			if k.Desc {
				near = far
			}
			v.Value = columns.OfFloat(near)
			continue
		}
		if k.Desc {
			key = greatest
		}
		var err error
		if v.Value, err = c.Value(key); err != nil {
			return // the search will meet it, too
		}
	}
	slices.SortStableFunc(segments, func(a, b int) int { return j.order.compare(0, &firsts[a], &firsts[b]) })
}

// A sorter sorts matches of one segment after the other, on one goroutine.
type sorter struct {
	job   *sortJob
	plan  *blockmax.Plan
	index int    // of the segment
	base  uint32 // global number of its first document
	docs  uint32 // of the segment

	comps  []component
	after  limit // documents before it cannot enter
	limit  limit // nor those that are not before this, once it is set
	scored bool

	sparse bool        // few documents of the segment match
	list   *tileCursor // decides alone what matches, and the order needs no scores; or nil
	few    fewKeys

	heap    sortHeap
	sheets  []bounded
	tile    int                // the first of the sheet
	tiles   []bounded          // of the sheet
	codes   [][tileDocs]uint64 // of the components, for documents of the tile
	bounds  sums               // of scores, in the tiles of the sheet or the words of the tile
	mask    bitset             // documents of the tile that can enter
	in      bitset             // scratch
	ties    bitset             // scratch
	has     bitset             // scratch
	scratch codeScratch
	near    *shapes.Region // a circle with all that can enter, of a first key by distance; or nil
	radius  float64        // of it, in metres
	err     error          // of an id
}

var sorters = sync.Pool{New: func() any { return new(sorter) }}

func (s *sorter) begin(j *sortJob) {
	s.job, s.scored, s.err, s.near = j, j.order.Scored(), nil, nil
}

// endSorting gives the sorter back.
func (r *run) endSorting() {
	s := r.sorter
	r.sorter = nil
	s.job, s.plan, s.list, s.near = nil, nil, nil, nil
	clear(s.comps)
	s.heap.forget()
	sorters.Put(s)
}

// enter begins with the current segment of a run, or with a later part of it.
func (s *sorter) enter(r *run) error {
	s.plan, s.index, s.base, s.docs = r.query.plan, r.at.index, r.at.seg.Base, r.at.seg.Docs
	o := s.job.order
	clear(s.comps)
	s.comps = s.comps[:0]
	for i := range o.Keys {
		s.comps = o.appendComponents(s.comps, i, s.index, s.docs)
	}
	for len(s.codes) < len(s.comps) {
		s.codes = append(s.codes, [tileDocs]uint64{})
	}
	s.heap.reset(s, s.job.k)
	s.after.set, s.limit.set = false, false
	if o.After != nil {
		if err := s.after.locate(s.comps, o.After); err != nil {
			return err
		}
		s.after.doc++ // the place itself is not after it
		if o.Ties {
			s.after.doc = 0
		}
	}
	if last := s.job.last(); last != nil {
		return s.limit.locate(s.comps, last)
	}
	return nil
}

// A limit is a place among the documents of a segment.
type limit struct {
	set   bool
	codes []uint64
	id    []byte // at the component of the ids
	doc   uint64 // global number
	upto  int    // components that count
	cut   place  // of those that are equal in these: at (doc decides), below, behind
}

// locate sets the limit to a place.
func (l *limit) locate(comps []component, p *Place) error {
	l.set, l.codes, l.id, l.doc, l.cut = true, l.codes[:0], l.id[:0], uint64(p.Doc), at
	for i := range comps {
		c := &comps[i]
		v := &p.Keys[c.key]
		code, where, err := c.locate(v)
		if err != nil {
			return err
		}
		if c.kind == idCode {
			l.id = append(l.id[:0], v.Value.Term...)
		}
		l.codes = append(l.codes, code)
		l.upto, l.cut = i+1, where
		if where != at {
			break
		}
	}
	if l.cut == behind {
		l.upto--
		l.codes = l.codes[:l.upto]
	}
	return nil
}

// first returns the code of the limit in the first component, and what documents of that code need to
// be before it: nothing (behind), a lower place by other components or their number (at); or they cannot
// be (below).
func (l *limit) first() (code uint64, tie place) {
	switch {
	case l.upto == 0: // all codes are before it
		return math.MaxUint64, behind
	case l.upto == 1:
		return l.codes[0], l.cut
	}
	return l.codes[0], at
}
