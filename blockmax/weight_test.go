package blockmax

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestScaleKeepsSumsBelow31Bits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		weights := make([]float64, rng.IntN(40))
		for i := range weights {
			if rng.IntN(5) > 0 {
				weights[i] = math.Exp(rng.NormFloat64() * 20)
			}
		}
		ints, scale := Scale(weights)
		sum, real := uint64(0), 0.0
		for i, w := range ints {
			sum, real = sum+uint64(w), real+weights[i]
			if math.Abs(float64(w)-weights[i]*scale) > 0.5 {
				t.Fatalf("Scale(%v): weight %d is %d, %v off", weights, i, w, float64(w)-weights[i]*scale)
			}
		}
		if sum >= 1<<31 || real > 0 && sum < 1<<29 {
			t.Fatalf("Scale(%v) = %v, sum %d is not in [1<<29, 1<<31)", weights, ints, sum)
		}
		if frac, _ := math.Frexp(scale); frac != 0.5 {
			t.Fatalf("Scale(%v): scale %v is no power of two", weights, scale)
		}
	}
}

func TestScaleEnds(t *testing.T) {
	for _, c := range []struct {
		weights []float64
		ints    []uint32
		scale   float64
	}{
		{nil, []uint32{}, 1},
		{[]float64{0, 0}, []uint32{0, 0}, 1},
		{[]float64{2, 1}, []uint32{1 << 30, 1 << 29}, 1 << 29},
		{[]float64{1, 1}, []uint32{1 << 29, 1 << 29}, 1 << 29}, // 1<<30 each would make 1<<31
		{[]float64{5e-324}, []uint32{0}, 0x1p1000},
	} {
		ints, scale := Scale(c.weights)
		if !slices.Equal(ints, c.ints) || scale != c.scale {
			t.Errorf("Scale(%v) = %v, %v, want %v, %v", c.weights, ints, scale, c.ints, c.scale)
		}
	}
}

// TestPackageExample compares the figures of the package comment with the code.
func TestPackageExample(t *testing.T) {
	ints, scale := Scale([]float64{2, 1})
	table, code := NewTable(DefaultBM25, 10), LengthCode(10)
	got := []uint32{
		Contribution(ints[0], table.Impact(1, code)), Contribution(ints[1], table.Impact(1, code)),
		Contribution(ints[0], table.Impact(3, code)), Contribution(ints[1], table.Impact(3, code)),
	}
	if want := []uint32{488062976, 244031488, 766951424, 383475712}; !slices.Equal(got, want) {
		t.Errorf("contributions %v, want %v", got, want)
	}
	if public := float64(got[0]+got[3]) / scale; math.Abs(public-1.62337) > 5e-6 {
		t.Errorf("public score %v, want 1.62337", public)
	}
}

func TestSuffixMax(t *testing.T) {
	if got := SuffixMax([]uint32{3, 9, 2, 5, 1}); !slices.Equal(got, []uint32{9, 9, 5, 5, 1}) {
		t.Error(got)
	}
}
