package columns

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/internal/impl"
)

const benchDocs = 400_000

// benchColumn is a column of 400,000 documents with a value of some bits each.
func benchColumn(b *testing.B, key func(rng *rand.Rand, doc int) uint64, keys func(rng *rand.Rand, doc int) int) *Column {
	m := random(rand.New(rand.NewPCG(25, 26)), shape{key: key}, density{keys: keys}, benchDocs)
	c := open(b, build(b, m))
	if err := c.Check(); err != nil { // loads all parts
		b.Fatal(err)
	}
	return c
}

func ofWidth(width int) func(rng *rand.Rand, doc int) uint64 {
	return func(rng *rand.Rand, _ int) uint64 { return rng.Uint64() >> (64 - width) }
}

func one(*rand.Rand, int) int { return 1 }

// eachBench runs a benchmark once for each variant of the kernels.
func eachBench(b *testing.B, name string, test func(b *testing.B)) {
	for variant := range impl.Each("columns") {
		b.Run(name+"/"+variant, test)
	}
}

// poisson makes arrivals in nanoseconds, 6.5 s apart on average: of form linear.
func poisson() func(rng *rand.Rand, _ int) uint64 {
	now := uint64(1.7e18)
	return func(rng *rand.Rand, _ int) uint64 {
		now += uint64(rng.ExpFloat64() * 6.5e9)
		return now
	}
}

func perDoc(b *testing.B, docs int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(docs), "ns/doc")
}

// BenchmarkRange counts the documents of a range, at several widths and shares of documents.
func BenchmarkRange(b *testing.B) {
	for _, width := range []int{5, 8, 10, 16, 20, 26, 33, 64} {
		for _, share := range []float64{0.001, 0.5} {
			c := benchColumn(b, ofWidth(width), one)
			lo := uint64(1) << width / 4
			if width == 64 {
				lo = 1 << 62
			}
			hi := lo + uint64(share*float64(lo)*4)
			eachBench(b, fmt.Sprintf("bits=%d/share=%v", width, share), func(b *testing.B) {
				benchRange(b, c, lo, hi)
			})
		}
	}
}

func benchRange(b *testing.B, c *Column, lo, hi uint64) {
	var set [64]uint64
	for b.Loop() {
		for tile := range c.Tiles() {
			if _, err := c.RangeTile(tile, lo, hi, &set); err != nil {
				b.Fatal(err)
			}
		}
	}
	perDoc(b, benchDocs)
}

// BenchmarkRangeOf counts ranges of other columns: rising ones, of several values, with gaps.
func BenchmarkRangeOf(b *testing.B) {
	rising := func(rng *rand.Rand, doc int) uint64 { return uint64(doc)<<20 + rng.Uint64N(1<<20) }
	half := func(rng *rand.Rand, _ int) int { return rng.IntN(2) }
	several := func(rng *rand.Rand, _ int) int { return 1 + rng.IntN(4) }
	for _, k := range []struct {
		name   string
		c      *Column
		lo, hi uint64
	}{
		{"rising", benchColumn(b, rising, one), 100_000 << 20, 300_000 << 20},
		{"half", benchColumn(b, ofWidth(20), half), 1 << 18, 1 << 19},
		{"several", benchColumn(b, ofWidth(20), several), 1 << 18, 1 << 19},
	} {
		eachBench(b, k.name, func(b *testing.B) { benchRange(b, k.c, k.lo, k.hi) })
	}
}

// BenchmarkLoad reads the keys of all documents, tile by tile.
func BenchmarkLoad(b *testing.B) {
	millis := func(rng *rand.Rand, _ int) uint64 { return 1e18 + 1e6*rng.Uint64N(1e9) }
	rising := func(rng *rand.Rand, doc int) uint64 { return uint64(doc)<<20 + rng.Uint64N(1<<20) }
	few := func(rng *rand.Rand, _ int) uint64 { return rng.Uint64N(20) << 40 * rng.Uint64N(20) }
	for _, k := range []struct {
		name string
		c    *Column
	}{
		{"bits=10", benchColumn(b, ofWidth(10), one)},
		{"bits=20", benchColumn(b, ofWidth(20), one)},
		{"bits=40", benchColumn(b, ofWidth(40), one)},
		{"bits=64", benchColumn(b, ofWidth(64), one)},
		{"divisor", benchColumn(b, millis, one)},
		{"rising", benchColumn(b, rising, one)},
		{"arrivals", benchColumn(b, poisson(), one)},
		{"table", benchColumn(b, few, one)},
		{"half", benchColumn(b, ofWidth(20), func(rng *rand.Rand, _ int) int { return rng.IntN(2) })},
		{"several", benchColumn(b, ofWidth(20), func(rng *rand.Rand, _ int) int { return 1 + rng.IntN(4) })},
	} {
		eachBench(b, k.name, func(b *testing.B) {
			var dst [TileDocs]uint64
			var have [64]uint64
			for b.Loop() {
				for tile := range k.c.Tiles() {
					if err := k.c.Load(tile, Least, &dst, &have); err != nil {
						b.Fatal(err)
					}
				}
			}
			perDoc(b, benchDocs)
		})
	}
}

// BenchmarkGather reads the keys of one document of twelve, one by one.
func BenchmarkGather(b *testing.B) {
	for name, key := range map[string]func(rng *rand.Rand, doc int) uint64{"bits=20": ofWidth(20), "bits=45": ofWidth(45), "arrivals": poisson()} {
		b.Run(name, func(b *testing.B) { benchGather(b, benchColumn(b, key, one)) })
	}
}

func benchGather(b *testing.B, c *Column) {
	var docs []uint32
	rng := rand.New(rand.NewPCG(27, 28))
	for doc := rng.IntN(24); doc < benchDocs; doc += 1 + rng.IntN(24) {
		docs = append(docs, uint32(doc))
	}
	dst, have := make([]uint64, len(docs)), make([]bool, len(docs))
	for b.Loop() {
		if err := c.Gather(docs, Least, dst, have); err != nil {
			b.Fatal(err)
		}
	}
	perDoc(b, len(docs))
}

// sets returns a set of documents for each tile, a share of all.
func sets(c *Column, share float64) (sets [][64]uint64, docs int) {
	rng := rand.New(rand.NewPCG(29, 30))
	sets = make([][64]uint64, c.Tiles())
	for doc := range benchDocs {
		if rng.Float64() < share {
			sets[doc/TileDocs][doc/64%64] |= 1 << (doc % 64)
			docs++
		}
	}
	return sets, docs
}

// BenchmarkSelect reads the keys of a share of documents.
func BenchmarkSelect(b *testing.B) {
	for _, share := range []float64{0.01, 0.085, 0.5, 1} {
		c := benchColumn(b, ofWidth(20), one)
		sets, docs := sets(c, share)
		eachBench(b, fmt.Sprintf("share=%v", share), func(b *testing.B) {
			var s Selection
			for b.Loop() {
				for tile := range sets {
					if err := c.Select(tile, &sets[tile], Least, &s); err != nil {
						b.Fatal(err)
					}
				}
			}
			perDoc(b, docs)
		})
	}
}

// BenchmarkCount counts the values of a share of documents: 1,000 and 5 values, evenly distributed.
func BenchmarkCount(b *testing.B) {
	three := func(*rand.Rand, int) int { return 3 }
	for _, of := range []struct {
		values uint64
		keys   func(*rand.Rand, int) int
		name   string
	}{{5, one, "5"}, {1000, one, "1000"}, {1000, three, "3x1000"}} {
		values := of.values
		for _, share := range []float64{0.001, 0.01, 0.085, 0.5, 1} {
			c := benchColumn(b, func(rng *rand.Rand, _ int) uint64 { return rng.Uint64N(values) }, of.keys)
			sets, docs := sets(c, share)
			eachBench(b, fmt.Sprintf("values=%s/share=%v", of.name, share), func(b *testing.B) {
				counts := make([]uint32, values)
				for b.Loop() {
					for tile := range sets {
						if err := c.Count(tile, &sets[tile], 0, counts); err != nil {
							b.Fatal(err)
						}
					}
				}
				perDoc(b, docs)
			})
		}
	}
}

// BenchmarkBuild encodes columns.
func BenchmarkBuild(b *testing.B) {
	rising := func(rng *rand.Rand, doc int) uint64 { return uint64(doc)<<20 + rng.Uint64N(1<<20) }
	few := func(rng *rand.Rand, _ int) uint64 { return rng.Uint64N(20) << 40 * rng.Uint64N(20) }
	for _, k := range []struct {
		name string
		key  func(rng *rand.Rand, doc int) uint64
	}{{"bits=20", ofWidth(20)}, {"bits=64", ofWidth(64)}, {"rising", rising}, {"arrivals", poisson()}, {"table", few}} {
		b.Run(k.name, func(b *testing.B) {
			m := random(rand.New(rand.NewPCG(25, 26)), shape{key: k.key}, density{keys: one}, benchDocs)
			for b.Loop() {
				builder := NewBuilder(Uint, func(uint32, []byte) error { return nil })
				for doc, keys := range m.docs {
					if err := builder.Add(uint32(doc), keys...); err != nil {
						b.Fatal(err)
					}
				}
				if err := builder.Finish(benchDocs); err != nil {
					b.Fatal(err)
				}
			}
			perDoc(b, benchDocs)
		})
	}
}
