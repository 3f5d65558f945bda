package aggregate

import (
	"math"
	"math/bits"
)

// ratio returns the float64 that is nearest to a number of 128 bits divided by another above 0.
func ratio(high, low, by uint64) float64 {
	n := bits.Len64(low)
	if high > 0 {
		n = 64 + bits.Len64(high)
	}
	if n == 0 {
		return 0
	}
	// Scaled so that the quotient has 63 or 64 bits. Of what it lacks, rounding to 53 bits only needs to know
	// whether it is zero.
	scale := bits.Len64(by) + 63 - n
	rest := uint64(0)
	switch {
	case scale >= 64:
		high, low = low<<(scale-64), 0
	case scale > 0:
		high, low = high<<scale|low>>(64-scale), low<<scale
	case scale < 0:
		drop := -scale // at most 64
		rest = low & (1<<drop - 1)
		low, high = high<<(64-drop)|low>>drop, high>>drop
	}
	quotient, left := bits.Div64(high, low, by)
	if rest|left != 0 {
		quotient |= 1
	}
	return math.Ldexp(float64(quotient), -scale)
}

// ofIntegers sets the sum, mean and variance of n integers, and reports whether these are small enough: their
// squares add up to 64 bits.
func (t *total) ofIntegers(n int64, s *StatsResult) bool {
	if t.digits != nil || t.far != nil || t.squares[1]|t.squares[2] != 0 || n >= 1<<32 {
		return false
	}
	// The square of the sum is at most n times the sum of squares, so the sum has 49 bits.
	sum, abs := int64(t.low), uint64(max(int64(t.low), -int64(t.low)))
	s.Sum = float64(sum)
	s.Mean = math.Copysign(ratio(0, abs, uint64(n)), s.Sum)
	high, low := bits.Mul64(t.squares[0], uint64(n))
	lessHigh, less := bits.Mul64(abs, abs)
	low, borrow := bits.Sub64(low, less, 0)
	s.Variance = ratio(high-lessHigh-borrow, low, uint64(n)*uint64(n))
	return true
}
