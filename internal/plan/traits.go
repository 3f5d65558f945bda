package plan

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/document"
)

// What a query means depends on the index in a few places: which type a field has that no schema
// declares, whether a field exists, and which terms a Fuzzy or a MoreLikeThis chooses. Several indexes
// that are searched as one must agree about them. With Settings.Gather a plan records what it found in
// its own index (Traits). Statistics of all indexes have the sum, and a plan with Settings.Outside goes
// by that.

// Traits are what indexes have, apart from numbers of documents and tokens, that decides what a query
// means there. The zero value is that of a query which depends on none.
type Traits struct {
	// Fields has the traits of fields that the query names, as far as no schema settles them.
	Fields map[string]FieldTraits `json:"fields,omitempty"`

	// Names are the fields of the index, if it lacks one that the query names: for the error if all
	// indexes lack it.
	Names []string `json:"names,omitempty"`

	// Values are terms of fields without a declared type, which decide how a text is read: the forms of
	// the text that the index has.
	Values map[string]TermSet `json:"values,omitempty"`

	// Choices are the parts of the query that choose terms, by a text that describes the part.
	Choices map[string]*Choice `json:"choices,omitempty"`

	// Failed is set if the query was an error in the index alone. With the traits of the others it may
	// be none.
	Failed bool `json:"failed,omitempty"`
}

// FieldTraits are bits: which aspects of a field were looked at, and what was found.
type FieldTraits uint32

const (
	aspectTerms FieldTraits = 1 << iota
	aspectPositions
	aspectColumn

	hasTerms       // a document has the field, with terms
	hasLengths     // and its text has lengths: it is analysed
	hasPlaces      // a document has places of the field
	lacksPositions // text of the field has no positions
	hasColumn
	mixedNumbers // a column of mixed values has numbers
	mixedTimes
	mixedPlaces

	firstKind // of the kinds of columns: firstKind << kind
)

// aspects has, for each aspect, the bits of what may be found.
var aspects = map[FieldTraits]FieldTraits{
	aspectTerms: hasTerms | hasLengths | hasPlaces, aspectPositions: lacksPositions,
	aspectColumn: ^(aspectTerms | aspectPositions | aspectColumn | hasTerms | hasLengths | hasPlaces | lacksPositions),
}

// A TermSet is a set of terms, which may be any bytes.
type TermSet map[string]bool

// MarshalJSON implements json.Marshaler: a list, in base64.
func (s TermSet) MarshalJSON() ([]byte, error) {
	list := make([][]byte, 0, len(s))
	for _, term := range slices.Sorted(maps.Keys(s)) {
		list = append(list, []byte(term))
	}
	return json.Marshal(list)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *TermSet) UnmarshalJSON(data []byte) error {
	var list [][]byte
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*s = TermSet{}
	for _, term := range list {
		(*s)[string(term)] = true
	}
	return nil
}

// IsZero reports whether there is nothing in the traits.
func (t *Traits) IsZero() bool {
	return t == nil || len(t.Fields)+len(t.Names)+len(t.Values)+len(t.Choices) == 0 && !t.Failed
}

// clone returns a copy that shares nothing which add changes.
func (t *Traits) clone() *Traits {
	to := &Traits{}
	if t == nil {
		return to
	}
	to.Fields, to.Names, to.Failed = maps.Clone(t.Fields), slices.Clone(t.Names), t.Failed
	for field, terms := range t.Values {
		for term := range terms {
			to.addValue(field, term)
		}
	}
	for key, c := range t.Choices {
		to.addChoice(key, c)
	}
	return to
}

// add adds the traits of another index.
func (t *Traits) add(o *Traits) {
	if o == nil {
		return
	}
	for field, bits := range o.Fields {
		t.addField(field, bits)
	}
	for field, terms := range o.Values {
		for term := range terms {
			t.addValue(field, term)
		}
	}
	for key, c := range o.Choices {
		t.addChoice(key, c)
	}
	t.Failed = t.Failed || o.Failed
	t.Names = append(t.Names, o.Names...)
	if len(t.Names) > 0 {
		slices.Sort(t.Names)
		t.Names = slices.Compact(t.Names)
		if !t.lacksField() {
			t.Names = nil
		}
	}
}

// lacksField reports whether a field was looked for that no index has.
func (t *Traits) lacksField() bool {
	for _, bits := range t.Fields {
		if bits&aspectTerms != 0 && bits&(hasTerms|hasPlaces) == 0 {
			return true
		}
	}
	return false
}

func (t *Traits) addField(field string, bits FieldTraits) {
	if t.Fields == nil {
		t.Fields = map[string]FieldTraits{}
	}
	t.Fields[field] |= bits
}

func (t *Traits) addValue(field, term string) {
	if t.Values == nil {
		t.Values = map[string]TermSet{}
	}
	if t.Values[field] == nil {
		t.Values[field] = TermSet{}
	}
	t.Values[field][term] = true
}

func (t *Traits) addChoice(key string, c *Choice) {
	if t.Choices == nil {
		t.Choices = map[string]*Choice{}
	}
	own := t.Choices[key]
	if own == nil {
		own = &Choice{}
		t.Choices[key] = own
	}
	own.add(c)
}

// coveredBy reports whether an index that planned with some traits, and found others itself, planned as if
// it had known all of t.
func (t *Traits) coveredBy(known, own *Traits) bool {
	for field, bits := range t.Fields {
		had := own.field(field)
		if known.field(field) != 0 {
			had |= known.field(field)
		}
		if had != bits {
			return false
		}
	}
	for field, terms := range t.Values {
		for term := range terms {
			if !known.hasValue(field, term) && !own.hasValue(field, term) {
				return false
			}
		}
	}
	return true
}

func (t *Traits) field(name string) FieldTraits {
	if t == nil {
		return 0
	}
	return t.Fields[name]
}

func (t *Traits) hasValue(field, term string) bool { return t != nil && t.Values[field][term] }

// choice returns a choice, or nil.
func (t *Traits) choice(key string) *Choice {
	if t == nil {
		return nil
	}
	return t.Choices[key]
}

// traitsOf returns the traits of a field: those of all indexes, if they are known, else those of the
// index of the query.
func (rw *Rewriter) traitsOf(field string, aspect FieldTraits) (FieldTraits, error) {
	if t := rw.outside.field(field); t&aspect != 0 {
		return t, nil
	}
	t, err := rw.findTraits(field, aspect)
	if err == nil && rw.gather != nil {
		rw.gather.addField(field, t|aspect)
	}
	return t, err
}

// findTraits looks at an aspect of a field in the index of the query.
func (rw *Rewriter) findTraits(field string, aspect FieldTraits) (t FieldTraits, err error) {
	switch aspect {
	case aspectTerms:
		for i := range rw.index.Segments() {
			if info, ok := rw.index.Segment(i).Reader().Field(field); ok {
				if t |= hasTerms; info.Norms {
					t |= hasLengths
				}
			}
		}
		for i := range rw.index.Segments() {
			if t&hasTerms != 0 {
				break
			}
			c, err := rw.index.Column(i, field)
			if err == nil && c != nil && c.Kind() == columns.Place { // an error comes back when it is used
				t |= hasPlaces
			}
		}
	case aspectPositions:
		for i := range rw.index.Segments() {
			if info, ok := rw.index.Segment(i).Reader().Field(field); ok && info.LacksPositions() {
				t |= lacksPositions
			}
		}
	case aspectColumn:
		for i := range rw.index.Segments() {
			c, err := rw.index.Column(i, field)
			if err != nil {
				return 0, err
			}
			if c == nil {
				continue
			}
			t |= hasColumn | firstKind<<c.Kind()
			if c.Kind() != columns.Terms {
				continue
			}
			mixed, err := mixedIn(c)
			if err != nil {
				return 0, rw.index.Segment(i).At(err)
			}
			t |= mixed
		}
	}
	return t, nil
}

// hasTerm reports whether one of the indexes has a value. It ignores a list that cannot be read, because
// the search will report that.
func (rw *Rewriter) hasTerm(field string, v document.Value) bool {
	term := string(document.AppendTerm(nil, v))
	if rw.outside.hasValue(field, term) {
		return true
	}
	for i := range rw.index.Segments() {
		if l, err := rw.index.List(i, field, term); err == nil && l.Postings != nil {
			if rw.gather != nil {
				rw.gather.addValue(field, term)
			}
			return true
		}
	}
	return false
}
