package document

import (
	"fmt"
	"math"
	"math/big"
	"testing"
	"time"
)

// TestBetween compares spans with exact arithmetic, for all pairs of numbers at the edges.
func TestBetween(t *testing.T) {
	var values []Value
	for _, i := range []int64{math.MinInt64, math.MinInt64 + 1, -1<<53 - 1, -1 << 53, -2, -1, 0, 1, 2, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<62 + 1, math.MaxInt64 - 1, math.MaxInt64} {
		values = append(values, Int("n", i))
	}
	for _, u := range []uint64{1 << 63, 1<<63 + 1, 1<<63 + 1<<11, 1<<63 + 1<<11 + 1, math.MaxUint64 - 1<<11, math.MaxUint64 - 1<<11 + 1, math.MaxUint64 - 1, math.MaxUint64} {
		values = append(values, Uint("n", u))
	}
	for _, f := range []float64{-math.MaxFloat64, -1 << 64, -1.5, -0.5, -5e-324, 5e-324, 0.5, 1.5, 1<<52 + 0.5, 1 << 64, math.MaxFloat64} {
		values = append(values, Float("n", f))
	}
	number := func(v Value) *big.Float {
		switch v.Kind {
		case KindInt:
			return new(big.Float).SetInt64(int64(v.num))
		case kindUint:
			return new(big.Float).SetUint64(v.num)
		}
		return big.NewFloat(math.Float64frombits(v.num))
	}
	less := func(a, b Value) int { return number(a).Cmp(number(b)) }
	checkBetween(t, values, less)

	var times []Value
	for _, at := range []time.Time{{}, time.Unix(-1, 5), time.Unix(0, 0), time.Unix(0, 1), time.Unix(1, 0), time.Unix(1<<40, 0)} {
		times = append(times, Time("n", at))
	}
	checkBetween(t, times, func(a, b Value) int { return a.any().(time.Time).Compare(b.any().(time.Time)) })
}

func checkBetween(t *testing.T, values []Value, compare func(a, b Value) int) {
	bounds := []*Value{nil}
	for i := range values {
		bounds = append(bounds, &values[i])
	}
	inside := func(spans []Span, v Value) (n int) {
		term := string(AppendTerm(nil, v))
		for _, s := range spans {
			if string(s.From) <= term && term < string(s.To) {
				n++
			}
		}
		return n
	}
	for _, low := range bounds {
		for _, high := range bounds {
			for flags := range 4 {
				if low == nil && high == nil {
					continue
				}
				exclude, include := flags&1 != 0, flags&2 != 0
				spans := Between(low, high, exclude, include)
				for _, v := range values {
					want := 1
					if low != nil && (compare(v, *low) < 0 || compare(v, *low) == 0 && exclude) || high != nil && (compare(v, *high) > 0 || compare(v, *high) == 0 && !include) {
						want = 0
					}
					if got := inside(spans, v); got != want {
						name := func(v *Value) string {
							if v == nil {
								return "none"
							}
							return fmt.Sprint(v.any())
						}
						t.Fatalf("%v from %s (excluded %t) to %s (included %t): in %d spans, want %d", v.any(), name(low), exclude, name(high), include, got, want)
					}
				}
				for _, other := range []Value{Text("n", "x"), Text("n", ""), Bool("n", true), Bool("n", false)} {
					if inside(spans, other) != 0 {
						t.Fatalf("%v is between numbers or times", other.any())
					}
				}
			}
		}
	}
}
