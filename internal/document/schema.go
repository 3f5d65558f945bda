package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/format"
)

// A FieldType says how the values of a field become terms.
type FieldType uint8

const (
	TextField    FieldType = iota // analysed into words; scored with length normalisation
	KeywordField                  // the whole value is one term
	NumberField                   // an exact number: integers to 64 bits, or float64
	DateField                     // a time, exact to the nanosecond
	BoolField                     // true or false
	PlaceField                    // a point of the Earth, in a column
)

var fieldTypeNames = [...]string{"text", "keyword", "number", "date", "bool", "place"}

func (t FieldType) String() string {
	if int(t) < len(fieldTypeNames) {
		return fieldTypeNames[t]
	}
	return fmt.Sprintf("FieldType(%d)", uint8(t))
}

// MarshalText writes the type's name.
func (t FieldType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a type's name.
func (t *FieldType) UnmarshalText(b []byte) error {
	i := slices.Index(fieldTypeNames[:], string(b))
	if i < 0 {
		return fmt.Errorf("unknown field type %q (want one of %s)", b, strings.Join(fieldTypeNames[:], ", "))
	}
	*t = FieldType(i)
	return nil
}

// A Dynamic rule says what happens to fields that the schema does not name.
type Dynamic uint8

const (
	DynamicIndex  Dynamic = iota // indexed by the kind of their value (strings as text), and stored
	DynamicStore                 // stored, not indexed
	DynamicIgnore                // neither
	DynamicRefuse                // the document is refused
)

var dynamicNames = [...]string{"index", "store", "ignore", "refuse"}

func (d Dynamic) String() string {
	if int(d) < len(dynamicNames) {
		return dynamicNames[d]
	}
	return fmt.Sprintf("Dynamic(%d)", uint8(d))
}

// MarshalText writes the rule's name.
func (d Dynamic) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a rule's name.
func (d *Dynamic) UnmarshalText(b []byte) error {
	i := slices.Index(dynamicNames[:], string(b))
	if i < 0 {
		return fmt.Errorf("unknown dynamic rule %q (want one of %s)", b, strings.Join(dynamicNames[:], ", "))
	}
	*d = Dynamic(i)
	return nil
}

// A Field is the part of a Schema that describes one field.
type Field struct {
	Type     FieldType `json:"type"`
	Analyzer string    `json:"analyzer,omitempty"` // of a text field; empty for the schema's
	NoIndex  bool      `json:"no_index,omitempty"` // cannot be searched
	NoStore  bool      `json:"no_store,omitempty"` // is not stored for retrieval

	// Positions says whether the words of a text field have positions, which phrases need.
	Positions Positions `json:"positions,omitempty"`

	// Column says whether the values of a field that is not text are kept by document, too: for ranges,
	// sorting, facets and aggregations. A field with NoIndex has a column only with ColumnStored, which
	// these then use, and Batch.Update can change its values.
	Column Column `json:"column,omitempty"`

	// PhrasePairs are frequent words of a text field with positions, at most 64. The index then has a list
	// of the documents for each two of them that follow one another ("common grams"), by which phrases of
	// these words are found several times as fast. Nothing else changes, scores least of all. "_english_"
	// stands for the 20 most frequent words of English, which add some 3 % to an index of text; more words
	// cost more. Words are analysed as those of the field; those that the analyzer drops have no pairs.
	//
	// Options.AlterSchema changes the words of an existing field, and "_none_" removes them. That holds for
	// documents from then on: phrases in earlier ones are found by positions, with the same scores.
	// A merge of segments that differ in their words drops the lists; Reindex makes all anew.
	PhrasePairs []string `json:"phrase_pairs,omitempty"`

	// CopyFrom makes this a text field whose value is that of the named fields joined by a space,
	// in this order. It is never stored, and documents must not set it.
	CopyFrom []string `json:"copy_from,omitempty"`
}

// A Schema says what the fields of documents are. The zero Schema indexes every field by the kind
// of its value and stores everything. The index stores its schema. A later Open can add fields, but
// a declared field keeps its type, analyzer and sources.
type Schema struct {
	Fields   map[string]Field `json:"fields,omitempty"`
	Dynamic  Dynamic          `json:"dynamic"`            // rule for fields not named
	Analyzer string           `json:"analyzer,omitempty"` // of text fields that name none; default "standard"
	NoStore  bool             `json:"no_store,omitempty"` // stores no fields at all, whatever Fields says

	// Words are the rules of words of analyzers that follow the index. analysis.AnyWords stands for
	// those of the index, or for analysis.NewestWords in a new one.
	Words analysis.WordRules `json:"words,omitempty"`

	// Analyzers are declared by the schema. They come before analyzers of the same name from
	// elsewhere.
	Analyzers analysis.Declarations `json:"analyzers,omitempty"`

	// Positions of text fields that do not say. A new index has them by default. It records that, so
	// the default in the schema of an index is none: of one of an earlier release.
	Positions Positions `json:"positions,omitempty"`

	// Columns of fields other than text that do not say. A new index has them by default, and records
	// that, as with Positions.
	Columns Column `json:"columns,omitempty"`
}

// ParseSchema reads a schema from its JSON text. Unknown keys are errors.
func ParseSchema(text []byte) (*Schema, error) {
	s := new(Schema)
	if err := DecodeObject(text, s); err != nil {
		return nil, fmt.Errorf("riffle: schema: %w", err)
	}
	return s, nil
}

// ParseKept reads the schema stored in an index, as Kept writes it: its JSON, with a member
// "version" from version 2 on. A member, a field type or a rule that older builds do not know needs
// a new version (format.Schema).
//
//	1   without a version; words are analysis.WordsUnicode8
//	2   "words", "analyzers"
//	3   "positions"; without it none are stored
//	4   "phrase_pairs"
//	5   "column" of fields, "columns"; without these there are no columns
//	6   the type "place"
func ParseKept(text []byte) (*Schema, error) {
	var kept struct {
		Version uint64 `json:"version"`
		Schema
	}
	kept.Version = 1
	// The version first: a later one may have members that the schema here lacks.
	if err := json.Unmarshal(text, &struct{ Version *uint64 }{&kept.Version}); err == nil {
		if err := format.Schema.Check(kept.Version); err != nil {
			return nil, err
		}
	}
	if err := DecodeObject(text, &kept); err != nil {
		return nil, corrupt.At(corrupt.New(-1, "%v", err), "schema")
	}
	if kept.Words == analysis.AnyWords {
		kept.Words = analysis.WordsUnicode8
	}
	return &kept.Schema, nil
}

// Kept returns the schema of an index as ParseKept reads it, in the oldest version that can say it,
// so that older builds can read an index that has nothing new.
func (s *Schema) Kept() []byte {
	kept := struct {
		Version uint64 `json:"version,omitempty"`
		Schema
	}{format.Schema.Newest, *s}
	switch {
	case s.mentionsPlaces():
	case s.mentionsColumns():
		kept.Version = 5
	case s.mentionsPairs():
		kept.Version = 4
	case s.mentionsPositions():
		kept.Version = 3
	case s.Words == analysis.WordsUnicode8 && len(s.Analyzers) == 0:
		kept.Version, kept.Words = 0, analysis.AnyWords
	default:
		kept.Version = 2
	}
	b, err := json.Marshal(kept)
	if err != nil {
		panic("BUG: schema does not marshal: " + err.Error())
	}
	return b
}

// New returns the schema of a new index, which has the newest rules of words, positions and columns,
// unless s says otherwise. It accepts nil.
func (s *Schema) New() *Schema {
	if s == nil {
		s = new(Schema)
	}
	s = new(*s)
	if s.Words == analysis.AnyWords {
		s.Words = analysis.NewestWords
	}
	if s.Positions == PositionsDefault {
		s.Positions = PositionsStored
	}
	if s.Columns == ColumnDefault {
		s.Columns = ColumnStored
	}
	return s.spellOutPairs()
}

// String returns the schema as JSON, as ParseSchema reads it.
func (s *Schema) String() string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("BUG: schema does not marshal: " + err.Error())
	}
	return string(b)
}

// CheckNames reports the names that a schema may not have. It is not applied to schemas stored in
// an index, because older releases allowed longer names.
func (s *Schema) CheckNames() error {
	var errs []error
	check := func(where, name string) {
		if name == "" {
			return // Validate reports missing names
		}
		if err := CheckName(name); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", where, err))
		}
	}
	check(fmt.Sprintf("Schema.Analyzer %q", ShortName(s.Analyzer)), s.Analyzer)
	for _, name := range slices.Sorted(maps.Keys(s.Analyzers)) {
		if name == "" {
			errs = append(errs, errors.New(`Schema.Analyzers[""]: an analyzer needs a name`))
		}
		check(fmt.Sprintf("Schema.Analyzers[%q]", ShortName(name)), name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
		f, at := s.Fields[name], fmt.Sprintf("Schema.Fields[%q]", ShortName(name))
		check(at, name)
		check(fmt.Sprintf("%s: analyzer %q", at, ShortName(f.Analyzer)), f.Analyzer)
		for _, from := range f.CopyFrom {
			if from == "" {
				errs = append(errs, fmt.Errorf("%s: copies from a field without a name", at))
			}
			check(fmt.Sprintf("%s: copies from %q", at, ShortName(from)), from)
		}
	}
	return errors.Join(errs...)
}

// Validate reports every other fault of the schema at once.
func (s *Schema) Validate(lookup func(string) (analysis.Analyzer, error)) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.Analyzers)) {
		if _, err := s.Analyzers[name].Analyzer(name); err != nil {
			errs = append(errs, fmt.Errorf("Schema.Analyzers[%q]: %w", name, err))
		}
	}
	lookup = s.declared(lookup)
	fault := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("Schema.Fields[%q]: %w", field, fmt.Errorf(format, args...)))
	}
	if s.Analyzer != "" {
		if _, err := lookup(s.Analyzer); err != nil {
			errs = append(errs, fmt.Errorf("Schema.Analyzer: %w", err))
		}
	}
	if int(s.Dynamic) >= len(dynamicNames) {
		errs = append(errs, fmt.Errorf("Schema.Dynamic: unknown rule %d", s.Dynamic))
	}
	if err := s.Words.Check(); err != nil {
		errs = append(errs, fmt.Errorf("Schema.Words: %w", err))
	}
	if int(s.Positions) >= len(positionsNames) {
		errs = append(errs, fmt.Errorf("Schema.Positions: unknown value %d", s.Positions))
	}
	if int(s.Columns) >= len(columnNames) {
		errs = append(errs, fmt.Errorf("Schema.Columns: unknown value %d", s.Columns))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
		f := s.Fields[name]
		switch {
		case name == "":
			fault(name, "a field needs a name")
		case int(f.Type) >= len(fieldTypeNames):
			fault(name, "unknown type %d", f.Type)
		case f.Analyzer != "" && f.Type != TextField:
			fault(name, "an analyzer goes with a text field, this one is %s", f.Type)
		case int(f.Positions) >= len(positionsNames):
			fault(name, "unknown positions %d", f.Positions)
		case f.Positions == PositionsStored && f.Type != TextField:
			fault(name, "positions go with a text field, this one is %s", f.Type)
		case int(f.Column) >= len(columnNames):
			fault(name, "unknown column %d", f.Column)
		case f.Column == ColumnStored && f.Type == TextField:
			fault(name, "a column goes with a keyword, number, date, bool or place field, this one is text")
		case f.Column == ColumnNone && f.Type == PlaceField && !f.NoIndex:
			fault(name, "a place is searched by its column; with no_index it needs none")
		case len(f.CopyFrom) > 0 && f.Type != TextField:
			fault(name, "copy_from makes a text field, this one is %s", f.Type)
		}
		if f.Analyzer != "" {
			if _, err := lookup(f.Analyzer); err != nil {
				fault(name, "%w", err)
			}
		}
		if err := s.checkPairs(f, lookup); err != nil {
			fault(name, "%w", err)
		}
		for _, from := range f.CopyFrom {
			if len(s.Fields[from].CopyFrom) > 0 {
				fault(name, "copies from %q, which is itself a copy", from)
			}
		}
	}
	return errors.Join(errs...)
}

// StoresField reports whether the values of a field are stored, unless a struct's tag says otherwise.
func (s *Schema) StoresField(name string) bool {
	if f, known := s.Fields[name]; known {
		return !s.NoStore && !f.NoStore && len(f.CopyFrom) == 0
	}
	return !s.NoStore && s.Dynamic <= DynamicStore
}

// copies returns the names of the indexed copies in order.
func (s *Schema) copies() []string {
	var names []string
	for name, f := range s.Fields {
		if len(f.CopyFrom) > 0 && !f.NoIndex {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
