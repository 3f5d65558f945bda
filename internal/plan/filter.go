package plan

import (
	"context"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/segment"
)

// Filters become the documents that a plan accepts, and so do the exclusions of a flat query. They
// are computed apart from the words, once for each segment, and the index caches those that come
// again: a search then finds them by a text that describes them. A filter of several clauses is made
// of those clauses that are cached, and of one evaluation of the others.
//
// The exclusions of a tree are often words of one query alone, and are cheapest where they are tested
// last. They leave the tree when they come again.

// filterOf returns a clause that matches the documents which pass filters and exclusions.
func filterOf(filters, not []Clause) Clause {
	if len(filters) == 0 {
		filters = []Clause{All()}
	}
	return Clause{kind: clauseBool, filter: filters, not: not}
}

// setText describes the documents that match a clause: see appendSet.
func (c *Clause) setText() string { return string(c.appendSet(make([]byte, 0, 128))) }

// comeAgain counts a use of exclusions and reports whether they have come often enough to be cached.
func comeAgain(x Index, not []Clause) bool {
	c := filterOf(nil, not)
	text, again := c.setText(), true
	for i := range x.Segments() {
		again = x.UseFilter(i, text) && again
	}
	return again
}

// A filter over a column, such as a range, is found fast enough to be made for one query. One that comes
// again is cached like others. Otherwise there are two ways: to find all its documents first, or to
// compare tiles where the rest of the query has matches. A way is the choice.
type way uint8

const (
	cached way = iota // as other filters
	once              // all documents first
	verify            // in the tree
)

// Measured on 400,000 passages with a word that one in twelve has: verifying takes less time from this
// share of documents on, because the threshold then leaves few tiles; or if the zones of tiles leave
// this share of them. So it does when the rest of the query has fewer matches than tiles.
const (
	verifyShare = 20
	verifyTiles = 4
)

// columnFilters moves the filters over columns out of filter: those to verify into the tree.
func (s shape) columnFilters(x Index) (shape, error) {
	var kept, first, moved []Clause
	for i := range s.filter {
		f := &s.filter[i]
		w, err := s.wayOf(x, f)
		switch {
		case err != nil:
			return s, err
		case w == once:
			first = append(first, *f)
		case w == verify:
			moved = append(moved, *f)
		default:
			kept = append(kept, *f)
		}
	}
	s.filter, s.once = kept, first
	if len(moved) == 0 {
		return s, nil
	}
	core := Clause{kind: clauseBool}
	switch {
	case s.tree != nil && s.tree.kind == clauseBool && len(s.tree.must) > 0 && !s.tree.andOr && !s.tree.best:
		core = *s.tree
	case s.tree != nil:
		core.must = []Clause{*s.tree}
	case s.mode == blockmax.And || len(s.words) == 1:
		core.must = s.words
	default:
		core.must = []Clause{{kind: clauseBool, should: s.words, andOr: s.mode == blockmax.AndOr}}
	}
	core.filter = slices.Concat(core.filter, moved)
	s.tree, s.words, s.mode = &core, nil, blockmax.Or
	return s, nil
}

// wayOf says how a filter is best answered.
func (s *shape) wayOf(x Index, c *Clause) (way, error) {
	set := c.onlySet()
	if set == nil {
		return cached, nil
	}
	whole := filterOf([]Clause{*c}, nil)
	text, again := whole.setText(), true
	docs, without, tiles, within, matches := 0, 0, 0, 0, 0
	for i := range x.Segments() {
		if x.Filter(i, text) != nil {
			return cached, nil
		}
	}
	for i := range x.Segments() {
		found, inTiles, ok, err := inColumn(x, set, i)
		if err != nil {
			return cached, err
		}
		n := x.Segment(i).Reader().Docs()
		docs, tiles = docs+int(n), tiles+blockmax.Tiles(n)
		within, matches = within+inTiles, matches+found.Count
		if !ok {
			without += int(n)
		}
	}
	if 2*without > docs {
		return cached, nil
	}
	for i := range x.Segments() {
		again = x.UseFilter(i, text) && again
	}
	switch {
	case again:
		return cached, nil
	case within*verifyTiles <= tiles || matches*verifyShare >= docs:
		return verify, nil
	}
	n, err := s.postings(x)
	if err != nil || n >= within {
		return once, err
	}
	return verify, nil
}

// postings returns about how many documents match the words of a shape without its filters, and the
// number of all documents for a tree.
func (s *shape) postings(x Index) (n int, err error) {
	for i := range x.Segments() {
		sum, least := 0, int(x.Segment(i).Reader().Docs())
		if s.tree != nil {
			n += least
			continue
		}
		for j := range s.words {
			w := &s.words[j]
			if w.joined != nil {
				sum += least
				continue
			}
			l, err := x.List(i, w.field, w.term)
			if err != nil {
				return 0, err
			}
			count := 0
			if l.Postings != nil {
				count = l.Postings.Count
			}
			sum, least = sum+count, min(least, count)
		}
		if s.mode == blockmax.And {
			sum = least
		}
		n += sum
	}
	return n, nil
}

// Documents that pass filters are listed if they are at most one in so many: fewDocuments, and fewOfOr
// for a flat OR, which fewer documents lead (see cpuexec).
const (
	fewDocuments = 32
	fewOfOr      = 256
)

// restrictOnce narrows the accepted documents of a plan to those of sets over columns. It uses the
// planner's memory.
func (b *planner) restrictOnce(p *Plan, filters []Clause) error {
	m := &filterMaker{ctx: b.ctx, index: b.index, sim: b.sim}
	few := uint32(fewDocuments)
	if p.Tree == nil && p.Mode == blockmax.Or {
		few = fewOfOr
	}
	for i := range p.Segments {
		seg := &p.Segments[i]
		if i == len(b.once) {
			b.once = append(b.once, onceBits{})
		}
		o := &b.once[i]
		words := (int(seg.Docs) + 63) / 64
		o.bits = slices.Grow(o.bits[:0], words)[:words]
		count, err := m.fill(filters[0].onlySet(), i, o.bits)
		if err != nil {
			return err
		}
		if len(seg.Accept) > 0 {
			count = intersect(o.bits, seg.Accept)
		}
		for j := range filters[1:] {
			set, _, err := m.bitsIn(filters[j+1].onlySet(), i)
			if err != nil {
				return err
			}
			count = intersect(o.bits, set)
		}
		seg.Accept, seg.Few, seg.Subset, seg.Alive = o.bits, nil, nil, nil
		if count > int(seg.Docs/few) {
			continue
		}
		o.few = slices.Grow(o.few[:0], count+1)
		for w, word := range o.bits {
			for ; word != 0; word &= word - 1 {
				o.few = append(o.few, uint32(64*w+bits.TrailingZeros64(word)))
			}
		}
		seg.Few = o.few
	}
	return nil
}

// onceBits are the documents of a segment that pass filters, for one query.
type onceBits struct {
	bits []uint64
	few  []uint32
}

// intersect removes from set the documents that are not in other, and returns how many stay.
func intersect(set, other []uint64) (count int) {
	other = other[:len(set)]
	for i := range set {
		set[i] &= other[i]
		count += bits.OnesCount64(set[i])
	}
	return count
}

// restrict narrows the accepted documents of a plan to those that pass its filters.
func restrict(ctx context.Context, x Index, p *Plan, s shape, o *Settings) error {
	c := filterOf(s.filter, s.not)
	text := c.setText()
	var m *filterMaker
	for i := range p.Segments {
		seg := &p.Segments[i]
		f := x.Filter(i, text)
		if f == nil {
			if m == nil {
				m = newFilterMaker(ctx, x, s, o)
			}
			set, err := m.make(i)
			if err != nil {
				return err
			}
			f = cache.NewFilter(set, seg.Docs)
			x.KeepFilter(i, text, f)
		}
		f.Restrict(seg)
	}
	return nil
}

// A filterMaker makes filters that are not cached.
type filterMaker struct {
	ctx   context.Context
	index Index
	sim   blockmax.BM25
	parts []filterPart
}

// A filterPart is one of the clauses of a filter.
type filterPart struct {
	clause Clause
	not    bool   // it is an exclusion
	text   string // describes the filter of this clause alone
}

func newFilterMaker(ctx context.Context, x Index, s shape, o *Settings) *filterMaker {
	m := &filterMaker{ctx: ctx, index: x, sim: o.Sim}
	for _, part := range [...]struct {
		clauses []Clause
		not     bool
	}{{s.filter, false}, {s.not, true}} {
		for _, c := range part.clauses {
			m.parts = append(m.parts, filterPart{clause: c, not: part.not})
		}
	}
	for i := range m.parts {
		c := m.parts[i].alone()
		m.parts[i].text = c.setText()
	}
	return m
}

// alone is the filter of the part without the others.
func (p *filterPart) alone() Clause {
	if p.not {
		return filterOf(nil, []Clause{p.clause})
	}
	return filterOf([]Clause{p.clause}, nil)
}

// make returns the documents of a segment that pass all parts.
func (m *filterMaker) make(segment int) (set []uint64, err error) {
	var filters, not []Clause // that are not cached
	for i := range m.parts {
		p := &m.parts[i]
		f, err := m.cached(segment, p)
		switch {
		case err != nil:
			return nil, err
		case f != nil:
			set = f.Intersect(set)
		case p.not:
			not = append(not, p.clause)
		default:
			filters = append(filters, p.clause)
		}
	}
	if len(filters)+len(not) == 0 {
		return set, nil
	}
	rest, err := m.match(segment, filterOf(filters, not))
	if err != nil || set == nil {
		return rest, err
	}
	for i, word := range rest {
		set[i] &= word
	}
	return set, nil
}

// cached returns the filter of one of several parts if it is cached, or has come often enough to be.
func (m *filterMaker) cached(segment int, p *filterPart) (*cache.Filter, error) {
	if len(m.parts) == 1 {
		return nil, nil
	}
	if f := m.index.Filter(segment, p.text); f != nil {
		return f, nil
	}
	s := m.index.Segment(segment)
	if !m.index.UseFilter(segment, p.text) {
		return nil, nil
	}
	set, err := m.match(segment, p.alone())
	if err != nil {
		return nil, err
	}
	f := cache.NewFilter(set, s.Reader().Docs())
	m.index.KeepFilter(segment, p.text, f)
	return f, nil
}

// match evaluates a clause on a segment.
func (m *filterMaker) match(segment int, c Clause) ([]uint64, error) {
	if s := c.onlySet(); s != nil {
		bits, _, err := m.bitsIn(s, segment)
		return bits, err
	}
	b := new(planner)
	b.begin(m.ctx, oneSegment{m.index, segment}, &Settings{Sim: m.sim})
	b.collect(&c, false)
	q, err := b.finish()
	if err != nil {
		return nil, err
	}
	defer m.index.Settle(segment, segment+1, b.lists)
	n := b.node(&c)
	q.Plan.K = 1
	set, err := cpuexec.Matches(m.ctx, &q.Plan, 0, &n)
	if err != nil {
		return nil, m.index.Segment(segment).At(err)
	}
	return set, nil
}

// onlySet returns the set whose documents are those that match the clause, or nil if it is not one that
// a column may find.
func (c *Clause) onlySet() documentSet {
	for c.kind == clauseConstant || c.kind == clauseBool && !c.andOr && len(c.not)+len(c.should) == 0 && len(c.must)+len(c.filter) == 1 {
		if len(c.must) == 1 {
			c = &c.must[0]
		} else {
			c = &c.filter[0]
		}
	}
	if s, ok := c.set.(columnSet); ok && c.kind == clauseSet {
		return s
	}
	return nil
}

// oneSegment is one segment of an index.
type oneSegment struct {
	Index
	number int
}

func (s oneSegment) Segments() int       { return 1 }
func (s oneSegment) Segment(int) Segment { return s.Index.Segment(s.number) }
func (s oneSegment) List(_ int, field, term string) (*cache.List, error) {
	return s.Index.List(s.number, field, term)
}
func (s oneSegment) Cached(_ int, field string, term []byte) *cache.List {
	return s.Index.Cached(s.number, field, term)
}
func (s oneSegment) Lists(field, term string, into []*cache.List, _ int, _ bool) (postings int, err error) {
	into[0], err = s.Index.List(s.number, field, term)
	return 0, err
}
func (s oneSegment) Matching(_ int, field string, p segment.Pattern, visit func(*segment.Match) error) error {
	return s.Index.Matching(s.number, field, p, visit)
}
func (s oneSegment) Frequent(_ int, field string, p segment.Pattern, n int) ([]segment.TermCount, error) {
	return s.Index.Frequent(s.number, field, p, n)
}
func (s oneSegment) Lookup(_ int, id string) (uint32, bool, error) {
	return s.Index.Lookup(s.number, id)
}
func (s oneSegment) Filter(_ int, filter string) *cache.Filter {
	return s.Index.Filter(s.number, filter)
}
func (s oneSegment) UseFilter(_ int, filter string) bool { return s.Index.UseFilter(s.number, filter) }
func (s oneSegment) KeepFilter(_ int, filter string, f *cache.Filter) {
	s.Index.KeepFilter(s.number, filter, f)
}
func (s oneSegment) Column(_ int, field string) (*columns.Column, error) {
	return s.Index.Column(s.number, field)
}
func (s oneSegment) Norms(_ int, field string) ([]uint8, *blockmax.LazyNorms, error) {
	return s.Index.Norms(s.number, field)
}

// appendSet appends a description of the documents that match a clause. Clauses with the same
// description match the same documents, whatever they score.
func (c *Clause) appendSet(to []byte) []byte {
	if c.kind == clauseFunction { // which matches what its query does
		return c.must[0].appendSet(to)
	}
	to = append(to, byte(c.kind))
	switch c.kind {
	case clauseTerm:
		to = appendText(to, c.field)
		return appendText(to, c.term)
	case clauseAll:
		return to
	case clauseSet:
		return c.appendSetText(to)
	case clauseProximity:
		to = appendProximity(to, c.together)
	case clauseBool:
		to = binary.AppendVarint(to, int64(c.min))
	}
	for _, part := range [...][]Clause{c.must, c.should, c.filter, c.not} {
		to = binary.AppendUvarint(to, uint64(len(part)))
		for i := range part {
			to = part[i].appendSet(to)
		}
	}
	return to
}

// withLength puts the length of what begins at a place before it.
func withLength(to []byte, begin int) []byte {
	var room [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(room[:], uint64(len(to)-begin))
	return slices.Insert(to, begin, room[:n]...)
}

// appendText appends a text with its length before it.
func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}
