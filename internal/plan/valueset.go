package plan

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/document"
)

// Ranges, and sets of values, go by the column of a segment that has one for their field. Other segments
// have the same values as terms. A column gives the documents of a tile at a time, where they are asked
// for; terms give them all at once.

// A columnSet is a documentSet that the column of a field can find.
type columnSet interface {
	documentSet

	// column names the field, or is "" if a column cannot find the documents.
	column() string

	// spans returns the keys of the documents in a column, ascending, or that terms take less time.
	spans(c *columns.Column) (keys []columns.Span, better bool, err error)

	// patterns are those of the terms that find the documents in a segment without a column.
	patterns() []*termPattern
}

// A valueSet is the documents that have a value of a field in an interval.
type valueSet struct {
	field    string
	from, to columns.Bound
	terms    func() []*termPattern // nil for a field without terms
}

// termTiles: a single value goes by its term if it may be in more tiles of the column. Comparing so many
// takes about as long as finding a term.
const termTiles = 256

func (s *valueSet) column() string { return s.field }

func (s *valueSet) patterns() []*termPattern {
	if s.terms == nil {
		return nil
	}
	return s.terms()
}

func (s *valueSet) spans(c *columns.Column) ([]columns.Span, bool, error) {
	lo, hi, ok, err := c.Keys(s.from, s.to)
	if err != nil || !ok {
		return nil, false, err
	}
	span := columns.Span{Lo: lo, Hi: hi}
	if s.terms != nil && !s.from.Open && !s.to.Open && columns.Compare(s.from.Value, s.to.Value) == 0 {
		if _, tiles := columns.NewSpans(c, span).Estimate(); tiles > termTiles {
			return nil, true, nil // one value is one term
		}
	}
	return []columns.Span{span}, false, nil
}

func (s *valueSet) appendText(to []byte) []byte {
	to = appendText(appendText(to, "values"), s.field)
	for _, b := range [...]columns.Bound{s.from, s.to} {
		if b.Open {
			to = append(to, 0)
			continue
		}
		if to = append(to, 1); b.Exclusive {
			to[len(to)-1] = 2
		}
		begin := len(to)
		to = withLength(b.Value.AppendTerm(to), begin)
	}
	return to
}

func (s *valueSet) documents(m *filterMaker, number int, set []uint64) (int, error) {
	return documentsOfTerms(s.patterns(), m, number, set)
}

func (s *valueSet) String() string {
	end := func(b columns.Bound) string {
		if b.Open {
			return "*"
		}
		return shownValue(b.Value)
	}
	brackets := [...]byte{'[', ']'}
	if s.from.Exclusive {
		brackets[0] = '{'
	}
	if s.to.Exclusive {
		brackets[1] = '}'
	}
	return fmt.Sprintf("%s:%c%s TO %s%c", s.field, brackets[0], end(s.from), end(s.to), brackets[1])
}

// shownValue is the text of a value for people.
func shownValue(v columns.Value) string {
	switch x := v.Any().(type) {
	case string:
		return fmt.Sprintf("%q", x)
	case interface{ Format(string) string }:
		return x.Format("2006-01-02T15:04:05.999999999Z07:00")
	default:
		return fmt.Sprint(x)
	}
}

// documentsOfTerms adds the documents of the terms of patterns.
func documentsOfTerms(patterns []*termPattern, m *filterMaker, number int, set []uint64) (terms int, err error) {
	for _, p := range patterns {
		n, err := p.documents(m, number, set)
		if err != nil {
			return 0, err
		}
		terms += n
	}
	return terms, nil
}

// A valueList is the documents that have one of some values of a field.
type valueList struct {
	field  string
	values []columns.Value // ascending, distinct
	terms  *termPattern    // nil for a field without terms
}

// manyValues: a list of more values goes by a column, if it has one value for each documentsPerValue
// documents. The lists of fewer terms take less time.
const (
	manyValues        = 64
	documentsPerValue = 512
)

func (s *valueList) column() string { return s.field }

func (s *valueList) patterns() []*termPattern {
	if s.terms == nil {
		return nil
	}
	return []*termPattern{s.terms}
}

func (s *valueList) spans(c *columns.Column) (keys []columns.Span, better bool, err error) {
	if s.terms != nil && len(s.values) < max(manyValues, c.SegmentDocs()/documentsPerValue) {
		return nil, true, nil
	}
	for _, v := range s.values {
		b := columns.Bound{Value: v}
		lo, hi, ok, err := c.Keys(b, b)
		if err != nil {
			return nil, false, err
		}
		if ok {
			keys = append(keys, columns.Span{Lo: lo, Hi: hi})
		}
	}
	return keys, false, nil
}

func (s *valueList) appendText(to []byte) []byte {
	to = appendText(appendText(to, "value list"), s.field)
	for _, v := range s.values {
		begin := len(to)
		to = withLength(v.AppendTerm(to), begin)
	}
	return to
}

func (s *valueList) documents(m *filterMaker, number int, set []uint64) (int, error) {
	return documentsOfTerms(s.patterns(), m, number, set)
}

// mostShownValues is how many values the text of a list has.
const mostShownValues = 10

func (s *valueList) String() string {
	var shown []string
	for _, v := range s.values[:min(len(s.values), mostShownValues)] {
		shown = append(shown, shownValue(v))
	}
	if n := len(s.values) - mostShownValues; n > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", n))
	}
	return fmt.Sprintf("%s:(%s)", s.field, strings.Join(shown, ", "))
}

// newValueList returns the documents that have one of some values.
func newValueList(field string, values []document.Value, terms *termPattern) *valueList {
	s := &valueList{field: field, terms: terms}
	for i := range values {
		s.values = append(s.values, values[i].Column())
	}
	slices.SortFunc(s.values, columns.Compare)
	s.values = slices.CompactFunc(s.values, func(a, b columns.Value) bool { return columns.Compare(a, b) == 0 })
	return s
}

// An exactSet is a columnSet of which spans says too much: exactly returns its documents.
type exactSet interface {
	exactly(c *columns.Column, spans *columns.Spans) tilesOfColumn
}

// tilesOfColumn are documents of a column, which know no segment.
type tilesOfColumn interface {
	Within(sheet int) uint64
	Tile(tile int, set *[64]uint64) (int, error)
}

// columnTiles are the documents of a set in a column of a segment.
type columnTiles struct {
	tilesOfColumn
	segment Segment // names the segment in errors
}

// Known implements blockmax.KnownSet. Tiles made from those of spans, such as a shape's, have fewer documents.
func (t columnTiles) Known() (docs []uint32, ok bool) {
	if s, is := t.tilesOfColumn.(*columns.Spans); is {
		return s.Known()
	}
	return nil, false
}

func (t columnTiles) Tile(tile int, set *[64]uint64) (int, error) {
	n, err := t.tilesOfColumn.Tile(tile, set)
	if err != nil {
		err = t.segment.At(err)
	}
	return n, err
}

// inColumn returns a set as tiles of the column of a segment; ok is false if its terms are to be used.
func inColumn(x Index, s documentSet, number int) (set blockmax.Set, inTiles int, ok bool, err error) {
	cs, is := s.(columnSet)
	if !is || cs.column() == "" {
		return set, 0, false, nil
	}
	c, err := x.Column(number, cs.column())
	if err != nil || c == nil {
		return set, 0, false, err
	}
	keys, better, err := cs.spans(c)
	if err != nil || better {
		if err != nil {
			err = x.Segment(number).At(err)
		}
		return set, 0, false, err
	}
	if len(keys) == 0 {
		return set, 0, true, nil
	}
	spans := columns.NewSpans(c, keys...)
	docs, inTiles := spans.Estimate()
	if docs == 0 {
		return set, 0, true, nil
	}
	tiles := tilesOfColumn(spans)
	if e, ok := s.(exactSet); ok {
		tiles = e.exactly(c, spans)
	}
	return blockmax.Set{Count: docs, Tiles: columnTiles{tiles, x.Segment(number)}}, inTiles, true, nil
}

// fill replaces bits by the documents of a set in a segment, and returns how many these are.
func (m *filterMaker) fill(s documentSet, number int, words []uint64) (count int, err error) {
	set, _, ok, err := inColumn(m.index, s, number)
	if err != nil {
		return 0, err
	}
	if ok {
		return set.Fill(words)
	}
	clear(words)
	if _, err := s.documents(m, number, words); err != nil {
		return 0, err
	}
	for _, word := range words {
		count += bits.OnesCount64(word)
	}
	return count, nil
}

// bitsIn returns the documents of a set in a segment as bits, which are not nil, and how many terms
// they come from.
func (m *filterMaker) bitsIn(s documentSet, number int) (words []uint64, terms int, err error) {
	docs := m.index.Segment(number).Reader().Docs()
	set, _, ok, err := inColumn(m.index, s, number)
	if err != nil {
		return nil, 0, err
	}
	if ok {
		set, err = set.Whole(docs)
		words = set.Bits
	}
	if words == nil {
		words = make([]uint64, (int(docs)+63)/64)
	}
	if !ok {
		terms, err = s.documents(m, number, words)
	}
	return words, terms, err
}
