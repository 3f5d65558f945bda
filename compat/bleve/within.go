package bleve

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/internal/hook"
)

// within matches documents that have a place in an area.
type within struct {
	m     *Mapping
	field string
	area  area
	text  string // tells areas apart
	boost float64
}

func (n within) query(*compiler) (riffle.Query, error) {
	var any []riffle.Query
	for _, field := range n.m.columns.placeFields(n.field) {
		any = append(any, hook.WithinShape(placeColumn(field), n.area, n.text).(riffle.Query))
	}
	q := one(any, riffle.Bool{Should: any})
	if q == nil {
		return nil, nil
	}
	return boosted(riffle.ConstantScore{Query: q, Score: 1}, n.boost), nil
}

func (n within) locate(d *located, to []location) (bool, []location) {
	for _, v := range d.valuesOf(n.field) {
		if v.kind == placeValue && v.indexed && n.area.has(v.place) {
			return true, to
		}
	}
	return false, to
}

// point reads a point of a query, in degrees.
func point(raw json.RawMessage) (lon, lat float64, err error) {
	var v any
	if err := unmarshal(raw, &v); err != nil {
		return 0, 0, err
	}
	lon, lat, ok := pointIn(v)
	if !ok || math.IsNaN(lon) || math.IsNaN(lat) {
		return 0, 0, errorf(`it is no point: {"lon": 13.4, "lat": 52.5}, [13.4, 52.5], "52.5,13.4" or a geohash is wanted`)
	}
	return lon, lat, nil
}

func (p *queryParser) box(place, field string, j *queryJSON, boost float64) (node, error) {
	west, north, err := point(j.TopLeft)
	if err != nil {
		return nil, placed(place+".top_left", err)
	}
	east, south, err := point(j.BottomRight)
	if err != nil {
		return nil, placed(place+".bottom_right", err)
	}
	if north < south {
		return nil, placed(place+".top_left", errorf("its latitude %v is below %v of bottom_right", north, south))
	}
	a := newRects(west, south, east, north)
	return within{p.m, field, a, a.String(), boost}, nil
}

func (p *queryParser) circle(place, field string, j *queryJSON, boost float64) (node, error) {
	lon, lat, err := point(j.Location)
	if err != nil {
		return nil, placed(place+".location", err)
	}
	var distance string
	if err := unmarshal(j.Distance, &distance); err != nil {
		return nil, placed(place+".distance", errorf(`a text such as "5km" is wanted`))
	}
	metres, err := parseDistance(distance)
	if err != nil {
		return nil, placed(place+".distance", err)
	}
	a, err := newCircle(lon, lat, metres)
	if err != nil {
		return nil, placed(place+".location", err)
	}
	if !(metres >= 0) {
		return some{}, nil // bleve finds nothing, and no error
	}
	return within{p.m, field, a, a.String(), boost}, nil
}

func (p *queryParser) polygon(field string, j *queryJSON, boost float64) (node, error) {
	var list []json.RawMessage
	if err := unmarshal(j.Polygon, &list); err != nil {
		return nil, errorf("a list of points is wanted")
	}
	var ring []corner
	for i, raw := range list {
		lon, lat, err := point(raw)
		if err != nil {
			return nil, placed(fmt.Sprintf("[%d]", i), err)
		}
		ring = append(ring, corner{lon, lat})
	}
	a, err := newPolygon(ring)
	if err != nil {
		return nil, err
	}
	return within{p.m, field, a, a.String(), boost}, nil
}
