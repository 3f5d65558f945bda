package main

import (
	"math"
	"slices"

	"github.com/riffle-search/riffle"
)

// spot is a field of places, which updates can change, too. All lie within some 200 km on both sides of the
// date line, and have so few decimals that they come back as they were.
const spot = "spot"

func (r random) spot() riffle.Point {
	return onEarth(riffle.Point{Lat: 50 + float64(r.IntN(8))/4, Lon: 179 + float64(r.IntN(8))/4})
}

// onEarth returns a point with a longitude from -180 to below 180 degrees.
func onEarth(p riffle.Point) riffle.Point {
	switch {
	case p.Lon >= 180:
		p.Lon -= 360
	case p.Lon < -180:
		p.Lon += 360
	}
	return p
}

// metres is the distance of two points by the haversine formula.
func metres(a, b riffle.Point) float64 {
	const radius, degree = 6_371_008.77, math.Pi / 180
	lat, lon := math.Sin((b.Lat-a.Lat)*degree/2), math.Sin((b.Lon-a.Lon)*degree/2)
	return 2 * radius * math.Asin(math.Sqrt(lat*lat+math.Cos(a.Lat*degree)*math.Cos(b.Lat*degree)*lon*lon))
}

// near reports whether a document is within a distance.
func (d document) near(q riffle.WithinDistance) bool {
	p, ok := d[q.Field].(riffle.Point)
	return ok && metres(p, q.Point) <= q.Metres
}

// in reports whether a document is in a box.
func (d document) in(q riffle.WithinBox) bool {
	p, ok := d[q.Field].(riffle.Point)
	if !ok || p.Lat < q.South || p.Lat > q.North {
		return false
	}
	if q.West <= q.East {
		return q.West <= p.Lon && p.Lon <= q.East
	}
	return q.West <= p.Lon || p.Lon <= q.East
}

// spotQuery makes a query of places. Its bounds lie between the places that there are.
func (r random) spotQuery() riffle.Query {
	p := r.spot()
	if r.IntN(2) == 0 {
		return riffle.WithinDistance{Field: spot, Point: p, Metres: float64(1000*r.IntN(160) + 77)}
	}
	low := onEarth(riffle.Point{Lat: p.Lat - 0.1, Lon: p.Lon - 0.1})
	high := onEarth(riffle.Point{Lat: p.Lat + 0.25*float64(r.IntN(5)) + 0.1, Lon: p.Lon + 0.25*float64(r.IntN(5)) + 0.1})
	return riffle.WithinBox{Field: spot, South: low.Lat, North: high.Lat, West: low.Lon, East: high.Lon}
}

// sameDistances compares the documents sorted by their distance with those of a model.
func sameDistances(s *riffle.Snapshot, m model) error {
	from := riffle.Point{Lat: 50.61, Lon: 179.93} // no two places are equally far
	var want []string
	for _, id := range m.ids() {
		if m[id][spot] != nil {
			want = append(want, id)
		}
	}
	slices.SortStableFunc(want, func(a, b string) int {
		switch a, b := metres(from, m[a][spot].(riffle.Point)), metres(from, m[b][spot].(riffle.Point)); {
		case a < b-1:
			return -1
		case a > b+1:
			return 1
		}
		return 0
	})
	r, err := s.Search(background, riffle.WithinDistance{Field: spot, Point: from, Metres: 1e7}, &riffle.SearchOptions{
		K: riffle.MaxK, Sort: []riffle.SortKey{{Field: spot, From: &from}, {ID: true}}, Load: []string{spot},
	})
	if err != nil {
		return err
	}
	if len(r.Hits) != len(want) {
		return wrongf("sorted by distance: %d hits, want %d", len(r.Hits), len(want))
	}
	for i, h := range r.Hits {
		at := m[want[i]][spot].(riffle.Point)
		if d, ok := h.Sort[0].(float64); h.ID != want[i] || h.Fields[spot] != at || !ok || math.Abs(d-metres(from, at)) > 1 {
			return wrongf("sorted by distance: hit %d is %q at %v, %v m away; want %q at %v", i, h.ID, h.Fields[spot], h.Sort[0], want[i], at)
		}
	}
	return nil
}
