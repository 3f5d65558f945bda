package document

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unsafe"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/segment"
)

// An Inverter turns documents into terms and frequencies, which it puts into chunks. One goroutine
// at a time uses it; it reuses its memory from document to document.
type Inverter struct {
	Schema *Schema
	rank   string // Options.Rank.Field
	lookup func(name string) (analysis.Analyzer, error)

	replay bool                         // documents were accepted earlier, perhaps under another Options.Rank
	named  map[string]analysis.Analyzer // by name, resolved once
	copies []string                     // names of the schema's indexed copies, in order
	places placeReader

	finders map[string]*pairFinder // by field, made once; nil for one whose analyzer drops the words
	pairs   *pairFinder            // of the current field, or nil

	chunk           *segment.Chunk                     // receives terms
	count           func(batch []analysis.Token)       // adds tokens to chunk, length and longest
	words           func(keys []uint64, long [][]byte) // the same for terms without positions
	placed          bool                               // the current field has positions
	first, next     uint64                             // position of the current value's first token, and after the last one so far
	length          uint64                             // tokens of the current field
	longest         int                                // bytes of its longest term
	analysed, terms bool                               // the field has text; it has exact terms
	stored          []byte
	exact           []byte
	links           []link // of the values of the current document
}

// NewInverter returns an inverter for a schema, with Options.Rank.Field and a function that finds
// analyzers by name. With replay, documents were accepted earlier and are accepted again, whatever
// the current options.
func NewInverter(s *Schema, rank string, lookup func(name string) (analysis.Analyzer, error), replay bool) *Inverter {
	iv := &Inverter{Schema: s, rank: rank, lookup: lookup, copies: s.copies(), places: newPlaceReader(s), replay: replay}
	iv.count = func(batch []analysis.Token) {
		iv.length += uint64(len(batch))
		for i := range batch {
			t := &batch[i]
			at := uint32(min(iv.first+uint64(t.Position), segment.MaxPosition))
			iv.longest = max(iv.longest, len(t.Term))
			iv.chunk.AddAt(t.Term, at)
			if iv.pairs != nil {
				iv.pairs.find(t.Term, at)
			}
			iv.next = max(iv.next, iv.first+uint64(t.Next()))
		}
	}
	iv.words = func(keys []uint64, long [][]byte) {
		iv.length += uint64(len(keys))
		for _, term := range long {
			iv.longest = max(iv.longest, len(term))
		}
		at := uint32(min(iv.next, segment.MaxPosition))
		iv.chunk.AddWords(keys, long, at)
		if iv.pairs != nil {
			iv.pairs.findWords(keys, long, at)
		}
		iv.next += uint64(len(keys))
	}
	return iv
}

// Invert adds one document to a chunk. After an error, which names the field, the chunk is
// unchanged.
func (iv *Inverter) Invert(c *segment.Chunk, id string, values []Value) (err error) {
	iv.chunk = c
	c.Begin(id)
	defer func() {
		if err != nil {
			c.Abandon()
		}
	}()
	rank := uint16(0)
	values, field, err := iv.places.read(values)
	if err != nil {
		return &Error{ID: strings.Clone(id), Field: ShortName(field), Err: err}
	}
	iv.stored = iv.stored[:0]
	version := byte(1) // of the stored values
	for i := range values {
		v := &values[i]
		f, known := iv.declared(v.Name)
		if err := iv.checkValue(v, f, known); err != nil {
			return &Error{ID: strings.Clone(id), Field: v.Name, Err: err}
		}
		if v.Name == iv.rank && iv.rank != "" {
			r, err := rankFraction(v)
			if err != nil && !iv.replay {
				return &Error{ID: strings.Clone(id), Field: v.Name, Err: err}
			}
			rank = r
		}
		if iv.Stores(v, f, known) {
			r := v.rules.beyond(f, known)
			iv.stored = appendValue(iv.stored, v, r)
			version = max(version, v.version(r))
		}
	}
	if field, err := iv.invertFields(values); err != nil {
		return &Error{ID: strings.Clone(id), Field: field, Err: err}
	}
	if version > 1 {
		iv.stored = slices.Insert(iv.stored, 0, 0, version)
	}
	c.End(rank, iv.stored)
	return nil
}

// Check returns the error of Invert for a document, as far as it can be told without analysing texts
// of up to MaxTermBytes bytes: an analyzer may make longer terms of them, and too many words.
func (iv *Inverter) Check(id string, values []Value) error {
	values, field, err := iv.places.read(values)
	if err != nil {
		return &Error{ID: strings.Clone(id), Field: ShortName(field), Err: err}
	}
	for i := range values {
		v := &values[i]
		f, known := iv.declared(v.Name)
		err := iv.checkValue(v, f, known)
		if err == nil && v.Name == iv.rank && iv.rank != "" {
			_, err = rankFraction(v)
		}
		if err == nil && v.Kind == KindText && !isKeyword(v, f, known) && iv.Indexes(v, f, known) {
			err = iv.checkText(v.Str, f)
		}
		if err != nil {
			return &Error{ID: strings.Clone(id), Field: v.Name, Err: err}
		}
	}
	return nil
}

// checkText refuses a text with a term that is too long.
func (iv *Inverter) checkText(text string, f Field) error {
	a, err := iv.Analyzer(f.Analyzer)
	if err != nil || len(text) <= MaxTermBytes {
		return err
	}
	longest := 0
	analysis.AnalyzeString(a, text, func(batch []analysis.Token) {
		for i := range batch {
			longest = max(longest, len(batch[i].Term))
		}
	})
	return checkLongest(longest)
}

func checkLongest(longest int) error {
	if longest > MaxTermBytes {
		return fmt.Errorf("its analyzer made a term of %d bytes, at most %d are allowed", longest, MaxTermBytes)
	}
	return nil
}

// declared returns the schema's entry of a field.
//
// Older releases accepted names that are not UTF-8. An index that still has some in its log stores
// them under another name in its schema. If it refuses undeclared fields, each was declared under
// its original name.
func (iv *Inverter) declared(name string) (f Field, known bool) {
	f, known = iv.Schema.Fields[name]
	if !known && iv.replay && iv.Schema.Dynamic == DynamicRefuse {
		f, known = iv.Schema.Fields[asKept(name)]
	}
	return f, known
}

// checkValue refuses a value that its field cannot hold.
func (iv *Inverter) checkValue(v *Value, f Field, known bool) error {
	switch {
	case !known && iv.Schema.Dynamic == DynamicRefuse:
		return errors.New("the schema has no such field and refuses others")
	case !known && v.rules&ruleAnalyzer != 0 && iv.Schema.Dynamic == DynamicIndex && v.rules&ruleNoIndex == 0:
		return errors.New("its tag names an analyzer, which holds for fields that the schema declares; SchemaOf makes a schema of tags")
	case !known && v.rules&rulePlace != 0 && v.Kind != KindPlace && iv.Schema.Dynamic == DynamicIndex && v.rules&ruleNoIndex == 0:
		return errors.New("its tag says place, which holds for fields that the schema declares; SchemaOf makes a schema of tags")
	case !known:
	case len(f.CopyFrom) > 0:
		return errors.New("the field is a copy of others and cannot be set")
	case f.Type == KeywordField && v.Kind == KindText:
	case f.Type == DateField && v.Kind == KindText:
		if _, err := ParseTime(v.Str); err != nil && !iv.replay {
			return err
		}
	case f.Type != v.Kind.fieldType():
		return fmt.Errorf("the schema wants %s, not %s", f.Type, v.Kind.fieldType())
	}
	if len(v.Str) > MaxTermBytes && v.Kind == KindText && isKeyword(v, f, known) && (iv.Indexes(v, f, known) || iv.keepsColumn(v, f, known)) {
		return fmt.Errorf("a keyword of %d bytes, at most %d are allowed", len(v.Str), MaxTermBytes)
	}
	return nil
}

// isKeyword reports whether a text is one term.
func isKeyword(v *Value, f Field, known bool) bool {
	return known && f.Type == KeywordField || !known && v.rules&ruleKeyword != 0
}

// Stores reports whether a value is stored; known says whether the schema has its field.
func (iv *Inverter) Stores(v *Value, f Field, known bool) bool {
	if iv.Schema.NoStore || v.rules&ruleNoStore != 0 {
		return false
	}
	if known {
		return !f.NoStore
	}
	return iv.Schema.Dynamic <= DynamicStore
}

// Indexes reports whether a value has terms; known says whether the schema has its field.
func (iv *Inverter) Indexes(v *Value, f Field, known bool) bool {
	if v.rules&ruleNoIndex != 0 || v.Kind == KindPlace {
		return false
	}
	if known {
		return !f.NoIndex
	}
	return iv.Schema.Dynamic == DynamicIndex
}

func rankFraction(v *Value) (uint16, error) {
	x, ok := v.float()
	if !ok || x < 0 || x > 1 {
		return 0, fmt.Errorf("a static rank is a number in [0, 1], not %v", v.any())
	}
	return uint16(math.RoundToEven(x * math.MaxUint16)), nil
}

// invertFields counts the terms of every indexed field, in the order in which the fields first
// appear, then of the copies by name. The returned field is the one that an error concerns.
func (iv *Inverter) invertFields(vals []Value) (field string, err error) {
	iv.link(vals)
	for i := range vals {
		if iv.links[i].follows {
			continue
		}
		name := vals[i].Name
		f, known := iv.declared(name)
		begun := false
		for j := i; ; {
			if iv.keepsColumn(&vals[j], f, known) {
				iv.addToColumn(&vals[j], f, known)
			}
			if iv.Indexes(&vals[j], f, known) {
				if !begun {
					if err := iv.beginField(name, f, known); err != nil {
						return name, err
					}
					begun = true
				}
				if err := iv.countValue(&vals[j], f, known); err != nil {
					return name, err
				}
			}
			if j = int(iv.links[j].next); j == 0 {
				break
			}
		}
		if !begun {
			continue
		}
		if err := iv.endField(); err != nil {
			return name, err
		}
	}
	return iv.invertCopies(vals)
}

// A link leads from a value to the next one of its field.
type link struct {
	next    int32 // 0 for none
	follows bool  // an earlier value is of this field
}

// fewValues is the number of values up to which earlier ones are searched linearly for their field.
const fewValues = 16

// link sets iv.links for the values of a document.
func (iv *Inverter) link(vals []Value) {
	iv.links = slices.Grow(iv.links[:0], len(vals))
	var last map[string]int
	if len(vals) > fewValues {
		last = make(map[string]int, len(vals))
	}
	for i := range vals {
		iv.links = append(iv.links, link{})
		before := -1
		if last != nil {
			if j, ok := last[vals[i].Name]; ok {
				before = j
			}
			last[vals[i].Name] = i
		} else {
			for j := i - 1; j >= 0 && before < 0; j-- {
				if vals[j].Name == vals[i].Name {
					before = j
				}
			}
		}
		if before >= 0 {
			iv.links[before].next, iv.links[i].follows = int32(i), true
		}
	}
}

func (iv *Inverter) invertCopies(vals []Value) (field string, err error) {
	for _, name := range iv.copies {
		f := iv.Schema.Fields[name]
		var parts []string
		for _, from := range f.CopyFrom {
			if iv.Schema.Fields[from].Type == DateField { // a date is no text, however it is written
				continue
			}
			for _, v := range vals {
				if (v.Name == from || iv.replay && asKept(v.Name) == from) && v.Kind == KindText {
					parts = append(parts, v.Str)
				}
			}
		}
		if len(parts) == 0 {
			continue
		}
		if !iv.Schema.HasPositions(name) { // then it does not matter where words are
			parts = []string{strings.Join(parts, " ")}
		}
		if err := iv.beginField(name, f, true); err != nil {
			return name, err
		}
		for _, part := range parts {
			v := Text(name, part)
			if err := iv.countValue(&v, f, true); err != nil {
				return name, err
			}
		}
		if err := iv.endField(); err != nil {
			return name, err
		}
	}
	return "", nil
}

func (iv *Inverter) beginField(name string, f Field, known bool) (err error) {
	iv.length, iv.longest, iv.analysed, iv.terms = 0, 0, false, false
	iv.placed, iv.next = iv.Schema.keepsPositions(f, known), 0
	iv.chunk.Field(name, iv.placed)
	iv.pairs = nil
	if !iv.placed {
		return nil
	}
	if iv.pairs, err = iv.pairsOf(name, f); iv.pairs != nil {
		iv.pairs.found = iv.pairs.found[:0]
		iv.chunk.Pairs(iv.pairs.words)
	}
	return err
}

// countValue counts the terms of one value of the current field.
func (iv *Inverter) countValue(v *Value, f Field, known bool) error {
	if v.Kind == KindText && known && f.Type == DateField {
		t, err := ParseTime(v.Str)
		if err != nil { // of a replayed document: only stored, as when it was accepted
			return nil
		}
		date := Time(v.Name, t)
		return iv.countValue(&date, f, known)
	}
	if v.Kind != KindText || isKeyword(v, f, known) {
		iv.exact = AppendTerm(iv.exact[:0], *v)
		iv.longest = max(iv.longest, len(iv.exact))
		iv.terms = true
		iv.chunk.Add(iv.exact)
		return nil
	}
	a, err := iv.Analyzer(f.Analyzer)
	if err != nil {
		return err
	}
	iv.analysed = true
	length, next := iv.length, iv.next
	if length > 0 {
		iv.next += segment.PositionGap
	}
	iv.first = iv.next
	iv.countWords(v.Str, a)
	if iv.length == length { // no words
		iv.next = next
	}
	return nil
}

// countWords counts the words of a text of the current field.
func (iv *Inverter) countWords(text string, a analysis.Analyzer) {
	if t, ok := a.(analysis.TermAnalyzer); ok && (!iv.placed || analysis.ConsecutiveTerms(a)) {
		if t.AnalyzeTerms(unsafe.Slice(unsafe.StringData(text), len(text)), iv.words) {
			return
		}
	}
	analysis.AnalyzeString(a, text, iv.count)
}

// endField ends the current field, if its values are valid together.
func (iv *Inverter) endField() error {
	if err := checkLongest(iv.longest); err != nil {
		return err
	}
	if iv.placed && iv.next > segment.MaxPosition {
		return fmt.Errorf("%d positions of words, at most %d are allowed", iv.next, segment.MaxPosition)
	}
	if iv.length > math.MaxInt32 {
		return fmt.Errorf("%d words, at most %d are allowed", iv.length, math.MaxInt32)
	}
	if iv.terms || iv.length > 0 {
		iv.chunk.EndField(iv.analysed, uint32(max(iv.length, 1)))
		if iv.pairs != nil {
			iv.pairs.addTo(iv.chunk, uint32(max(iv.length, 1)))
		}
	}
	return nil
}

// Analyzer returns the analyzer of a text field.
func (iv *Inverter) Analyzer(name string) (analysis.Analyzer, error) {
	if name == "" {
		name = iv.Schema.Analyzer
	}
	if name == "" {
		name = "standard"
	}
	if a, ok := iv.named[name]; ok {
		return a, nil
	}
	a, err := iv.lookup(name)
	if err != nil {
		return nil, err
	}
	if iv.named == nil {
		iv.named = map[string]analysis.Analyzer{}
	}
	iv.named[name] = a
	return a, nil
}
