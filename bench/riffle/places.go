package main

import (
	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/bench/protocol"
)

func point(latLon []float64) riffle.Point { return riffle.Point{Lat: latLon[0], Lon: latLon[1]} }

func within(q protocol.ColumnQuery) riffle.Query {
	n := q.Shape.Numbers
	switch q.Shape.Kind {
	case "distance":
		return riffle.WithinDistance{Field: q.Column, Point: point(n), Metres: n[2]}
	case "box":
		return riffle.WithinBox{Field: q.Column, South: n[0], West: n[1], North: n[2], East: n[3]}
	}
	ring := make([]riffle.Point, 0, len(n)/2)
	for ; len(n) > 0; n = n[2:] {
		ring = append(ring, point(n))
	}
	return riffle.WithinPolygon{Field: q.Column, Points: ring}
}

var scoreModes = map[string]riffle.FunctionMode{
	"sum": riffle.FunctionAdd, "multiply": riffle.FunctionMultiply, "replace": riffle.FunctionReplace,
}

func scored(query riffle.Query, q protocol.ColumnQuery) riffle.Query {
	n := q.Score.Numbers
	var f riffle.ScoreFunction
	switch {
	case q.Score.Kind == "log1p":
		f = riffle.FieldFactor{Field: q.Column, Modifier: riffle.ModifierLog1p, Factor: n[0]}
	case len(n) == 3:
		f = riffle.Decay{Field: q.Column, Origin: point(n), Scale: n[2]}
	default:
		f = riffle.Decay{Field: q.Column, Origin: n[0], Scale: n[1]}
	}
	return riffle.FunctionScore{Query: query, Functions: []riffle.ScoreFunction{f}, Mode: scoreModes[q.Score.Mode]}
}
