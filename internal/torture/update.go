package main

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/riffle-search/riffle"
)

// price, label and spot are the fields that Batch.Update changes. Their values live in columns alone, so that
// ranges and sorting read what an update has written. A document may have several labels, in ascending
// order, in which an index returns those of an update.
const price, label = "price", "label"

var updatable = []string{price, label, spot}

// withUpdatable adds the fields that updates can change to those of a schema.
func withUpdatable(fields map[string]riffle.Field) map[string]riffle.Field {
	fields[price] = riffle.Field{Type: riffle.FieldNumber, NoIndex: true, Column: riffle.ColumnStored}
	fields[spot] = riffle.Field{Type: riffle.FieldPlace}
	fields[until] = riffle.Field{Type: riffle.FieldDate}
	fields[label] = riffle.Field{Type: riffle.FieldKeyword, NoIndex: true, Column: riffle.ColumnStored}
	return fields
}

// price is a whole number or a fraction.
func (r random) price() any {
	n := r.IntN(30)
	if r.IntN(4) == 0 {
		return float64(n) + 0.125
	}
	return int64(n)
}

// labels are one label, or several. Some are rare, so that a segment's dictionary lacks the new one.
func (r random) labels() any {
	var all []any
	for n := r.IntN(30); len(all) < 3; n += 1 + r.IntN(5) {
		if all = append(all, fmt.Sprintf("label %02d", n)); r.IntN(3) > 0 {
			break
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return all
}

// update makes new values for some of the fields that updates can change; nil is none.
func (r random) update() document {
	d := document{}
	if r.IntN(4) > 0 {
		d[price] = r.price()
	}
	if len(d) == 0 || r.IntN(2) == 0 {
		d[label] = r.labels()
	}
	if r.IntN(3) == 0 {
		d[spot] = r.spot()
	}
	if r.IntN(5) == 0 {
		d[updatable[r.IntN(len(updatable))]] = nil
	}
	return d
}

// updated returns a document as an update makes it.
func (d document) updated(fields document) document {
	d = maps.Clone(d)
	for name, value := range fields {
		if d[name] = value; value == nil {
			delete(d, name)
		}
	}
	return d
}

// updateTo returns the update that makes d the document to, if there is one.
func (d document) updateTo(to document) (update document, ok bool) {
	update = document{}
	for _, name := range updatable {
		if !reflect.DeepEqual(d[name], to[name]) {
			update[name] = to[name]
		}
	}
	return update, reflect.DeepEqual(d.updated(update), to)
}

// lead adds the change that makes a document, of which there may be none so far, the document to.
func lead(b *riffle.Batch, id string, from, to document) {
	if from != nil {
		if update, ok := from.updateTo(to); ok {
			b.Update(id, map[string]any(update))
			return
		}
	}
	b.Put(id, map[string]any(to))
}

// inRange reports whether a value of a field of columns is in a range with both bounds.
func (d document) inRange(q riffle.Range) bool {
	values, several := d[q.Field].([]any)
	if value, ok := d[q.Field]; ok && !several {
		values = []any{value}
	}
	return slices.ContainsFunc(values, func(v any) bool {
		return compare(v, q.From) >= 0 && compare(v, q.To) < 0
	})
}

// compare compares two strings or two small numbers.
func compare(a, b any) int {
	if a, ok := a.(string); ok {
		return cmp.Compare(a, b.(string))
	}
	number := func(v any) float64 {
		if n, ok := v.(int64); ok {
			return float64(n)
		}
		return v.(float64)
	}
	return cmp.Compare(number(a), number(b))
}

// rangeQuery makes a range of prices or labels, which often is empty.
func (r random) rangeQuery() riffle.Query {
	from := int64(r.IntN(30))
	to := from + int64(r.IntN(12))
	if r.IntN(2) == 0 {
		return riffle.Range{Field: price, From: from, To: to}
	}
	return riffle.Range{Field: label, From: fmt.Sprintf("label %02d", from), To: fmt.Sprintf("label %02d", to)}
}

// sameOrder compares the documents sorted by price with those of a model.
func sameOrder(s *riffle.Snapshot, m model) error {
	want := slices.DeleteFunc(m.ids(), func(id string) bool { return m[id][price] == nil })
	slices.SortStableFunc(want, func(a, b string) int { return compare(m[b][price], m[a][price]) })
	priced := len(want)
	for _, id := range m.ids() {
		if m[id][price] == nil {
			want = append(want, id)
		}
	}
	r, err := s.Search(background, riffle.All{}, &riffle.SearchOptions{
		K: riffle.MaxK, Sort: []riffle.SortKey{{Field: price, Desc: true}, {ID: true}}, Load: []string{price},
	})
	if err != nil {
		return err
	}
	if len(r.Hits) != len(want) {
		return wrongf("sorted by price: %d hits, want %d", len(r.Hits), len(want))
	}
	for i, h := range r.Hits {
		value := m[want[i]][price]
		if h.ID != want[i] || i < priced && compare(h.Sort[0], value) != 0 || i >= priced && h.Sort[0] != nil ||
			!reflect.DeepEqual(h.Fields[price], value) {
			return wrongf("sorted by price: hit %d is %q with %v, stored %v; want %q with %v",
				i, h.ID, h.Sort[0], h.Fields[price], want[i], value)
		}
	}
	return nil
}

// update changes some documents, and updates ids that have none, which changes nothing.
func (w *world) update(rng random) error {
	b, next := new(riffle.Batch), maps.Clone(w.now)
	for range 1 + rng.IntN(30) {
		w.updateOne(rng, b, next)
	}
	b.Position = next.position()
	if err := w.both(func(s *side) error { return s.apply(b, w.now) }); err != nil {
		return err
	}
	w.now = next
	return w.show(func(_ *side, snap *riffle.Snapshot) error { return sameOrder(snap, w.now) })
}

// updateOne adds an update to a batch that leads to a model, and to the model.
func (w *world) updateOne(rng random, b *riffle.Batch, next model) {
	id, fields := rng.id(150), rng.update()
	b.Update(id, map[string]any(fields))
	if d, ok := next[id]; ok {
		next[id] = d.updated(fields)
	}
}
