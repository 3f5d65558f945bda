package function

import (
	"math"
	"slices"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/geo"
)

// Where the one part of a function is the Decay of a place, documents far from the origin have the number 0: the
// value is less than the last bit that counts. Most documents of most searches are so far away, and a Window tells by
// a few comparisons of a key, where a distance and a curve take 200 ns.

// leaveOutFar makes the numbers of keys far from the origin 0 without a look at their distance. The scale must be
// known.
func (s *Segment) leaveOutFar() {
	if len(s.sources) != 1 {
		return // another part's value comes to that of this one
	}
	src := &s.sources[0]
	if src.far = nil; src.None || src.Column == nil || src.part.Kind != Decay ||
		src.part.Origin.Kind != columns.Place || src.Column.Kind() != columns.Place {
		return
	}
	unit := 1.0
	if s.f.Coarse {
		unit = 1 << 16
	}
	// Half, since the last bits of a curve are not exact.
	metres := src.part.reach(0.5 * unit / (max(src.part.Weight, 1) * s.scale))
	if metres < geo.Farthest {
		w := geo.WindowOf(geo.Around(src.part.Place.Point, metres))
		src.far = &w
	}
}

// exact returns sources that tell values, however small they are.
func (s *Segment) exact() []source {
	exact := slices.Clone(s.sources)
	for i := range exact {
		exact[i].far = nil
	}
	return exact
}

// reach is a distance from which on the value of a Decay, without Weight, is at most least.
func (p *Part) reach(least float64) float64 {
	if least >= 1 {
		return p.Offset
	}
	scales := math.Log(least) / math.Log(p.AtScale) // of Exp
	switch p.Shape {
	case Gauss:
		scales = math.Sqrt(scales)
	case Linear:
		scales = (1 - least) / (1 - p.AtScale)
	}
	return (p.Offset+p.Scale*scales)*(1+1e-9) + 1
}
