package exectest

import (
	"math/rand/v2"
	"slices"

	"github.com/riffle-search/riffle/proximity"
)

// NewExpr makes a random expression over some terms.
func NewExpr(rng *rand.Rand, terms int) *proximity.Expr {
	e := newExpr(rng, terms, 2, true)
	return &e
}

func newExpr(rng *rand.Rand, terms, depth int, top bool) proximity.Expr {
	if depth == 0 || rng.IntN(4) == 0 {
		return newWord(rng, terms)
	}
	op := proximity.Op(1 + rng.IntN(10))
	for !top && op == proximity.Near {
		op = proximity.Op(1 + rng.IntN(10))
	}
	e := proximity.Expr{Op: op, Max: rng.IntN(4)}
	parts := 1 + rng.IntN(3)
	switch op {
	case proximity.Containing, proximity.ContainedBy, proximity.NotContaining:
		parts = 2
	case proximity.First:
		e.Max, parts = 1+rng.IntN(12), 1
	case proximity.Repeat:
		e.Max, parts = 1+rng.IntN(3), 1
	case proximity.Ordered, proximity.Unordered:
		if rng.IntN(3) == 0 {
			e.Max = proximity.NoLimit
		}
	case proximity.Phrase:
		if !top || rng.IntN(2) == 0 {
			e.Max = 0
		}
		if e.Max > 0 {
			parts++
		}
	}
	offset := uint32(0)
	for range parts {
		switch op {
		case proximity.Phrase:
			e.Parts, e.Offsets = append(e.Parts, newWord(rng, terms)), append(e.Offsets, offset)
			offset += []uint32{0, 1, 1, 1, 2}[rng.IntN(5)]
		case proximity.Near:
			p := newWord(rng, terms)
			if rng.IntN(2) == 0 {
				p = proximity.Expr{Op: proximity.Phrase, Parts: []proximity.Expr{p, newWord(rng, terms)}, Offsets: []uint32{0, 1 + rng.Uint32N(2)}}
			}
			e.Parts = append(e.Parts, p)
		default:
			e.Parts = append(e.Parts, newExpr(rng, terms, depth-1, false))
		}
	}
	return e
}

func newWord(rng *rand.Rand, terms int) proximity.Expr {
	e := proximity.Expr{Op: proximity.Word, Terms: []int{rng.IntN(terms)}}
	if t := rng.IntN(terms); rng.IntN(6) == 0 && t != e.Terms[0] {
		e.Terms = append(e.Terms, t)
	}
	return e
}

// NewPositions makes n positions, close together so that words of several terms meet. Some are the
// same, and some above 1<<16.
func NewPositions(rng *rand.Rand, n uint32) (at []uint32) {
	reach := []uint32{n + 1, 2*n + 4}[rng.IntN(2)]
	for range n {
		at = append(at, rng.Uint32N(reach))
	}
	slices.Sort(at)
	if rng.IntN(3) > 0 {
		at = slices.Compact(at)
	}
	for uint32(len(at)) < n { // always n
		at = append(at, at[len(at)-1]+1+rng.Uint32N(2))
	}
	if n > 0 && rng.IntN(64) == 0 {
		at[n-1] += 1 << 17
	}
	return at
}
