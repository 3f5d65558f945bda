package search

import (
	"context"
	"errors"
	"fmt"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/geo"
	"github.com/riffle-search/riffle/internal/plan"
)

// A SortKey is one key of a sorted search.
type SortKey struct {
	By           cpuexec.By
	Field        string     // ByColumn
	From         *geo.Point // ByColumn: sorts by the distance from it; or nil
	Mode         cpuexec.SortMode
	Desc         bool
	MissingFirst bool
}

// describe writes what a cursor's keys depend on.
func (k *SortKey) describe(dst []byte) []byte {
	dst = fmt.Appendf(dst, " %d %q %d %v %v", k.By, k.Field, k.Mode, k.Desc, k.MissingFirst)
	if k.From != nil {
		dst = fmt.Appendf(dst, " from %v", *k.From)
	}
	return dst
}

// Sorted reports whether the search has an order of its own.
func (x *Run) Sorted() bool { return len(x.settings.Sort) > 0 }

// Order returns the order of some keys on the view of the search. An error names a key as an element of
// part.
func (x *Run) Order(part string, keys []SortKey) (*cpuexec.Order, error) {
	o := &cpuexec.Order{ID: x.appendID}
	for i := range keys {
		k := &keys[i]
		if k.By == cpuexec.ByID && o.IDs == nil {
			o.IDs = x.idOrders()
		}
		key := cpuexec.SortKey{By: k.By, Mode: k.Mode, Desc: k.Desc, MissingFirst: k.MissingFirst}
		if k.By == cpuexec.ByColumn {
			var err error
			part := fmt.Sprintf("%s[%d].Field", part, i)
			if key.Columns, err = x.preparer.Columns(x.view, &x.settings.Settings, part, k.Field); err != nil {
				return nil, err
			}
			if k.From != nil {
				for _, c := range key.Columns {
					if c != nil && c.Kind() != columns.Place {
						return nil, plan.Errorf(part, "field %q has values that are not places", k.Field)
					}
				}
				from := geo.From(*k.From)
				key.From = &from
			}
		}
		o.Keys = append(o.Keys, key)
	}
	return o, nil
}

// CheckSort reports why a planned search cannot be sorted or collapsed, if that is so.
func (x *Run) CheckSort() error {
	if len(x.settings.Sort) > 0 {
		if _, err := x.Order("SearchOptions.Sort", x.settings.Sort); err != nil {
			return err
		}
	}
	if x.settings.Collapse == "" {
		return nil
	}
	_, err := x.preparer.Columns(x.view, &x.settings.Settings, "SearchOptions.Collapse.Field", x.settings.Collapse)
	return err
}

// idOrders returns the orders of the ids of the segments of the plan. Segments in memory have none: their
// documents change with each batch.
func (x *Run) idOrders() []cpuexec.IDOrder {
	orders := make([]cpuexec.IDOrder, x.view.Segments())
	for i := range orders {
		orders[i], _ = x.view.Segment(i).Reader().(cpuexec.IDOrder)
	}
	return orders
}

// appendID appends the id of a document of a segment of the plan.
func (x *Run) appendID(dst []byte, segment int, doc uint32) ([]byte, error) {
	doc += x.view.Segment(segment).Base()
	v, base := x.view.ViewAt(x.view.NumberOf(doc))
	s := v.SegmentOf(doc - base)
	return s.Reader().AppendID(dst, doc-base-s.Base())
}

// A sorting answers plans in an order, for a dispatcher.
type sorting struct {
	cpu    cpuexec.Parallel
	order  *cpuexec.Order
	by     cpuexec.Grouping // without columns: none
	answer *sorted
}

// A sorted is the answer to a sorted search.
type sorted struct {
	places []cpuexec.Place
	groups []cpuexec.Group // parallel to places, if matches are collapsed
	count  int             // of all groups
	all    []cpuexec.GroupSize
}

// TopK implements dispatch.CPU.
func (s sorting) TopK(ctx context.Context, p *blockmax.Plan) (blockmax.TopK, error) {
	if s.by.Columns != nil {
		return s.collapse(ctx, p)
	}
	found, err := s.cpu.Sort(ctx, p, s.order)
	if err != nil {
		return blockmax.TopK{}, err
	}
	s.answer.places = found.Places
	top := blockmax.TopK{Total: found.Total, Exact: found.Exact, Work: found.Work}
	top.Hits = hitsAt(found.Places)
	return top, nil
}

// collapse is TopK for the first match of each group.
func (s sorting) collapse(ctx context.Context, p *blockmax.Plan) (blockmax.TopK, error) {
	found, err := s.cpu.Collapse(ctx, p, s.order, s.by)
	var limit *cpuexec.GroupLimitError
	if errors.As(err, &limit) {
		err = plan.Errorf("SearchOptions.Collapse", "%w (Options.CollapseBytes)", err)
	}
	if err != nil {
		return blockmax.TopK{}, err
	}
	s.answer.groups, s.answer.count, s.answer.all = found.Groups, found.Count, found.All
	s.answer.places = make([]cpuexec.Place, len(found.Groups))
	for i := range found.Groups {
		s.answer.places[i] = found.Groups[i].Place
	}
	return blockmax.TopK{Hits: hitsAt(s.answer.places), Total: found.Total, Exact: true, Work: found.Work}, nil
}

func hitsAt(places []cpuexec.Place) []blockmax.Hit {
	hits := make([]blockmax.Hit, len(places))
	for i := range places {
		hits[i] = blockmax.Hit{Doc: places[i].Doc, Score: places[i].Score}
	}
	return hits
}

// Group returns the value of a hit's group, nil for that of documents without one, and the size of the
// group.
func (x *Run) Group(c Cursor) (value any, size int) {
	groups := x.answer.groups
	g := &groups[len(groups)-len(c.page.places)+int(c.hit)]
	if !g.Value.Missing {
		value = g.Value.Value.Any()
	}
	return value, g.Size
}

// EachGroup calls visit with all groups, of a search with Settings.AllGroups, and whether they are before the
// cursor. A group without a value has nil.
func (x *Run) EachGroup(visit func(value any, size int, before bool)) {
	for _, g := range x.answer.all {
		var value any
		if !g.Value.Missing {
			value = g.Value.Value.Any()
		}
		visit(value, g.Size, g.Before)
	}
}

// Groups returns the number of groups, of a search with Settings.Collapse.
func (x *Run) Groups() int { return x.answer.count }

// Finish implements dispatch.CPU.
func (s sorting) Finish(ctx context.Context, p *blockmax.Plan, _ *blockmax.Partial) (blockmax.TopK, error) {
	return s.TopK(ctx, p)
}

// submitSorted submits a sorted search if it has a deadline.
func (x *Run) submitSorted() (err error) {
	o := &x.settings
	order, err := x.Order("SearchOptions.Sort", o.Sort)
	if err != nil {
		return err
	}
	order.After, order.Ties = x.after, x.ties
	x.sorting = sorting{cpu: o.CPU, order: order, answer: &x.answer}
	if o.Collapse != "" {
		if x.sorting.by.Columns, err = x.preparer.Columns(x.view, &o.Settings, "SearchOptions.Collapse.Field", o.Collapse); err != nil {
			return err
		}
		x.sorting.by.Bytes, x.sorting.by.All = o.CollapseBytes, o.AllGroups
	}
	if o.Due.IsZero() {
		return nil
	}
	alone := x.sorting
	alone.cpu.Pool = nil
	q := accelerator.Query{Plan: &x.compiled.Plan, CPU: x.sorting, Whole: alone, On: accelerator.OnCPU, Due: o.Due, FailLate: o.FailLate, Decision: x.decision()}
	if a := x.searcher.accelerator; a != nil {
		x.ticket, err = a.Submit(q)
	} else {
		x.ticket, err = x.searcher.onCores().Submit(q)
	}
	x.waiting = err == nil
	return err
}

// sortedName names what sorted a search: "cpu/sort", or "cpu/sort/adaptive" if other cores helped.
func (x *Run) sortedName(w blockmax.Work) string {
	if w.Tasks == 0 || x.settings.CPU.Pool == nil {
		return "cpu/sort"
	}
	return "cpu/sort/" + x.settings.CPU.Policy.String()
}

// Keys returns what a hit of the run has for the keys of the order: its value, or nil if it has none, its
// id or its public score.
func (x *Run) Keys(c Cursor) []any {
	if c.page.places == nil {
		return nil
	}
	return x.KeysOf(x.settings.Sort, c.page.places[c.hit].Keys)
}

// KeysOf is Keys for what a document has for the keys of another order.
func (x *Run) KeysOf(sort []SortKey, has []cpuexec.KeyValue) []any {
	keys := make([]any, len(has))
	for i, k := range has {
		switch sort[i].By {
		case cpuexec.ByScore:
			keys[i] = float64(k.Value.Key) / x.compiled.Scale
		case cpuexec.ByID:
			keys[i] = k.Value.Term
		default:
			if !k.Missing {
				keys[i] = k.Value.Any()
			}
		}
	}
	return keys
}
