package bleve

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/analysis"
)

// A Mapping is a bleve index mapping: which fields documents have, and how their values become terms.
// It is safe for concurrent use.
type Mapping struct {
	types        map[string]*documentMapping
	byDefault    *documentMapping // of documents whose type has no mapping of its own
	typeField    string
	defaultType  string
	analyzer     string // of fields that name none
	dates        string // name of the parser that finds dates among strings
	defaultField string // that queries without a field search
	storeDynamic bool
	indexDynamic bool
	declarations analysis.Declarations // the mapping's own analyzers
	analyzers    map[string]analysis.Analyzer
	sameAs       map[string]string // analyzers of bleve by the names that the mapping gives them
	unmade       map[string]string // analyzers that riffle lacks, with the reason
	parsers      map[string]dateParser
	unsupported  map[string]string // fields that are not searchable, with the reason
	columns      columnFields
	problems     []Problem
}

// A Problem is a part of a mapping that has no counterpart in riffle.
type Problem struct {
	Path   string // such as types["beer"].properties["at"].fields[0]
	Reason string
}

func (p Problem) String() string { return p.Path + ": " + p.Reason }

// A documentMapping is the mapping of a type of documents, or of a property of theirs.
type documentMapping struct {
	Enabled         bool                        `json:"enabled"`
	Dynamic         bool                        `json:"dynamic"`
	Properties      map[string]*documentMapping `json:"properties"`
	Fields          []*fieldMapping             `json:"fields"`
	DefaultAnalyzer string                      `json:"default_analyzer"`
	SynonymSource   string                      `json:"default_synonym_source"`
	Nested          bool                        `json:"nested"`
}

// UnmarshalJSON reads a mapping, in which enabled and dynamic are true unless they are false.
func (d *documentMapping) UnmarshalJSON(text []byte) error {
	type plain documentMapping
	*d = documentMapping{Enabled: true, Dynamic: true}
	return json.Unmarshal(text, (*plain)(d))
}

// A fieldMapping is one way to index the values of a property.
type fieldMapping struct {
	Name          string `json:"name"`
	Type          string `json:"type"`
	Analyzer      string `json:"analyzer"`
	Store         bool   `json:"store"`
	Index         bool   `json:"index"`
	TermVectors   bool   `json:"include_term_vectors"`
	InAll         bool   `json:"include_in_all"`
	DateFormat    string `json:"date_format"`
	DocValues     bool   `json:"docvalues"`
	SynonymSource string `json:"synonym_source"`
}

// ParseMapping reads an index mapping from bleve's JSON. As in bleve, unknown members are ignored, and
// an analyzer or date parser that does not exist is an error.
//
// What riffle lacks is no error: Problems lists it. Requests that need it are refused.
func ParseMapping(text []byte) (*Mapping, error) {
	m, err := parseMapping(text)
	if err != nil {
		return nil, fmt.Errorf("bleve: mapping: %w", err)
	}
	return m, nil
}

func parseMapping(text []byte) (*Mapping, error) {
	j := struct {
		Types         map[string]*documentMapping `json:"types"`
		Default       *documentMapping            `json:"default_mapping"`
		TypeField     string                      `json:"type_field"`
		DefaultType   string                      `json:"default_type"`
		Analyzer      string                      `json:"default_analyzer"`
		Dates         string                      `json:"default_datetime_parser"`
		SynonymSource string                      `json:"default_synonym_source"`
		DefaultField  string                      `json:"default_field"`
		StoreDynamic  *bool                       `json:"store_dynamic"`
		IndexDynamic  *bool                       `json:"index_dynamic"`
		Analysis      customAnalysis              `json:"analysis"`
	}{
		Default: &documentMapping{Enabled: true, Dynamic: true}, TypeField: "_type", DefaultType: "_default",
		Analyzer: "standard", Dates: defaultParser, DefaultField: allField,
	}
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, err
	}
	if j.Default == nil {
		return nil, errors.New("default_mapping: an object is wanted")
	}
	m := &Mapping{
		types: j.Types, byDefault: j.Default, typeField: j.TypeField, defaultType: j.DefaultType, analyzer: j.Analyzer, dates: j.Dates,
		defaultField: j.DefaultField, storeDynamic: j.StoreDynamic == nil || *j.StoreDynamic, indexDynamic: j.IndexDynamic == nil || *j.IndexDynamic,
		declarations: analysis.Declarations{}, analyzers: map[string]analysis.Analyzer{}, unmade: map[string]string{}, sameAs: map[string]string{},
		parsers: builtinParsers(), unsupported: map[string]string{},
	}
	if err := m.addAnalysis(&j.Analysis); err != nil {
		return nil, err
	}
	if j.SynonymSource != "" {
		m.problem("default_synonym_source", "synonyms apply to requests in bleve; riffle has the filter synonyms of an analyzer")
	}
	if err := m.checkAnalyzer("default_analyzer", m.analyzer); err != nil {
		return nil, err
	}
	if err := m.checkParser("default_datetime_parser", m.dates); err != nil {
		return nil, err
	}
	if err := m.check("default_mapping", nil, m.byDefault); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(m.types)) {
		if err := m.check(fmt.Sprintf("types[%q]", name), nil, m.types[name]); err != nil {
			return nil, err
		}
	}
	m.findColumns()
	return m, nil
}

// Problems returns what the mapping has and riffle lacks, in the order of the mapping.
func (m *Mapping) Problems() []Problem { return slices.Clone(m.problems) }

func (m *Mapping) problem(path, reason string) {
	m.problems = append(m.problems, Problem{path, reason})
}

// check validates the mapping of a document or of a property, and lists its problems.
func (m *Mapping) check(path string, property []string, d *documentMapping) error {
	if d == nil {
		return fmt.Errorf("%s: an object is wanted", path)
	}
	if d.DefaultAnalyzer != "" {
		if err := m.checkAnalyzer(path+".default_analyzer", d.DefaultAnalyzer); err != nil {
			return err
		}
	}
	if d.SynonymSource != "" {
		m.problem(path+".default_synonym_source", "synonyms of requests are not supported")
	}
	if d.Nested {
		m.problem(path+".nested", "objects of a list are no documents of their own; their values become values of one field")
	}
	for i, f := range d.Fields {
		at := fmt.Sprintf("%s.fields[%d]", path, i)
		if f == nil {
			return fmt.Errorf("%s: an object is wanted", at)
		}
		if err := m.checkField(at, f.fieldName(property), f); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Properties)) {
		if err := m.check(fmt.Sprintf("%s.properties[%q]", path, name), append(property[:len(property):len(property)], name), d.Properties[name]); err != nil {
			return err
		}
	}
	return nil
}

func (m *Mapping) checkField(path, name string, f *fieldMapping) error {
	if f.Analyzer != "" {
		if err := m.checkAnalyzer(path+".analyzer", f.Analyzer); err != nil {
			return err
		}
	}
	if f.DateFormat != "" {
		if err := m.checkParser(path+".date_format", f.DateFormat); err != nil {
			return err
		}
	}
	if f.SynonymSource != "" {
		m.problem(path+".synonym_source", "synonyms of requests are not supported")
	}
	switch f.Type {
	case "text", "number", "datetime", "boolean", "geopoint":
	case "geoshape", "IP", "vector", "vector_base64":
		reason := fmt.Sprintf("fields of type %q are not supported", f.Type)
		m.problem(path+".type", reason)
		m.unsupported[name] = reason
	default:
		return fmt.Errorf("%s.type: unknown %q", path, f.Type)
	}
	return nil
}

// fieldName returns the name of the field of a property, given by its path.
func (f *fieldMapping) fieldName(property []string) string {
	if f.Name == "" || len(property) == 0 {
		return strings.Join(property, ".")
	}
	return strings.Join(append(property[:len(property)-1:len(property)-1], f.Name), ".")
}

// typed returns the mapping of a type of documents.
func (m *Mapping) typed(name string) *documentMapping {
	if d := m.types[name]; d != nil {
		return d
	}
	return m.byDefault
}

// find returns the mapping of a property, or nil, and the closest one around it.
func (d *documentMapping) find(path []string) (exact, closest *documentMapping) {
	for _, name := range path {
		next := d.Properties[name]
		if next == nil {
			return nil, d
		}
		d = next
	}
	return d, d
}

// analyzerAt returns the default analyzer of a property, "" for that of the index.
func (d *documentMapping) analyzerAt(path []string) string {
	name := d.DefaultAnalyzer
	for _, p := range path {
		if d = d.Properties[p]; d == nil {
			break
		}
		if d.DefaultAnalyzer != "" {
			name = d.DefaultAnalyzer
		}
	}
	return name
}

// described returns the mapping of a field by its name, or nil.
func (d *documentMapping) described(field string) *fieldMapping {
	if head, rest, ok := strings.Cut(field, "."); ok && d.Properties[head] != nil {
		return d.Properties[head].described(rest)
	}
	if p := d.Properties[field]; p != nil {
		for _, f := range p.Fields {
			if f.Name == "" || f.Name == field {
				return f
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Properties)) {
		for _, f := range d.Properties[name].Fields {
			if name != field && f.Name == field {
				return f
			}
		}
	}
	return nil
}

// queryAnalyzer returns the name of the analyzer that bleve applies to texts of queries for a field. It
// need not be that of the field's values: bleve does not find every field that has a name of its own.
func (m *Mapping) queryAnalyzer(field string) string {
	types := slices.Sorted(maps.Keys(m.types))
	for _, t := range types {
		if f := m.types[t].described(field); f != nil && f.Analyzer != "" {
			return f.Analyzer
		}
	}
	path := strings.Split(field, ".")
	if exact, _ := m.byDefault.find(path); exact != nil && len(exact.Fields) > 0 && exact.Fields[0].Analyzer != "" {
		return exact.Fields[0].Analyzer
	}
	for _, t := range types {
		if m.types[t].Enabled {
			if name := m.types[t].analyzerAt(path); name != "" {
				return name
			}
		}
	}
	if m.byDefault.Enabled {
		if name := m.byDefault.analyzerAt(path); name != "" {
			return name
		}
	}
	return m.analyzer
}
