package blockmax

import (
	"fmt"
	"math"
)

// Contribution is what a posting of a given impact adds to a score under weight
// w. It is monotone in both, and never above w.
func Contribution(w uint32, impact uint16) uint32 {
	return uint32(uint64(w) * uint64(impact) >> 16)
}

// Scale turns the real weights of a query into integers whose sum is below 1<<31. Pass everything a
// document can score at once: the weight of every term (twice if the query counts it twice), of the
// static rank, and constant scores. The public score is an integer score divided by scale.
//
// The scale is a power of two, so that dividing by it is exact and the same term scores the same in
// queries of similar size. It costs at most one of 31 bits, while impacts have 16.
//
// Weights must be finite and not negative, and so must their sum. When all are zero the scale is 1.
func Scale(weights []float64) (ints []uint32, scale float64) {
	return AppendScaled(make([]uint32, 0, len(weights)), weights)
}

// AppendScaled is Scale, but appends the integers to dst.
func AppendScaled(dst []uint32, weights []float64) (ints []uint32, scale float64) {
	sum := 0.0
	for _, w := range weights {
		if !(w >= 0) {
			panic(fmt.Sprintf("BUG: blockmax: weight %v, want one that is not negative", w))
		}
		sum += w
	}
	if math.IsInf(sum, 1) {
		panic(fmt.Sprintf("BUG: blockmax: weights %v add up to infinity", weights))
	}
	if sum == 0 {
		for range weights {
			dst = append(dst, 0)
		}
		return dst, 1
	}
	// Rounding adds at most half to each weight.
	room := float64(1<<31-1) - float64(len(weights))
	_, exp := math.Frexp(min(room/sum, 0x1p1000)) // finite even for the tiniest sums
	scale = math.Ldexp(1, exp-1)                  // <= room/sum
	for _, w := range weights {
		dst = append(dst, uint32(math.RoundToEven(float64(w*scale))))
	}
	return dst, scale
}

// SuffixMax turns the bounds of tiles into bounds of "this tile and all later
// ones", in place: the form of Segment.Tail.
func SuffixMax(tiles []uint32) []uint32 {
	for i := len(tiles) - 2; i >= 0; i-- {
		tiles[i] = max(tiles[i], tiles[i+1])
	}
	return tiles
}
