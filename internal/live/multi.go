package live

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/segment"
)

// A Multi is the views of several indexes as one. It has their segments in the order of the views,
// and numbers the documents through. So a plan has the statistics, the terms, the order and the
// threshold of one index with all documents. Each segment keeps the caches of its own index.
//
// A Multi holds no reference: its caller holds the views.
type Multi struct {
	views []*View
	names []string    // of the indexes, for errors
	bases []uint32    // by view: number of its first document
	parts []multiPart // of all views
	first []int       // by view: number of its first part; at the end, the number of all
	last  int         // the last view that has a part
}

// A multiPart is a part of one of the views.
type multiPart struct {
	*part
	view int    // number of the view
	base uint32 // number of the part's first document in the Multi
	m    *Multi
}

// MultiOf returns a Multi of views of indexes, each with its name.
func MultiOf(views []*View, names []string) (*Multi, error) {
	m := &Multi{views: views, names: names}
	docs := uint64(0)
	for i, v := range views {
		if most := v.ix.opts.MaxDocs; i > 0 && docs+uint64(v.docs) > most {
			return nil, fmt.Errorf("the engines have more than %d documents together, deleted ones included", most)
		}
		base := uint32(docs)
		m.bases = append(m.bases, base)
		m.first = append(m.first, len(m.parts))
		for p := range v.parts {
			m.parts = append(m.parts, multiPart{part: &v.parts[p], view: i, base: base + v.parts[p].base, m: m})
			m.last = i
		}
		docs += uint64(v.docs)
	}
	m.first = append(m.first, len(m.parts))
	return m, nil
}

// Named adds the name of an index to an error.
func (m *Multi) Named(number int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("engine %q: %w", m.names[number], err)
}

// Named returns an error of the only index.
func (v *View) Named(_ int, err error) error { return err }

// ViewAt returns a view by its number, with the number of its first document, or nil.
func (m *Multi) ViewAt(number int) (v *View, base uint32) {
	if number < 0 || number >= len(m.views) {
		return nil, 0
	}
	return m.views[number], m.bases[number]
}

// ViewAt returns the view itself, which is number 0.
func (v *View) ViewAt(number int) (*View, uint32) {
	if number != 0 {
		return nil, 0
	}
	return v, 0
}

// NumberOf returns the number of the view that has a document.
func (m *Multi) NumberOf(doc uint32) int { return m.parts[m.PartOf(doc)].view }

// NumberOf returns 0, the number of the only view.
func (v *View) NumberOf(uint32) int { return 0 }

// PartOf returns the number of the part with a document, for Segment.
func (m *Multi) PartOf(doc uint32) int {
	i, found := slices.BinarySearchFunc(m.parts, doc, func(p multiPart, doc uint32) int {
		if p.base < doc {
			return -1
		}
		return int(min(p.base-doc, 1))
	})
	if !found {
		i--
	}
	return i
}

// Base implements plan.Segment.
func (p *multiPart) Base() uint32 { return p.base }

// At implements plan.Segment.
func (p *multiPart) At(err error) error { return p.m.Named(p.view, p.part.At(err)) }

// Segments implements plan.Index.
func (m *Multi) Segments() int { return len(m.parts) }

// Segment implements plan.Index.
func (m *Multi) Segment(i int) plan.Segment { return &m.parts[i] }

// of returns the view of a part, and the number of the part there.
func (m *Multi) of(part int) (v *View, number int) {
	view := m.parts[part].view
	return m.views[view], part - m.first[view]
}

// named adds the name of the index that has a part to an error.
func (m *Multi) named(part int, err error) error { return m.Named(m.parts[part].view, err) }

// field adds up the statistics of a field.
func (m *Multi) field(name string) *fieldTotals {
	sum := new(fieldTotals)
	for _, v := range m.views {
		t := v.field(name)
		sum.docs += t.docs
		sum.norms = sum.norms || t.norms
		if tokens, over := bits.Add64(sum.tokens, t.tokens, 0); over == 0 {
			sum.tokens = tokens
		} else {
			sum.tokens = math.MaxUint64 // as in View.field
		}
	}
	return sum
}

// Field implements plan.Index.
func (m *Multi) Field(name string, sim blockmax.BM25) (docs uint64, table *blockmax.Table) {
	t := m.field(name)
	return t.docs, t.tableAt(sim, t.average(), &m.views[0].ix.tables)
}

// Table implements plan.Index.
func (m *Multi) Table(name string, sim blockmax.BM25, average float64) *blockmax.Table {
	return m.field(name).tableAt(sim, average, &m.views[0].ix.tables)
}

// LengthTable implements plan.Index.
func (m *Multi) LengthTable(sim blockmax.BM25, average float64) *blockmax.Table {
	return m.views[0].LengthTable(sim, average)
}

// Tokens implements plan.Index.
func (m *Multi) Tokens(name string) uint64 { return m.field(name).tokens }

// Totals implements plan.Index.
func (m *Multi) Totals(name string) (docs, tokens uint64) {
	t := m.field(name)
	if !t.norms {
		return t.docs, 0
	}
	return t.docs, t.tokens
}

// List implements plan.Index.
func (m *Multi) List(i int, field, term string) (*cache.List, error) {
	v, number := m.of(i)
	l, err := v.List(number, field, term)
	return l, m.named(i, err)
}

// Cached implements plan.Index.
func (m *Multi) Cached(i int, field string, term []byte) *cache.List {
	v, number := m.of(i)
	return v.Cached(number, field, term)
}

// Lists implements plan.Index.
func (m *Multi) Lists(field, term string, into []*cache.List, step int, later bool) (inLast int, err error) {
	for i, v := range m.views {
		if m.first[i] == m.first[i+1] {
			continue
		}
		if inLast, err = v.Lists(field, term, into[m.first[i]*step:], step, later && i == m.last); err != nil {
			return 0, m.Named(i, err)
		}
	}
	return inLast, nil
}

// LastHasAll implements plan.Index.
func (m *Multi) LastHasAll(field string, terms []string) bool {
	return m.views[m.last].LastHasAll(field, terms)
}

// Filter implements plan.Index.
func (m *Multi) Filter(i int, filter string) *cache.Filter {
	v, number := m.of(i)
	return v.Filter(number, filter)
}

// UseFilter implements plan.Index.
func (m *Multi) UseFilter(i int, filter string) bool {
	v, number := m.of(i)
	return v.UseFilter(number, filter)
}

// KeepFilter implements plan.Index.
func (m *Multi) KeepFilter(i int, filter string, f *cache.Filter) {
	v, number := m.of(i)
	v.KeepFilter(number, filter, f)
}

// Column implements plan.Index.
func (m *Multi) Column(i int, field string) (*columns.Column, error) {
	v, number := m.of(i)
	c, err := v.Column(number, field)
	return c, m.named(i, err)
}

// Norms implements plan.Index.
func (m *Multi) Norms(i int, field string) ([]uint8, *blockmax.LazyNorms, error) {
	v, number := m.of(i)
	norms, lazy, err := v.Norms(number, field)
	return norms, lazy, m.named(i, err)
}

// Matching implements plan.Index.
func (m *Multi) Matching(i int, field string, p segment.Pattern, visit func(*segment.Match) error) error {
	v, number := m.of(i)
	return m.named(i, v.Matching(number, field, p, visit))
}

// Frequent implements plan.Index.
func (m *Multi) Frequent(i int, field string, p segment.Pattern, n int) ([]segment.TermCount, error) {
	v, number := m.of(i)
	found, err := v.Frequent(number, field, p, n)
	return found, m.named(i, err)
}

// Lookup implements plan.Index.
func (m *Multi) Lookup(i int, id string) (doc uint32, ok bool, err error) {
	v, number := m.of(i)
	doc, ok, err = v.Lookup(number, id)
	return doc, ok, m.named(i, err)
}

// Stored implements plan.Index. Only one index may have the document.
func (m *Multi) Stored(id string, names []string) (fields map[string]any, ok bool, err error) {
	having := 0
	for i, v := range m.views {
		own, has, err := v.Stored(id, names)
		if err != nil {
			return nil, false, m.Named(i, err)
		}
		if !has {
			continue
		}
		if fields, ok = own, true; having > 0 {
			return nil, false, fmt.Errorf("%w: %q is in %q and %q", ErrAmbiguous, id, m.names[having-1], m.names[i])
		}
		having = i + 1
	}
	return fields, ok, nil
}

// Settle implements plan.Index: each view gets the lists of its own parts.
func (m *Multi) Settle(from, to int, lists []*cache.List) {
	if from == to {
		return
	}
	terms := len(lists) / (to - from)
	for i, v := range m.views {
		begin, end := max(from, m.first[i]), min(to, m.first[i+1])
		if begin < end {
			v.Settle(begin-m.first[i], end-m.first[i], lists[(begin-from)*terms:(end-from)*terms])
		}
	}
}
