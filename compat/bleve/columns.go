package bleve

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sync"

	"github.com/riffle-search/riffle"
)

// Columns have what sorting and queries for places need of a document: riffle has none for the encoded
// values of a field. A field whose values are numbers or single terms, with docvalues in the mapping, has two:
// one of whole numbers and dates, as the integers of value.sortable, and one of all other terms. A document
// has the least and the greatest in one of them. A field of places has a column of points.
//
// Documents of builds before columns have none, nor have those that were put with another mapping. So each
// document has a value that stands for the columns it was made with (columnsField).
func numberColumn(field string) string { return field + separator + "n" }
func termColumn(field string) string   { return field + separator + "k" }
func placeColumn(field string) string  { return field + separator + "p" }

// oddColumn says that a document has several places in a field, or numbers, which bleve sorts as places.
func oddColumn(field string) string { return field + separator + "o" }

const columnsField = separator + "columns"

// columnFields are the fields of a mapping that have columns.
type columnFields struct {
	sorted []string // of terms
	places []string
	inAll  []string // of places
	text   string   // that stands for all
}

// placeFields returns the fields of places in which a query for a field looks.
func (c *columnFields) placeFields(field string) []string {
	if field == allField {
		return c.inAll
	}
	if slices.Contains(c.places, field) {
		return []string{field}
	}
	return nil
}

// findColumns sets the fields that have columns. A field has one for sorting only if it has one in all
// mappings.
func (m *Mapping) findColumns() {
	sorted, places := map[string]bool{}, map[string]bool{}
	var visit func(root, d *documentMapping, path []string)
	visit = func(root, d *documentMapping, path []string) {
		if !d.Enabled {
			return
		}
		w := walker{m: m, root: root}
		for _, f := range d.Fields {
			name := f.fieldName(path)
			if f.Type == "geopoint" {
				if f.Index {
					places[name] = places[name] || f.InAll
				}
				continue
			}
			ok := f.DocValues && f.Index && (f.Type != "text" || m.oneTerm(w.analyzer(f, path)))
			if before, is := sorted[name]; is {
				ok = ok && before
			}
			sorted[name] = ok
		}
		for name, p := range d.Properties {
			visit(root, p, append(path[:len(path):len(path)], name))
		}
	}
	for _, root := range append(slices.Collect(maps.Values(m.types)), m.byDefault) {
		visit(root, root, nil)
	}
	c := &m.columns
	for _, name := range slices.Sorted(maps.Keys(sorted)) {
		if sorted[name] && name != allField && name != idField {
			c.sorted = append(c.sorted, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(places)) {
		c.places = append(c.places, name)
		if places[name] {
			c.inAll = append(c.inAll, name)
		}
	}
	h := fnv.New64a()
	for _, list := range [][]string{c.sorted, c.places} {
		fmt.Fprintf(h, "%q", list)
	}
	c.text = fmt.Sprintf("%x", h.Sum(nil))
}

// oneTerm reports whether an analyzer makes of a text one term at most, as those for sorting do.
func (m *Mapping) oneTerm(analyzer string) bool {
	if same := m.sameAs[analyzer]; same != "" {
		analyzer = same
	} else if d, ok := m.declarations[analyzer]; ok {
		return d.Tokenizer.Type == "keyword"
	}
	return analyzer == "keyword"
}

// none reports whether documents have no columns.
func (c *columnFields) none() bool { return len(c.sorted)+len(c.places) == 0 }

// declare adds the columns to a schema.
func (c *columnFields) declare(fields map[string]riffle.Field) {
	if c.none() {
		return
	}
	column := func(t riffle.FieldType) riffle.Field {
		return riffle.Field{Type: t, NoIndex: true, NoStore: true, Column: riffle.ColumnStored}
	}
	fields[columnsField] = column(riffle.FieldKeyword)
	for _, name := range c.sorted {
		fields[numberColumn(name)], fields[termColumn(name)] = column(riffle.FieldNumber), column(riffle.FieldKeyword)
	}
	for _, name := range c.places {
		fields[placeColumn(name)], fields[oddColumn(name)] = column(riffle.FieldPlace), column(riffle.FieldBool)
	}
}

// addColumns adds the values of columns to those of a document.
func (m *Mapping) addColumns(to map[string]any, id string, values []value) {
	if m.columns.none() {
		return
	}
	to[columnsField] = m.columns.text
	all := make([]*value, len(values))
	for i := range values {
		all[i] = &values[i]
	}
	for _, name := range m.columns.places {
		var points []riffle.Point
		for _, v := range all {
			if v.field == name && v.kind == placeValue && v.indexed {
				points = append(points, v.place.point())
			}
		}
		if points != nil {
			to[placeColumn(name)] = points
		}
		if whole, _ := wholeTerms(m.termsOf(name, id, all)); len(whole) > 1 || len(whole) > len(points) {
			to[oddColumn(name)] = true
		}
	}
	for _, name := range m.columns.sorted {
		terms := m.termsOf(name, id, all)
		if len(terms) == 0 {
			continue
		}
		whole, coded := wholeTerms(terms)
		numbers := []int64{}
		for _, term := range whole {
			n := prefixDecoded(term)
			coded = coded && prefixCoded(n, 0) == term // a text may look like a number
			numbers = append(numbers, n)
		}
		if len(numbers) > 0 {
			to[numberColumn(name)] = ends(numbers)
		}
		if !coded || len(numbers) == 0 {
			to[termColumn(name)] = ends(terms)
		}
	}
}

// ends returns the first and the last of a list.
func ends[T comparable](list []T) []T {
	first, last := list[0], list[len(list)-1]
	if first == last {
		return []T{first}
	}
	return []T{first, last}
}

// A columnCache knows what the columns of an index have, as of one version of it.
type columnCache struct {
	sync.Mutex
	version uint64
	known   map[string]bool // what documents have some value in a column; columnsField if all have columns
}

// columnsOf tells what the columns of a snapshot have.
type columnsOf struct {
	x        *Index
	snapshot *riffle.Snapshot
}

// complete reports whether all documents have columns.
func (c columnsOf) complete(ctx context.Context) (bool, error) {
	return c.know(ctx, columnsField, func() (bool, error) {
		all, err := c.snapshot.Len()
		if err != nil || c.x.m.columns.none() {
			return false, err
		}
		n, err := c.snapshot.Count(ctx, riffle.Range{Field: columnsField, From: c.x.m.columns.text, To: c.x.m.columns.text, IncludeTo: true})
		return n == all, err
	})
}

// some reports whether a document has a value in a column.
func (c columnsOf) some(ctx context.Context, column string) (bool, error) {
	return c.know(ctx, column, func() (bool, error) {
		res, err := c.snapshot.Search(ctx, riffle.ConstantScore{Query: riffle.Exists{Field: column}}, &riffle.SearchOptions{K: 1})
		return err == nil && len(res.Hits) > 0, err
	})
}

// know returns what was found out about this version of the index, or finds it out.
func (c columnsOf) know(ctx context.Context, what string, find func() (bool, error)) (bool, error) {
	version, err := c.snapshot.Version()
	if err != nil {
		return false, err
	}
	cache := &c.x.cache
	cache.Lock()
	is, ok := cache.known[what]
	ok = ok && cache.version == version
	cache.Unlock()
	if ok {
		return is, nil
	}
	if is, err = find(); err != nil {
		return false, err
	}
	cache.Lock()
	defer cache.Unlock()
	if cache.version != version || cache.known == nil {
		cache.version, cache.known = version, map[string]bool{}
	}
	cache.known[what] = is
	return is, nil
}

// columnOf returns the column by which a key sorts, if one has the terms of all documents for it: "" is none.
func (c columnsOf) columnOf(ctx context.Context, k *sortKey) (string, error) {
	if !slices.Contains(c.x.m.columns.sorted, k.field) {
		return "", nil
	}
	numbers, err := c.some(ctx, numberColumn(k.field))
	if err != nil {
		return "", err
	}
	terms, err := c.some(ctx, termColumn(k.field))
	if err != nil || numbers && (terms || k.kind == stringTerms) { // numbers have shorter terms, too
		return "", err
	}
	if numbers || k.kind == numberTerms || k.kind == dateTerms {
		return numberColumn(k.field), nil
	}
	return termColumn(k.field), nil
}
