package bleve

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/riffle-search/riffle"
	names "github.com/riffle-search/riffle/analysis/bleve"
)

// Schema returns the schema by which riffle indexes the documents that the mapping is for, and lists
// what of the mapping it does not say. It is for programs that use riffle's own queries; the indexes of
// this package do not need it.
//
// A field of places reads what bleve reads, but refuses texts that are no geohash, and coordinates out of range.
func (m *Mapping) Schema() (*riffle.Schema, []Problem) {
	b := schemaBuilder{m: m, problems: slices.Clone(m.problems), from: map[string]string{}}
	b.schema = &riffle.Schema{Fields: map[string]riffle.Field{}, Analyzers: maps.Clone(m.declarations), Analyzer: analyzerName(m, m.analyzer)}
	if name := m.byDefault.DefaultAnalyzer; name != "" {
		b.schema.Analyzer = analyzerName(m, name)
	}
	b.add("default_mapping", nil, m.byDefault)
	for _, name := range slices.Sorted(maps.Keys(m.types)) {
		b.add(fmt.Sprintf("types[%q]", name), nil, m.types[name])
	}
	b.dynamic()
	if m.defaultField == allField {
		b.problem("default_field", "there is no field of all fields: search several by riffle.Match.Fields, or declare one with CopyFrom")
	}
	return b.schema, b.problems
}

// analyzerName returns riffle's name of an analyzer.
func analyzerName(m *Mapping, name string) string {
	if same := m.sameAs[name]; same != "" {
		return "bleve/" + same
	}
	if m.declarations[name].Tokenizer.Type == "" && slices.Contains(names.Names(), name) {
		return "bleve/" + name
	}
	return name
}

// A schemaBuilder makes the schema of a mapping.
type schemaBuilder struct {
	m        *Mapping
	schema   *riffle.Schema
	problems []Problem
	from     map[string]string // where a field is mapped
}

func (b *schemaBuilder) problem(path, reason string) {
	b.problems = append(b.problems, Problem{path, reason})
}

// dynamic chooses the rule for fields without a mapping.
func (b *schemaBuilder) dynamic() {
	roots := append(slices.Collect(maps.Values(b.m.types)), b.m.byDefault)
	some := slices.ContainsFunc(roots, func(d *documentMapping) bool { return d.Enabled && d.Dynamic })
	every := !slices.ContainsFunc(roots, func(d *documentMapping) bool { return !d.Enabled || !d.Dynamic })
	switch {
	case !some || !b.m.indexDynamic && !b.m.storeDynamic:
		b.schema.Dynamic = riffle.DynamicIgnore
	case !b.m.indexDynamic:
		b.schema.Dynamic = riffle.DynamicStore
	default:
		b.problem("default_datetime_parser", "strings without a mapping are text, also those that look like dates")
	}
	if some && !every {
		b.problem("types", "one rule holds for the fields without a mapping of all types: they are indexed")
	}
}

// add adds the fields of a property and of those within it.
func (b *schemaBuilder) add(at string, path []string, d *documentMapping) {
	name := strings.Join(path, ".")
	if !d.Enabled {
		if len(path) == 0 {
			b.problem(at+".enabled", "documents of the type must be left out, or not be indexed")
			return
		}
		b.problem(at+".enabled", "members of an object there are not ignored")
		b.declare(at, name, riffle.Field{NoIndex: true, NoStore: true})
		return
	}
	if len(path) > 0 && d.DefaultAnalyzer != "" && d.Dynamic {
		b.problem(at+".default_analyzer", "it holds only for fields with a mapping")
	}
	own := false
	for i, f := range d.Fields {
		place := fmt.Sprintf("%s.fields[%d]", at, i)
		field, ok := b.field(place, path, f)
		if !ok {
			continue
		}
		if as := f.fieldName(path); as != name {
			if f.Type != "text" {
				b.problem(place+".name", "only texts can be indexed under another name")
				continue
			}
			field = riffle.Field{Type: riffle.FieldText, Analyzer: field.Analyzer, Positions: field.Positions, CopyFrom: []string{name}}
			if f.Analyzer != "" {
				field.Analyzer = analyzerName(b.m, f.Analyzer)
			}
			b.declare(place, as, field)
			continue
		}
		own = true
		b.declare(place, name, field)
	}
	if len(d.Fields) > 0 && !own {
		b.declare(at, name, riffle.Field{NoIndex: true, NoStore: true})
	}
	for _, p := range slices.Sorted(maps.Keys(d.Properties)) {
		b.add(fmt.Sprintf("%s.properties[%q]", at, p), append(path[:len(path):len(path)], p), d.Properties[p])
	}
}

// field returns the counterpart of a field mapping, if there is one.
func (b *schemaBuilder) field(at string, path []string, f *fieldMapping) (field riffle.Field, ok bool) {
	field = riffle.Field{NoIndex: !f.Index, NoStore: !f.Store}
	switch f.Type {
	case "text":
		name := f.Analyzer
		if name == "" {
			w := walker{m: b.m, root: b.m.byDefault}
			for _, root := range b.m.types {
				if exact, _ := root.find(path); exact != nil {
					w.root = root
				}
			}
			name = w.analyzer(f, path)
		}
		if _, lacks := b.m.unmade[name]; lacks {
			return field, false
		}
		if analyzerName(b.m, name) == "bleve/keyword" {
			field.Type = riffle.FieldKeyword
			return field, true
		}
		if field.Analyzer = analyzerName(b.m, name); !f.TermVectors {
			field.Positions = riffle.PositionsNone
		}
	case "number":
		field.Type = riffle.FieldNumber
	case "boolean":
		field.Type = riffle.FieldBool
	case "geopoint":
		field.Type = riffle.FieldPlace
	case "datetime":
		if field.Type = riffle.FieldDate; f.DateFormat != "" && f.DateFormat != defaultParser {
			b.problem(at+".date_format", "strings are read as RFC 3339 or as a date alone; put others as a time.Time")
		}
	default:
		return field, false // listed when the mapping was read
	}
	return field, true
}

// declare adds a field, unless another mapping has made it otherwise.
func (b *schemaBuilder) declare(at, name string, f riffle.Field) {
	if before, ok := b.schema.Fields[name]; ok {
		if fmt.Sprint(before) != fmt.Sprint(f) {
			b.problem(at, fmt.Sprintf("field %q is mapped otherwise by %s, which counts: an index has one schema", name, b.from[name]))
		}
		return
	}
	b.schema.Fields[name], b.from[name] = f, at
}
