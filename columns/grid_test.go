package columns

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// gridShapes make the bounds of grids: evenly spaced, of float keys around 0, anywhere, next to each other.
var gridShapes = map[string]func(rng *rand.Rand, n int) []uint64{
	"even": func(rng *rand.Rand, n int) (bounds []uint64) {
		first, gap := rng.Uint64(), rng.Uint64()>>(20+rng.IntN(44))+1
		for i := range n {
			bounds = append(bounds, first+uint64(i)*gap)
		}
		return bounds
	},
	"floats": func(rng *rand.Rand, n int) (bounds []uint64) {
		interval := math.Ldexp(1+rng.Float64(), rng.IntN(40)-20)
		first, offset := float64(rng.IntN(2*n+1)-n), []float64{0, 0, rng.Float64(), 3 * interval}[rng.IntN(4)]
		for i := range n {
			bounds = append(bounds, FloatKey((first+float64(i))*interval+offset))
		}
		return bounds
	},
	"anywhere": func(rng *rand.Rand, n int) (bounds []uint64) {
		for range n {
			bounds = append(bounds, rng.Uint64()>>rng.IntN(64))
		}
		return append(bounds, 1, 1<<63, math.MaxUint64, 1<<63-1)[rng.IntN(4):]
	},
	"near": func(rng *rand.Rand, n int) (bounds []uint64) {
		first := max(1, rng.Uint64N(1<<63)<<1>>(rng.IntN(2)*62))
		for i := range n {
			bounds = append(bounds, first+uint64(i)*rng.Uint64N(4))
		}
		return bounds
	},
}

// randomGrid makes a grid of up to n bounds, above 0 and below the greatest key.
func randomGrid(rng *rand.Rand, shape string, n int) *Grid {
	bounds := gridShapes[shape](rng, n)
	slices.Sort(bounds)
	if rng.IntN(4) > 0 {
		bounds = slices.Compact(bounds)
	}
	return NewGrid(slices.DeleteFunc(bounds, func(b uint64) bool { return b == 0 }))
}

// stepOf is the slow twin of a grid.
func stepOf(bounds []uint64, key uint64) (n uint64) {
	for _, b := range bounds {
		if b <= key {
			n++
		}
	}
	return n
}

// keysAround are keys at and around bounds, and anywhere.
func keysAround(rng *rand.Rand, bounds []uint64) (keys []uint64) {
	for range rng.IntN(200) {
		key := rng.Uint64() >> rng.IntN(64)
		if len(bounds) > 0 && rng.IntN(4) > 0 {
			key = bounds[rng.IntN(len(bounds))] + rng.Uint64N(5) - 2
		}
		keys = append(keys, key, []uint64{0, 1, 1<<63 - 1, 1 << 63, math.MaxUint64 - 1, math.MaxUint64}[rng.IntN(6)])
	}
	return keys
}

// TestGrid compares the steps of keys with counting bounds.
func TestGrid(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(41, 42))
		modes := map[string]int{}
		for shape := range gridShapes {
			for range 1000 {
				g := randomGrid(rng, shape, rng.IntN(1+rng.IntN(200)))
				switch {
				case g.cells == nil:
					modes["none"]++
				case g.coarse:
					modes["coarse"]++
				default:
					modes["cells"]++
				}
				first := rng.Uint64N(3)
				keys := keysAround(rng, g.bounds)
				steps := slices.Clone(keys)
				g.Steps(steps, first)
				for i, key := range keys {
					if want := first + stepOf(g.bounds, key); steps[i] != want || uint64(g.Step(key)) != want-first {
						t.Fatalf("%s: key %#x has steps %d and %d, want %d: bounds %#x", shape, key, steps[i], g.Step(key), want, g.bounds)
					}
				}
			}
		}
		for _, mode := range []string{"none", "coarse", "cells"} {
			if modes[mode] < 50 {
				t.Errorf("%d grids of mode %q: %v", modes[mode], mode, modes)
			}
		}
	})
}
