package aggregate

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/riffle-search/riffle/columns"
)

// BenchmarkRun measures aggregations of two million log lines on one goroutine, in nanoseconds a document
// that matches: all documents, or every second, hundredth and thousandth at random. Hosts are 1,000 zipfian
// keywords, latencies decimals, times rise or are in any order.
func BenchmarkRun(b *testing.B) {
	const docs = 2_000_000
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.1, 5, 999)
	fields := map[string]*columns.Builder{}
	for name, kind := range map[string]columns.Kind{"host": columns.Terms, "latency": columns.Float, "bytes": columns.Int, "at": columns.Time, "shuffled": columns.Time, "user": columns.Int} {
		fields[name] = columns.NewBuilder(kind, nil)
	}
	for i := range 1000 {
		if err := fields["host"].Term(fmt.Appendf(nil, "host-%04d", i)); err != nil {
			b.Fatal(err)
		}
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	for doc := range uint32(docs) {
		for name, key := range map[string]uint64{
			"host": zipf.Uint64(), "latency": columns.FloatKey(float64(rng.IntN(100000)) / 10), "bytes": columns.IntKey(rng.Int64N(1 << 20)),
			"at": columns.IntKey(start + int64(doc)*1e9), "shuffled": columns.IntKey(start + rng.Int64N(docs)*1e9), "user": columns.IntKey(rng.Int64N(docs)),
		} {
			if err := fields[name].Add(doc, key); err != nil {
				b.Fatal(err)
			}
		}
	}
	built := map[string]*columns.Column{}
	for name, f := range fields {
		c, err := f.View(docs)
		if err != nil {
			b.Fatal(err)
		}
		built[name] = c
	}
	shares, names := []int{1, 2, 100, 1000}, []string{"all", "half", "hundredth", "thousandth"}
	matches := make([][]Matches, len(shares))
	for i, share := range shares {
		for tile := range docs / tileDocs {
			m := Matches{Tile: tile, Set: new(tileSet)}
			for d := range tileDocs {
				if rng.IntN(share) == 0 {
					m.Set[d/64] |= 1 << (d % 64)
					m.Count++
				}
			}
			matches[i] = append(matches[i], m)
		}
	}
	segments := []Segment{{Docs: docs, Sets: [][]uint64{nil}, Column: func(name string) (*columns.Column, error) { return built[name], nil }}}
	hour := Calendar{Unit: Hour, Zone: time.UTC}
	for _, s := range []*Spec{
		{Name: "terms", Field: "host", Of: Terms{Size: 10, MinCount: 1, Order: Order{Desc: true}}},
		{Name: "terms-mean", Field: "host", Of: Terms{Size: 10, MinCount: 1, Order: Order{Desc: true}}, Sub: []*Spec{{Field: "bytes", Of: Stats{}}}},
		{Name: "histogram", Field: "bytes", Of: Histogram{Interval: 1000}},
		{Name: "histogram-float", Field: "latency", Of: Histogram{Interval: 25}},
		{Name: "hours-rising", Field: "at", Of: hour},
		{Name: "hours-shuffled", Field: "shuffled", Of: hour},
		{Name: "histogram-stats", Field: "bytes", Of: Histogram{Interval: 1000}, Sub: []*Spec{{Field: "user", Of: Stats{}}}},
		{Name: "hours-stats", Field: "shuffled", Of: hour, Sub: []*Spec{{Field: "latency", Of: Stats{}}}},
		{Name: "hours-rising-stats", Field: "at", Of: hour, Sub: []*Spec{{Field: "bytes", Of: Stats{}}}},
		{Name: "hours-terms", Field: "at", Of: hour, Sub: []*Spec{{Field: "host", Of: Terms{Size: 3, MinCount: 1, Order: Order{Desc: true}}}}},
		{Name: "ranges", Field: "bytes", Of: Ranges{{columns.Bound{Open: true}, columns.Bound{Value: columns.OfInt(1000)}}, {columns.Bound{Value: columns.OfInt(1000)}, columns.Bound{Value: columns.OfInt(500000)}}}},
		{Name: "stats-int", Field: "bytes", Of: Stats{}},
		{Name: "stats-float", Field: "latency", Of: Stats{}},
		{Name: "percentiles", Field: "latency", Of: Percentiles{50, 90, 99}},
		{Name: "percentiles-int", Field: "bytes", Of: Percentiles{50, 90, 99}},
		{Name: "cardinality-terms", Field: "host", Of: Cardinality{}},
		{Name: "cardinality", Field: "user", Of: Cardinality{}},
	} {
		for set, name := range names {
			b.Run("aggregation="+s.Name+"/docs="+name, func(b *testing.B) {
				n := 0
				for b.Loop() {
					r, err := Begin(segments, []Root{{s, 0}}, Options{Workers: 1, Bytes: 256 << 20}, noPlace)
					if err != nil {
						b.Fatal(err)
					}
					c := r.Collector()
					for i := range matches[set] {
						n += matches[set][i].Count
						if err := c.Add(&matches[set][i]); err != nil {
							b.Fatal(err)
						}
					}
					c.End()
					if _, err := r.Results(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/doc")
			})
		}
	}
}
