package function

import (
	"math"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/geo"
)

// A Kind is a kind of Part.
type Kind uint8

const (
	Fixed  Kind = iota // 1
	Factor             // a function of a number
	Decay              // how near a value is to an origin
	Random             // chance
)

// A Modifier is the function of a Factor.
type Modifier uint8

const (
	None       Modifier = iota // x
	Log1p                      // ln(1 + x)
	Sqrt                       // the square root of x
	Reciprocal                 // 1 / (1 + x)
)

// A Shape is how a Decay falls with the distance.
type Shape uint8

const (
	Gauss Shape = iota
	Exp
	Linear
)

// A Part is one of the parts of a Function. Weight multiplies its value.
type Part struct {
	Kind   Kind
	Weight float64

	// Of a Factor: x is Factor times a value of the column, or times Missing for a document without one.
	// Negative x and NaN count as 0, and x above Most as Most.
	Modifier Modifier
	Factor   float64
	Missing  float64

	// Of a Decay: the value is 1 up to a distance of Offset from Origin, and AtScale at Scale more.
	// Documents without a value have 1.
	Shape                  Shape
	Origin                 columns.Value // a number; an instant, with distances in nanoseconds; or of kind Place
	Place                  geo.Origin    // instead of the Key of a place: the point itself, with distances in metres
	Scale, Offset, AtScale float64

	Seed uint64 // of Random
}

// Most is the greatest number that counts.
const Most = 1e30

// modify is the value of a Factor for a number, without Weight.
func (p *Part) modify(v float64) float64 {
	x := p.Factor * v
	if !(x > 0) {
		x = 0
	}
	x = min(x, Most)
	switch p.Modifier {
	case Log1p:
		return math.Log1p(x)
	case Sqrt:
		return math.Sqrt(x)
	case Reciprocal:
		return 1 / (1 + x)
	}
	return x
}

// decay is the value of a Decay at a distance, without Weight; ln is the logarithm of AtScale. It never rises
// with the distance.
func (p *Part) decay(distance, ln float64) float64 {
	d := distance - p.Offset
	if !(d > 0) { // NaN, too: of a value that is not a number
		if math.IsNaN(distance) {
			return 0
		}
		return 1
	}
	d /= p.Scale
	switch p.Shape {
	case Exp:
		return math.Exp(ln * d)
	case Linear:
		return max(0, 1-float64((1-p.AtScale)*d))
	}
	return math.Exp(ln * float64(d*d))
}

// chance is the value of Random for a document that a hash stands for.
func chance(hash uint64) float64 { return float64(hash>>32) / (1 << 32) }

// hash mixes a seed with the bytes that identify a document: FNV-1a, whose bits a multiplication by an odd
// number and shifts spread (the finalizer of SplitMix64). It is part of what a seed promises.
func hash(seed uint64, id []byte) uint64 {
	h := uint64(14695981039346656037)
	for i := range 8 {
		h = (h ^ seed>>(8*i)&0xff) * 1099511628211
	}
	for _, b := range id {
		h = (h ^ uint64(b)) * 1099511628211
	}
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
