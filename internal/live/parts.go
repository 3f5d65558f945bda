package live

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// Plans see a segment as one or two parts. A segment in memory that takes batches between searches is
// its first documents, the head, which stay the same for many batches, and the few after them, the
// tail. So a search right after a small batch finds the lists, bounds and filters of the head as it
// left them. When the tail has grown to a share of the head, it joins the head, and lists grow: a
// posting is moved once for that share of a segment's postings. It also joins when the view has been
// searched often, because each part costs a little.

// A part is what plans see as a segment.
type part struct {
	*Segment             // of which it is a part
	reader   plan.Reader // of the part
	base     uint32
	memory   *segment.MemoryView // of a segment in memory that has no tail, or of its head
	tail     *segment.MemoryTail
	accept   []uint64 // of a tail
}

const (
	undividedDocs = 4096 // fewer documents have no tail: growing their lists costs little
	tailShare     = 8    // a tail has at most 1/tailShare of the documents of its head
	maxTailDocs   = filterDocs - 1
	joinSearches  = 1000 // of a view before its tail joins the head
)

// addParts adds the parts of a segment to a view that is not yet published. The caller holds ix.mu.
func (v *View) addParts(s *Segment) {
	whole, ok := s.reader.(*segment.MemoryView)
	if !ok {
		p := part{Segment: s, reader: s.reader, base: s.base}
		v.parts, v.places = append(v.parts, p), append(v.places, cache.Place{Segment: s.home.number})
		return
	}
	head, docs := s.home.divide(whole), whole.Docs()
	first := head.Docs()
	v.parts = append(v.parts, part{Segment: s, reader: head, memory: head, base: s.base})
	v.places = append(v.places, cache.Place{Segment: s.home.listsKey(), Docs: first})
	if first == docs {
		return
	}
	tail := whole.Tail(s.home.tails)
	v.parts = append(v.parts, part{Segment: s, reader: tail, tail: tail, base: s.base + first, accept: s.deleted.acceptFrom(first, docs)})
	v.places = append(v.places, cache.Place{Segment: s.home.tailsKey(), First: first, Docs: docs})
	v.tailed = true
}

// divide returns the head of a segment in memory of which the next view shows whole. All documents
// with updates are in the head. The caller holds ix.mu.
func (s *liveSegment) divide(whole *segment.MemoryView) (head *segment.MemoryView) {
	if s.head == nil || s.updatable > s.head.Docs() || whole.Docs()-s.head.Docs() > min(s.head.Docs()/tailShare, maxTailDocs) || s.head.Docs() < undividedDocs {
		s.head, s.tails = whole, segment.NewTailLists(whole.Docs())
	}
	return s.head
}

// joinTails publishes the current segments without tails, unless something else is being published.
func (ix *Index) joinTails() {
	if !ix.mu.TryLock() {
		return
	}
	defer ix.mu.Unlock()
	for _, s := range ix.segments {
		s.head = nil
	}
	ix.publish()
}

// Segments implements plan.Index.
func (v *View) Segments() int { return len(v.parts) }

// Segment implements plan.Index.
func (v *View) Segment(i int) plan.Segment { return &v.parts[i] }

// PartOf returns the number of the part with a document, for Segment.
func (v *View) PartOf(doc uint32) int {
	i := len(v.parts) - 1
	for v.parts[i].base > doc {
		i--
	}
	return i
}

// Reader implements plan.Segment.
func (p *part) Reader() plan.Reader { return p.reader }

// Base implements plan.Segment.
func (p *part) Base() uint32 { return p.base }

// Accept implements plan.Segment.
func (p *part) Accept() []uint64 {
	if p.tail != nil {
		return p.accept
	}
	return p.deleted.acceptBits(p.reader.Docs())
}

// Settle implements plan.Index.
func (v *View) Settle(_, _ int, lists []*cache.List) {
	v.ix.lists.Settle(lists)
	if v.tailed && v.searched.Add(1) == joinSearches && v.ix.current.Load() == v {
		v.ix.joinTails()
	}
}

// List implements plan.Index.
func (v *View) List(i int, field, term string) (*cache.List, error) {
	p := &v.parts[i]
	at := v.places[i]
	key := cache.Key{Segment: at.Segment, Field: field, Term: term}
	switch {
	case p.tail != nil:
		return v.ix.lists.Growing(key, at.First, at.Docs, -1, func() (*postings.List, error) { return p.tail.List(field, term) })
	case p.memory != nil:
		n, known := p.memory.Postings(field, term)
		if !known {
			n = -1
		}
		return v.ix.lists.Growing(key, 0, at.Docs, n, func() (*postings.List, error) { return p.memory.List(field, []byte(term)) })
	}
	return v.ix.lists.Get(key, func() (*postings.List, error) {
		l, err := p.home.disk.List(field, []byte(term))
		return l, p.home.at(err)
	})
}

// Cached implements plan.Index.
func (v *View) Cached(i int, field string, term []byte) *cache.List {
	return v.ix.lists.Find(v.places[i].Segment, field, term)
}

// noList is the list of a term that a tail lacks.
var noList cache.List

// Lists implements plan.Index. With later it leaves out the list of a tail, which has probably grown:
// its length follows from those of the whole segment and of the head.
func (v *View) Lists(field, term string, into []*cache.List, step int, later bool) (inTail int, err error) {
	if v.ix.lists.Together(field, term, v.places, into, step) == len(v.parts) {
		return 0, nil
	}
	for i := range v.parts {
		if into[i*step] != nil {
			continue
		}
		if p := &v.parts[i]; later && p.tail != nil && i == len(v.parts)-1 {
			if all, known := p.Segment.reader.(*segment.MemoryView).Postings(field, term); known {
				if head := into[(i-1)*step].Postings; head != nil {
					all -= head.Count
				}
				if all == 0 {
					into[i*step] = &noList
				}
				return all, nil
			}
		}
		if into[i*step], err = v.List(i, field, term); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// LastHasAll implements plan.Index. It knows the documents of a tail.
func (v *View) LastHasAll(field string, terms []string) bool {
	p := &v.parts[len(v.parts)-1]
	return p.tail == nil || p.tail.HasAll(field, terms)
}

// filterDocs is the fewest documents of a part for which filters are cached. In smaller ones, making
// a filter takes about as long as finding it.
const filterDocs = 4096

// filterText adds to the description of a filter how many updates the fields had that it names. Its documents
// may differ from one number to the next.
func (p *part) filterText(filter string) string {
	for _, name := range p.updates.names() {
		if strings.Contains(filter, name) {
			filter = fmt.Sprintf("%s\x00%s\x00%d", filter, name, p.updates.fields[name].number)
		}
	}
	return filter
}

// Filter implements plan.Index.
func (v *View) Filter(i int, filter string) *cache.Filter {
	p := &v.parts[i]
	docs := p.reader.Docs()
	if docs < filterDocs {
		return nil
	}
	return v.ix.lists.Filter(p.home.filtersKey(), p.filterText(filter), docs, p.Accept())
}

// UseFilter implements plan.Index.
func (v *View) UseFilter(i int, filter string) bool {
	p := &v.parts[i]
	return p.reader.Docs() < filterDocs || v.ix.lists.UseFilter(p.home.filtersKey(), p.filterText(filter))
}

// KeepFilter implements plan.Index.
func (v *View) KeepFilter(i int, filter string, f *cache.Filter) {
	if p := &v.parts[i]; p.reader.Docs() >= filterDocs {
		v.ix.lists.KeepFilter(p.home.filtersKey(), p.filterText(filter), f, p.Accept())
	}
}

// Matching implements plan.Index.
func (v *View) Matching(i int, field string, pattern segment.Pattern, visit func(*segment.Match) error) error {
	p := &v.parts[i]
	switch {
	case p.tail != nil:
		return p.tail.Matching(field, pattern, visit)
	case p.memory != nil:
		return p.memory.Matching(field, pattern, visit)
	}
	return p.home.at(p.home.disk.Matching(field, pattern, visit))
}

// Frequent implements plan.Index.
func (v *View) Frequent(i int, field string, pattern segment.Pattern, n int) ([]segment.TermCount, error) {
	p := &v.parts[i]
	switch {
	case p.tail != nil:
		return p.tail.Frequent(field, pattern, n)
	case p.memory != nil:
		return p.memory.Frequent(field, pattern, n)
	}
	found, err := p.home.disk.Frequent(field, pattern, n)
	return found, p.home.at(err)
}

// Lookup implements plan.Index.
func (v *View) Lookup(i int, id string) (doc uint32, ok bool, err error) {
	p := &v.parts[i]
	if p.memory != nil {
		return p.memory.Lookup(id)
	}
	doc, ok, err = p.Segment.reader.Lookup(id)
	if p.tail != nil {
		first := p.base - p.Segment.base
		return doc - first, ok && doc >= first, nil
	}
	return doc, ok, p.home.at(err)
}

// Stored implements plan.Index.
func (v *View) Stored(id string, names []string) (fields map[string]any, ok bool, err error) {
	segment, doc, err := v.Find(context.Background(), id) // a look-up in each segment: too short to cancel
	if errors.Is(err, ErrNotFound) {
		return nil, false, nil
	}
	if err == nil {
		fields, err = v.SegmentAt(segment).Fields(doc, names)
	}
	return fields, err == nil, err
}

// Column implements plan.Index.
func (v *View) Column(i int, field string) (*columns.Column, error) {
	p := &v.parts[i]
	switch {
	case p.tail != nil:
		return p.tail.Column(field) // see divide: its documents have no updates
	case p.memory != nil:
		c, err := p.memory.Column(field)
		return p.updated(field, c, err)
	}
	c, err := v.ix.lists.Values(p.home.valuesKey(), field, p.home.disk.HoldColumn)
	if c != nil && c.OrderDue() {
		v.sortColumn(c)
	}
	return p.updated(field, c, err)
}

// orderShare: an order may take 1/orderShare of the cache's budget, so that it does not evict all else.
const orderShare = 8

// sortColumn makes the order of a column in the background. An error comes back when the column is read
// for a search.
func (v *View) sortColumn(c *columns.Column) {
	_, budget := v.ix.lists.Bytes()
	if 4*int64(c.SegmentDocs()) > budget/orderShare || v.ix.Begin() != nil {
		return
	}
	v.Ref()
	v.ix.work.Go(func() {
		defer v.Release()
		_ = c.Sort(v.ix.background)
	})
}

// updated returns the column of a field with the updates of the segment.
func (p *part) updated(field string, c *columns.Column, err error) (*columns.Column, error) {
	if f := p.updates.field(field); f != nil && err == nil {
		c, err = f.column(c, p.reader.Docs())
	}
	return c, p.home.at(err)
}

// Norms implements plan.Index.
func (v *View) Norms(i int, field string) ([]uint8, *blockmax.LazyNorms, error) {
	p := &v.parts[i]
	if p.tail != nil {
		norms, err := p.tail.Norms(field)
		return norms, nil, err
	}
	var n segment.Norms
	var err error
	if p.memory != nil {
		n, err = p.memory.Norms(field)
	} else {
		n, err = p.home.disk.LazyNorms(field)
	}
	if err != nil {
		return nil, nil, p.home.at(err)
	}
	if !n.Sparse() {
		return n.Column(), n.Lazy(), nil
	}
	sparse := n // keeps n from escaping
	return v.ix.lists.Column(p.home.columnKey(), field, p.reader.Docs(), sparse.Expand), nil, nil
}
