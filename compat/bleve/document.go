package bleve

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Names of fields that bleve gives every document.
const (
	allField = "_all" // the terms of all fields whose mappings do not say otherwise
	idField  = "_id"
)

// plainField returns the name under which an index has the values of a field that have no places: numbers,
// dates, booleans, and texts that lack
// include_term_vectors: bleve finds words in them, but no phrases.
func plainField(field string) string { return field + separator }

// values returns the values of a document's fields. doc is what encoding/json makes of an object.
func (m *Mapping) values(doc any) []value {
	typ, _ := lookUp(doc, strings.Split(m.typeField, ".")).(string)
	if _, ok := lookUp(doc, strings.Split(m.typeField, ".")).(string); !ok {
		typ = m.defaultType
	}
	d := m.typed(typ)
	if !d.Enabled {
		return nil
	}
	w := walker{m: m, root: d, notInAll: map[string]bool{idField: true}}
	w.walk(doc, nil, nil)
	inAll := true
	if all, _ := d.find([]string{allField}); all != nil {
		inAll = all.Enabled
	}
	for i := range w.out {
		v := &w.out[i]
		v.inAll = inAll && v.indexed && !w.notInAll[v.field]
	}
	return w.out
}

// lookUp returns the value at a path of a document, or nil.
func lookUp(doc any, path []string) any {
	for _, name := range path {
		object, ok := doc.(map[string]any)
		if !ok {
			return nil
		}
		doc = object[name]
	}
	return doc
}

// A walker visits the properties of one document.
type walker struct {
	m        *Mapping
	root     *documentMapping
	out      []value
	notInAll map[string]bool // fields one of whose values is not in _all
}

// walk visits the members of an object, the elements of a list, or a value itself.
func (w *walker) walk(v any, path []string, places []uint64) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			w.property(v[name], append(path[:len(path):len(path)], name), places)
		}
	case []any:
		for i, element := range v {
			w.property(element, path, append(places[:len(places):len(places)], uint64(i)))
		}
	}
}

// property adds the values of the fields of a property.
func (w *walker) property(v any, path []string, places []uint64) {
	exact, closest := w.root.find(path)
	if exact != nil && !exact.Enabled {
		return
	}
	switch v := v.(type) {
	case nil:
	case map[string]any, []any:
		if exact != nil {
			for _, f := range exact.Fields {
				w.place(f, v, path, places) // an object or a pair may be a point, and has values of its own
			}
		}
		w.walk(v, path, places)
	default:
		if exact != nil {
			for _, f := range exact.Fields {
				w.field(f, v, path, places)
			}
		} else if closest.Dynamic {
			w.field(w.dynamic(v), v, path, places)
		}
	}
}

// dynamic returns the mapping of a value whose property has none.
func (w *walker) dynamic(v any) *fieldMapping {
	f := &fieldMapping{Store: w.m.storeDynamic, Index: w.m.indexDynamic, InAll: true}
	switch v := v.(type) {
	case string:
		f.Type, f.TermVectors = "text", true
		if parse := w.m.parsers[w.m.dates]; parse != nil {
			if _, _, ok := parse(v); ok {
				f.Type, f.TermVectors = "datetime", false
			}
		}
	case bool:
		f.Type = "boolean"
	default:
		f.Type = "number"
	}
	return f
}

// field adds a value of a field, unless the field is of another kind.
func (w *walker) field(f *fieldMapping, v any, path []string, places []uint64) {
	out := value{field: f.fieldName(path), stored: f.Store, indexed: f.Index, vectors: f.TermVectors, places: places}
	switch v := v.(type) {
	case string:
		switch f.Type {
		case "text":
			out.kind, out.text, out.how = textValue, v, w.analyzer(f, path)
		case "datetime":
			name := f.DateFormat
			if name == "" {
				name = w.m.dates
			}
			parse := w.m.parsers[name]
			if parse == nil {
				return
			}
			t, layout, ok := parse(v)
			if !ok || !representable(t) {
				return
			}
			out.kind, out.nanos, out.how = dateValue, t.UnixNano(), layout
		case "geopoint":
			w.place(f, v, path, places)
			return
		default:
			return
		}
	case float64:
		if f.Type != "number" {
			return
		}
		out.kind, out.number = numberValue, v
	case bool:
		if f.Type != "boolean" {
			return
		}
		out.kind, out.truth = boolValue, v
	default:
		return
	}
	w.add(f, out)
}

// place adds a value of a field of places, if it is a point.
func (w *walker) place(f *fieldMapping, v any, path []string, places []uint64) {
	if f.Type != "geopoint" {
		return
	}
	if lon, lat, ok := pointIn(v); ok {
		w.add(f, value{field: f.fieldName(path), kind: placeValue, stored: f.Store, indexed: f.Index, vectors: f.TermVectors, places: places, place: placeOf(lon, lat)})
	}
}

func (w *walker) add(f *fieldMapping, v value) {
	if !f.InAll {
		w.notInAll[v.field] = true
	}
	w.out = append(w.out, v)
}

func (w *walker) analyzer(f *fieldMapping, path []string) string {
	if f.Analyzer != "" {
		return f.Analyzer
	}
	if name := w.root.analyzerAt(path); name != "" {
		return name
	}
	return w.m.analyzer
}

// fields returns the fields of a riffle document: those of bleve's document, each value encoded.
func (m *Mapping) fields(id string, doc any) (map[string]any, error) {
	lists := map[string][]string{}
	values := m.values(doc)
	for _, v := range values {
		if reason, ok := m.unmade[v.how]; ok && v.kind == textValue && v.indexed {
			return nil, fmt.Errorf("field %q: analyzer %q: %s", v.field, v.how, reason)
		}
		if strings.Contains(v.how, separator) {
			return nil, fmt.Errorf("field %q: the layout of its date has a control character", v.field)
		}
		text, in, all := v.encode(), v.field, allField
		if v.indexed && (v.kind != textValue || !v.vectors) {
			in, all = plainField(in), plainField(all)
		}
		lists[in] = append(lists[in], text)
		if v.inAll {
			lists[all] = append(lists[all], text)
		}
	}
	name := value{kind: textValue, indexed: true, how: "keyword", text: id}
	lists[idField] = append(lists[idField], name.encode())
	fields := make(map[string]any, len(lists)+1)
	for name, list := range lists {
		fields[name] = list
	}
	m.addColumns(fields, id, values)
	return fields, nil
}
