package plan

import (
	"encoding/json"
	"fmt"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/geo"
	"github.com/riffle-search/riffle/internal/shapes"
)

// A placeSet is the documents that have a place of a field within a shape.
type placeSet struct {
	field  string
	region *shapes.Region
	text   string // of the shape, for people, and to tell shapes apart
}

// WithinDistance returns the shape of riffle.WithinDistance.
func WithinDistance(p geo.Point, metres float64) (shapes.Shape, error) {
	if err := p.Check(); err != nil {
		return nil, Errorf("WithinDistance.Point", "%w", err)
	}
	c, err := shapes.NewCircle(p, metres)
	if err != nil {
		return nil, Errorf("WithinDistance.Metres", "%w", err)
	}
	return c, nil
}

// WithinBox returns the shape of riffle.WithinBox.
func WithinBox(b geo.Box) (shapes.Shape, error) {
	r, err := shapes.NewRect(b)
	if err != nil {
		return nil, Errorf("WithinBox", "%w", err)
	}
	return r, nil
}

// WithinPolygon returns the shape of riffle.WithinPolygon.
func WithinPolygon(ring []geo.Point, holes [][]geo.Point) (shapes.Shape, error) {
	p, err := shapes.NewPolygon(ring, holes...)
	if err != nil {
		return nil, Errorf("WithinPolygon", "%w", err)
	}
	return p, nil
}

// Within returns the clause of the documents with a place of a field within a shape. query is the query,
// whose JSON describes the shape.
func (rw *Rewriter) Within(part, field string, s shapes.Shape, query json.Marshaler, score float64) (Clause, error) {
	if err := rw.CheckPlaces(part+".Field", field); err != nil {
		return Clause{}, err
	}
	text, err := query.MarshalJSON()
	if err != nil {
		return Clause{}, err
	}
	return setOf(&placeSet{field, shapes.NewRegion(s), string(text)}, score), nil
}

// CheckPlaces reports why a field cannot have places, if that is so. part names who wants them.
func (rw *Rewriter) CheckPlaces(part, field string) error {
	if rw.index == nil {
		if field == "" {
			return Errorf(part, "is empty")
		}
		return nil
	}
	if f, declared := rw.iv.Schema.Fields[field]; declared && f.Type != document.PlaceField {
		return Errorf(part, "field %q has values of type %s, not places", document.ShortName(field), f.Type)
	}
	return rw.CheckColumn(part, field)
}

func (s *placeSet) column() string           { return s.field }
func (s *placeSet) patterns() []*termPattern { return nil } // places have no terms

// spans implements columnSet. They have other documents, too: see exactly.
func (s *placeSet) spans(c *columns.Column) ([]columns.Span, bool, error) {
	if c.Kind() == columns.Place {
		return s.region.Spans(), false, nil
	}
	return s.keysOfTerms(c)
}

// keysOfTerms returns the keys of the places within the shape in a column of values of several types,
// which has their terms.
func (s *placeSet) keysOfTerms(c *columns.Column) (keys []columns.Span, better bool, err error) {
	if c.Kind() != columns.Terms {
		return nil, false, nil
	}
	first, last := columns.Value{Kind: columns.Place}, columns.Value{Kind: columns.Place, Key: ^uint64(0)}
	lo, hi, ok, err := c.Keys(columns.Bound{Value: first}, columns.Bound{Value: last})
	if err != nil || !ok {
		return nil, false, err
	}
	err = c.Dictionary().Each(int(lo), int(min(hi, uint64(c.Dictionary().Len()-1)))+1, func(ordinal int, term []byte) error {
		v, err := columns.ParseTerm(term)
		if err == nil && s.region.Contains(v.Key) {
			keys = append(keys, columns.Span{Lo: uint64(ordinal), Hi: uint64(ordinal)})
		}
		return err
	})
	return keys, false, err
}

// exactly returns the documents of a column of places that are within the shape, of those that have
// keys in spans.
func (s *placeSet) exactly(c *columns.Column, spans *columns.Spans) tilesOfColumn {
	if c.Kind() != columns.Place {
		return spans
	}
	return s.region.Within(c, spans)
}

// appendText implements documentSet. The JSON has the name of the field, too, but escaped.
func (s *placeSet) appendText(to []byte) []byte {
	return appendText(appendText(appendText(to, "within"), s.field), s.text)
}

func (s *placeSet) documents(*filterMaker, int, []uint64) (int, error) { return 0, nil }

func (s *placeSet) String() string { return fmt.Sprintf("%s within %s", s.field, s.text) }
