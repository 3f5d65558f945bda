package riffle

import (
	"errors"
	"fmt"
	"maps"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/internal/document"
)

// A FieldType says how the values of a field become terms.
type FieldType = document.FieldType

const (
	FieldText    = document.TextField    // analysed into words; scored with length normalisation
	FieldKeyword = document.KeywordField // the whole value is one term
	FieldNumber  = document.NumberField  // an exact number: integers to 64 bits, or float64
	FieldDate    = document.DateField    // a time, exact to the nanosecond: a time.Time, or a string (RFC 3339, or a date alone)
	FieldBool    = document.BoolField    // true or false
	FieldPlace   = document.PlaceField   // a Point, or what ParsePoint and Point.UnmarshalJSON read; it has a column and no terms
)

// A Dynamic rule says what happens to fields that the schema does not name.
type Dynamic = document.Dynamic

const (
	DynamicIndex  = document.DynamicIndex  // indexed by the kind of their value (strings as text), and stored
	DynamicStore  = document.DynamicStore  // stored, not indexed
	DynamicIgnore = document.DynamicIgnore // neither
	DynamicRefuse = document.DynamicRefuse // the document is refused
)

// Positions says whether the words of text have positions in the index, which phrases need. Without,
// an index takes less than half the space.
type Positions = document.Positions

const (
	PositionsDefault = document.PositionsDefault // of a field: as Schema.Positions says; of a schema: see there
	PositionsNone    = document.PositionsNone    // no positions, and no phrases
	PositionsStored  = document.PositionsStored  // words have positions
)

// Column says whether the values of a field are kept by document, too, in a column: ranges, sorting,
// facets and aggregations use it.
type Column = document.Column

const (
	ColumnDefault = document.ColumnDefault // of a field: as Schema.Columns says; of a schema: see there
	ColumnNone    = document.ColumnNone    // no column: a smaller index
	ColumnStored  = document.ColumnStored  // values have a column
)

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
	// these then use, and Batch.Update can change its values. A place has one unless it has NoIndex.
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
// of its value and stores everything. The index stores its schema. A later Open can add fields that
// no document has, and fields whose documents are already indexed in just that way. Changed rules
// need Options.AlterSchema; another type, analyzer or source needs Reindex. What a later Schema
// leaves at zero stays as it is.
type Schema struct {
	Fields   map[string]Field `json:"fields,omitempty"`
	Dynamic  Dynamic          `json:"dynamic"`            // rule for fields not named
	Analyzer string           `json:"analyzer,omitempty"` // of text fields that name none; default "standard"
	NoStore  bool             `json:"no_store,omitempty"` // stores no fields at all, whatever Fields says

	// Words are the rules by which analyzers find words. An index keeps those that it was made
	// with: analysis.AnyWords, the default, stands for them, and in a new index for
	// analysis.NewestWords. Reindex makes an index with newer rules.
	Words analysis.WordRules `json:"words,omitempty"`

	// Analyzers are analyzers as data, by the names that fields and queries use (package analysis
	// has the format). They are stored with the index, so that a program that opens it need not
	// register them. One comes before an analyzer of its name from elsewhere. A later Open can add
	// some, and change none.
	Analyzers analysis.Declarations `json:"analyzers,omitempty"`

	// Positions of text fields that do not say. A new index has them by default. An index of an
	// earlier release has none, and Reindex makes one that has.
	Positions Positions `json:"positions,omitempty"`

	// Columns of fields other than text that do not say. A new index has them by default. An index of an
	// earlier release has none, and Reindex makes one that has.
	Columns Column `json:"columns,omitempty"`
}

// ParseSchema reads a schema from its JSON text. Unknown keys are errors.
func ParseSchema(text []byte) (*Schema, error) { return publicSchema(document.ParseSchema(text)) }

// SchemaOf derives a schema from the tags of a struct, or a pointer to one:
//
//	type Page struct {
//		Title string    `riffle:"title,analyzer=english"`
//		URL   string    `riffle:"url,keyword,nostore"`
//		Size  int       `riffle:"size,noindex"`
//		Seen  time.Time `riffle:"seen"`
//	}
//
// The first item is the field's name; then, in any order, keyword, place, noindex, nostore and
// analyzer=NAME. The type follows from the Go type; place makes a FieldPlace of a struct with fields
// named lat and lon, a pair of a longitude and a latitude, or a string. Fields of nested structs get dotted names and
// the rules of the struct; those of an embedded struct are fields of the outer one. Maps and
// interfaces are left to Schema.Dynamic.
//
// Put and Build read the same tags: keyword, noindex and nostore also apply to fields that no
// schema declares. An analyzer must be declared in the schema.
func SchemaOf(doc any) (*Schema, error) { return publicSchema(document.SchemaOf(doc)) }

// String returns the schema as JSON, as ParseSchema reads it.
func (s *Schema) String() string { return s.internal().String() }

// Validate returns an error that names every part of the schema that Open would refuse in a new index. Analyzers are
// those of the schema and the registered ones, not those of Options.Analyzers.
func (s *Schema) Validate() error {
	d := s.internal()
	if d == nil {
		return nil
	}
	if err := errors.Join(d.CheckNames(), d.Validate(analysis.Lookup)); err != nil {
		return fmt.Errorf("riffle: %w", err)
	}
	return nil
}

// internal returns a copy of the schema for package document. It accepts nil.
func (s *Schema) internal() *document.Schema {
	if s == nil {
		return nil
	}
	d := &document.Schema{Dynamic: s.Dynamic, Analyzer: s.Analyzer, NoStore: s.NoStore, Positions: s.Positions, Columns: s.Columns, Words: s.Words, Analyzers: maps.Clone(s.Analyzers)}
	if s.Fields != nil {
		d.Fields = make(map[string]document.Field, len(s.Fields))
	}
	for name, f := range s.Fields {
		d.Fields[name] = document.Field(f)
	}
	return d
}

// publicSchema is the inverse of internal; an error stays one.
func publicSchema(d *document.Schema, err error) (*Schema, error) {
	if err != nil {
		return nil, err
	}
	s := &Schema{Dynamic: d.Dynamic, Analyzer: d.Analyzer, NoStore: d.NoStore, Positions: d.Positions, Columns: d.Columns, Words: d.Words, Analyzers: maps.Clone(d.Analyzers)}
	if d.Fields != nil {
		s.Fields = make(map[string]Field, len(d.Fields))
	}
	for name, f := range d.Fields {
		s.Fields[name] = Field(f)
	}
	return s, nil
}
