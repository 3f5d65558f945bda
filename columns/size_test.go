package columns

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// sizes are columns of 400,000 documents, and the most bytes that a value may take.
func sizes() []struct {
	shape
	keys func(rng *rand.Rand, doc int) int
	most float64
} {
	levels := rand.NewZipf(rand.New(rand.NewPCG(41, 42)), 1.1, 1, 999)
	type size = struct {
		shape
		keys func(rng *rand.Rand, doc int) int
		most float64
	}
	of := func(name string, most float64, key func(rng *rand.Rand, doc int) uint64) size {
		return size{shape{name, key}, one, most}
	}
	arrivals, departures := uint64(0), uint64(0)
	all := []size{
		of("random, 20 bits", 2.51, ofWidth(20)),
		of("random, 400,000 values", 2.39, func(rng *rand.Rand, _ int) uint64 { return rng.Uint64N(400_000) }),
		of("random, 64 bits", 8.02, ofWidth(64)),
		of("the document's number", 0.02, func(_ *rand.Rand, doc int) uint64 { return uint64(doc) }),
		of("arrivals, 1 s apart on average, ms", 2.0, func(rng *rand.Rand, _ int) uint64 {
			arrivals += uint64(rng.ExpFloat64() * 1000)
			return 1.7e18 + arrivals*1e6
		}),
		of("the same, latest first", 2.0, func(rng *rand.Rand, _ int) uint64 {
			departures += uint64(rng.ExpFloat64() * 1000)
			return 1.8e18 - departures*1e6
		}),
		of("arrivals, 6.5 s apart on average, ns", 4.9, poisson()),
		of("ms of a year at random", 4.39, func(rng *rand.Rand, _ int) uint64 { return 1.7e18 + 1e6*rng.Uint64N(365*86400*1000) }),
		of("4 values", 0.26, func(rng *rand.Rand, _ int) uint64 { return rng.Uint64N(4) }),
		of("20 values of 64 bits", 0.68, func(rng *rand.Rand, _ int) uint64 { return (1 + rng.Uint64N(20)) * 0x9e3779b97f4a7c15 }),
		of("1,000 values, Zipf", 1.26, func(*rand.Rand, int) uint64 { return levels.Uint64() }),
		of("floats, two decimals", 7.7, func(rng *rand.Rand, _ int) uint64 { return FloatKey(float64(rng.IntN(100_000)) / 100) }),
		of("constant", 0.01, func(*rand.Rand, int) uint64 { return 5 }),
	}
	half, rare, few := all[0], all[0], all[0]
	half.name, half.keys, half.most = "random, 20 bits, half of all documents", func(rng *rand.Rand, _ int) int { return rng.IntN(2) }, 2.77
	rare.name, rare.keys, rare.most = "random, 20 bits, one of 100 documents", func(rng *rand.Rand, _ int) int { return rng.IntN(100) / 99 }, 4.6
	few.name, few.keys, few.most = "random, 20 bits, 1 to 4 values", func(rng *rand.Rand, _ int) int { return 1 + rng.IntN(4) }, 2.64
	three := all[0]
	three.name, three.keys, three.most = "random, 20 bits, 3 values", func(*rand.Rand, int) int { return 3 }, 2.51
	return append(all, half, rare, few, three)
}

// TestSize checks the bytes of columns and dictionaries. With -v it prints them.
func TestSize(t *testing.T) {
	for _, s := range sizes() {
		m := random(rand.New(rand.NewPCG(25, 26)), s.shape, density{keys: s.keys}, benchDocs)
		bytes, values := bytesOf(build(t, m)), 0
		for _, keys := range m.docs {
			values += len(keys)
		}
		each := float64(bytes) / float64(values)
		t.Logf("%-40s %7d values %8d bytes %6.3f bytes/value", s.name, values, bytes, each)
		if each > s.most {
			t.Errorf("%s: %.3f bytes a value, at most %.3f", s.name, each, s.most)
		}
	}
	rng := rand.New(rand.NewPCG(43, 44))
	for name, c := range map[string]struct {
		makeTerm func() string
		most     float64
	}{
		"hosts": {func() string {
			return fmt.Sprintf("web-%04d.eu-%d.example.com", rng.IntN(10_000), rng.IntN(3))
		}, 5.5},
		"hex":   {func() string { return fmt.Sprintf("%08x", rng.Uint32()) }, 5.93},
		"paths": {func() string { return fmt.Sprintf("/shop/item/%d/review/%d", rng.IntN(50_000), rng.IntN(50)) }, 9},
	} {
		var terms []string
		bytes := 0
		for range 100_000 {
			terms = append(terms, c.makeTerm())
		}
		slices.Sort(terms)
		terms = slices.Compact(terms)
		for _, term := range terms {
			bytes += len(term)
		}
		s := build(t, model{Terms, [][]uint64{{0}}}, terms...)
		each := float64(bytesOf(s)) / float64(len(terms))
		t.Logf("%-40s %7d terms  %8d bytes %6.3f bytes/term of %.1f", name, len(terms), bytesOf(s), each, float64(bytes)/float64(len(terms)))
		if each > c.most {
			t.Errorf("%s: %.3f bytes a term, at most %.3f", name, each, c.most)
		}
	}
}

func bytesOf(s store) (n int) {
	for _, data := range s {
		n += len(data)
	}
	return n
}
