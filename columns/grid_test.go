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
func randomGrid(rng *rand.Rand, c *Column, shape string, n int) *Grid {
	bounds := gridShapes[shape](rng, n)
	slices.Sort(bounds)
	if rng.IntN(4) > 0 {
		bounds = slices.Compact(bounds)
	}
	return NewGrid(c, slices.DeleteFunc(bounds, func(b uint64) bool { return b == 0 }))
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
		c := open(t, build(t, model{docs: [][]uint64{{0}, {math.MaxUint64}}, kind: Uint}))
		for shape := range gridShapes {
			for range 1000 {
				g := randomGrid(rng, c, shape, rng.IntN(1+rng.IntN(200)))
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

// checkSteps compares counts of steps of a tile with those of each key. Steps are even, or begin anywhere.
func checkSteps(t *testing.T, c *Column, tile int, set *[64]uint64, keys []uint64, rng *rand.Rand) {
	t.Helper()
	least, greatest := c.Bounds()
	n := rng.IntN(1 + rng.IntN(600))
	gap := max(1, (greatest-least)/uint64(n+1))
	var bounds []uint64
	for i := range n {
		b := least + uint64(i+1)*gap
		if n%4 == 0 && greatest > least {
			b = least + 1 + rng.Uint64N(greatest-least)
		}
		if b <= greatest {
			bounds = append(bounds, b)
		}
	}
	slices.Sort(bounds)
	g := NewGrid(c, bounds)
	got, want := make([]uint32, n+1), make([]uint32, n+1)
	ok, err := c.CountSteps(tile, set, g, got)
	if err != nil {
		t.Fatal(err)
	}
	of := c.d.tile(tile)
	if few := (greatest-least)/c.Divisor() < 1<<32 && gap >= c.Divisor() && n%4 > 0; ok != (of == nil || of.hasNumbers() && (of.form == table || g.cells32 != nil || few)) {
		t.Fatalf("tile %d: %v for %d steps", tile, ok, n+1)
	}
	if !ok {
		return
	}
	for _, k := range keys {
		want[g.Step(k)]++
	}
	if !slices.Equal(got, want) {
		t.Fatalf("tile %d: %d, want %d, of %d", tile, got, want, bounds)
	}
}
