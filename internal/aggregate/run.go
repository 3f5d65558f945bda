package aggregate

import (
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/columns"
)

// Options bound a run.
type Options struct {
	Workers int   // most collectors at a time, at least 1
	Bytes   int64 // of memory, at most; 0 for no bound
}

// A Run computes aggregations of the documents that its collectors get.
type Run struct {
	segments []Segment
	options  Options
	at       func(place string, err error) error
	docs     int64
	fields   map[string]*field
	roots    []*plan
	sets     []int        // of the roots
	bytes    atomic.Int64 // of all states

	mu    sync.Mutex
	total *state // of what has ended
	err   error  // the first of a collector's end
}

// Begin begins a run. It fails with a *LimitError when the aggregations need too much memory, as all
// methods do, and names an aggregation in other errors by at.
func Begin(segments []Segment, roots []Root, o Options, at func(place string, err error) error) (*Run, error) {
	r := &Run{segments: segments, options: o, at: at, fields: map[string]*field{}}
	for i := range segments {
		r.docs += int64(segments[i].Docs)
	}
	for _, root := range roots {
		p, err := r.plan(root.Spec, 0)
		if err != nil {
			return nil, err
		}
		r.roots = append(r.roots, p)
		r.sets = append(r.sets, root.Set)
	}
	r.total = r.newState(-1)
	return r, nil
}

// Results returns the results of the roots, once all collectors have ended. It ends the run.
func (r *Run) Results() ([]*Result, error) {
	if r.err != nil {
		return nil, r.err
	}
	results := make([]*Result, len(r.roots))
	for i, n := range r.total.nodes {
		var err error
		if results[i], err = n.result(0); err != nil {
			return nil, err
		}
	}
	r.end()
	return results, nil
}

func (r *Run) end() {
	for _, part := range r.total.parts {
		partsPool.Put(part)
	}
	r.total = nil
}

// A plan is what nodes of one aggregation share, in all states.
type plan struct {
	*Spec
	run   *Run
	field *field // nil for Filters and TopHits
	depth int
	subs  []*plan
	steps *steps   // of histograms
	nums  *measure // of Stats and Percentiles
}

func (r *Run) plan(s *Spec, depth int) (*plan, error) {
	p := &plan{Spec: s, run: r, depth: depth}
	if s.Field != "" {
		f := r.fields[s.Field]
		if f == nil {
			var err error
			if f, err = openField(s.Field, r.segments); err != nil {
				return nil, r.at(s.Place, err)
			}
			r.fields[s.Field] = f
		}
		p.field = f
	}
	var err error
	switch k := s.Of.(type) {
	case Histogram:
		p.steps, err = openSteps(p.field, k, r.docs)
	case Calendar:
		p.steps, err = openSteps(p.field, k, r.docs)
	case Geohashes:
		p.steps, err = openSteps(p.field, k, r.docs)
	case Stats, Percentiles:
		p.nums, err = p.field.numeric()
	}
	if err != nil {
		return nil, r.at(s.Place, err)
	}
	for _, sub := range s.Sub {
		q, err := r.plan(sub, depth+1)
		if err != nil {
			return nil, err
		}
		p.subs = append(p.subs, q)
	}
	return p, nil
}

// column returns the column of a segment, or nil; also for the state of the run, -1.
func (p *plan) column(segment int) *columns.Column {
	if p.field == nil || segment < 0 {
		return nil
	}
	return p.field.columns[segment]
}

// A state is the nodes of one goroutine in a segment, or those of the whole run.
type state struct {
	run     *Run
	segment int // -1 for the whole run
	nodes   []node
	readers map[string]*reader  // by field
	entries []*entries          // by depth of the nodes that use them
	scores  *[tileDocs]uint32   // of the tile at hand, or nil
	parts   []*[partKeys]uint64 // of lists of keys
	held    int64               // bytes that are counted in run.bytes
}

// A node is an aggregation in a state.
type node interface {
	// collect adds the documents of an input.
	collect(in *input) error

	// merge adds a node of another segment's state, of which owners[i] is owner i here.
	merge(from node, owners []uint32) error

	// result returns the result for an owner. It is called when all is merged.
	result(owner uint32) (*Result, error)

	// metric returns a number of the result for an owner, if there is one.
	metric(owner uint32, m Metric) (value float64, ok bool)

	// partial returns what a Partial has of the node: for each of some owners, which become owners 0, 1 and so
	// on. It is called when all is merged.
	partial(owners []uint32, x *extraction) (*part, error)

	// bytes is the memory that the node and those below hold. heaviest is the place of the node that
	// holds most.
	bytes() int64
	heaviest() (place string, bytes int64)
}

func (r *Run) newState(segment int) *state {
	s := &state{run: r, segment: segment, readers: map[string]*reader{}}
	for _, p := range r.roots {
		s.nodes = append(s.nodes, s.newNode(p))
	}
	return s
}

func (s *state) newNode(p *plan) node {
	var subs []node
	for _, q := range p.subs {
		subs = append(subs, s.newNode(q))
	}
	common := base{plan: p, state: s, column: p.column(s.segment), subs: subs}
	if common.column != nil {
		r := s.readers[p.Field]
		if r == nil {
			r = readers.Get().(*reader)
			r.column, r.tile = common.column, -1
			s.readers[p.Field] = r
		}
		common.reader = r
		for p.depth >= len(s.entries) {
			s.entries = append(s.entries, entriesPool.Get().(*entries))
		}
		common.e = s.entries[p.depth]
	}
	switch k := p.Of.(type) {
	case Cardinality:
		if p.depth == 0 && p.field.hasMany() {
			return newDistinctNode(common)
		}
		return newKeyNode(common)
	case Terms, Histogram, Calendar, Geohashes:
		return newKeyNode(common)
	case Ranges, Rings, Filters, Missing:
		return newSetNode(common)
	case Stats:
		return &statsNode{base: common}
	case Percentiles:
		return &percentilesNode{base: common, percents: k}
	case TopHits:
		if k.Order != nil {
			return newOrderedNode(common, k)
		}
		return &hitsNode{base: common, size: k.Size}
	}
	panic("BUG: an aggregation of an unknown kind")
}

// base is what all nodes have.
type base struct {
	*plan
	state  *state
	column *columns.Column // nil: no document of the segment has a value
	reader *reader
	subs   []node
	e      *entries // scratch, while nodes below are not at work
}

// release gives back the memory that the next state can use.
func (s *state) release() {
	for _, r := range s.readers {
		r.column = nil
		readers.Put(r)
	}
	for _, e := range s.entries {
		entriesPool.Put(e)
	}
	s.readers, s.entries = nil, nil
}

// heaviest is node.heaviest for a node that holds some bytes itself.
func (b *base) heaviestOf(own int64) (string, int64) {
	place := b.Place
	for _, s := range b.subs {
		if p, n := s.heaviest(); n > own {
			place, own = p, n
		}
	}
	return place, own
}

func (b *base) subBytes() (n int64) {
	for _, s := range b.subs {
		n += s.bytes()
	}
	return n
}

// weigh counts the memory of the state, and fails beyond the bound.
func (s *state) weigh() error {
	held := int64(0)
	for _, n := range s.nodes {
		held += n.bytes()
	}
	now := s.run.bytes.Add(held - s.held)
	s.held = held
	limit := s.run.options.Bytes
	if limit == 0 {
		return nil
	}
	for _, f := range s.run.fields {
		now += f.held.Load()
	}
	if now <= limit {
		return nil
	}
	var place string
	most := int64(-1)
	for _, n := range s.nodes {
		if p, b := n.heaviest(); b > most {
			place, most = p, b
		}
	}
	return s.run.at(place, &LimitError{place, limit})
}

func (r *Run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

// absorb merges a state into that of the run, and ends it. A nil state is none.
func (r *Run) absorb(s *state) error {
	if s == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, n := range r.total.nodes {
		if err := n.merge(s.nodes[i], []uint32{0}); err != nil {
			return r.at(r.roots[i].Place, err)
		}
	}
	s.release()
	r.total.parts = append(r.total.parts, s.parts...)
	r.bytes.Add(-s.held)
	return r.total.weigh()
}
