package main

import (
	"strconv"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/geo"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/riffle-search/riffle/bench/protocol"
)

// within is the query of a shape.
func within(q protocol.ColumnQuery) query.Query {
	n := q.Shape.Numbers
	switch q.Shape.Kind {
	case "distance":
		return inField(bleve.NewGeoDistanceQuery(n[1], n[0], strconv.FormatFloat(n[2], 'f', -1, 64)+"m"), q.Column)
	case "box":
		return inField(bleve.NewGeoBoundingBoxQuery(n[1], n[2], n[3], n[0]), q.Column)
	}
	ring := make([]geo.Point, 0, len(n)/2)
	for ; len(n) > 0; n = n[2:] {
		ring = append(ring, geo.Point{Lat: n[0], Lon: n[1]})
	}
	return inField(query.NewGeoBoundingPolygonQuery(ring), q.Column)
}
