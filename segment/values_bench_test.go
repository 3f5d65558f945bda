package segment

import (
	"context"
	"fmt"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/riffle-search/riffle/columns"
)

// benchValues is a Memory of n documents with a number, one of 1,009 keywords, and a keyword of their own.
func benchValues(n int) *Memory {
	m := NewMemory()
	for i := 0; i < n; {
		i = addBenchValues(m, i, 1000)
	}
	return m
}

func addBenchValues(m *Memory, first, n int) (next int) {
	var c Chunk
	for i := first; i < first+n; i++ {
		c.Begin(fmt.Sprint(i))
		c.Value("n", columns.OfInt(int64(i)*0x9e3779b9%1_000_003))
		c.Value("key", columns.OfString(fmt.Sprint("key ", i%1009)))
		c.Value("own", columns.OfString(fmt.Sprint("own ", i*7919%1_000_003)))
		c.End(0, nil)
	}
	c.Group(OnePartition())
	m.AddChunk(&c)
	return first + n
}

// BenchmarkColumnAfterBatch asks a view of 200,000 documents for a column after each batch of 10.
func BenchmarkColumnAfterBatch(b *testing.B) {
	for _, field := range []string{"n", "key", "own"} {
		b.Run(field, func(b *testing.B) {
			next := 200_000
			m := benchValues(next)
			for b.Loop() {
				b.StopTimer()
				next = addBenchValues(m, next, 10)
				b.StartTimer()
				if c, err := m.View().Column(field); err != nil || c.SegmentDocs() != next {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMergeColumns merges two segments of 200,000 documents, a tenth of which are deleted.
func BenchmarkMergeColumns(b *testing.B) {
	m := benchValues(200_000)
	deleted := roaring.New()
	for doc := uint32(0); doc < 200_000; doc += 10 {
		deleted.Add(doc)
	}
	for _, field := range []string{"n", "key"} {
		b.Run(field, func(b *testing.B) {
			v := m.View()
			if _, err := v.Column(field); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				g := &merger{ctx: context.Background(), sink: &countingSink{sink: new(discard)}, inputs: []Input{{Reader: v, Deleted: deleted}, {Reader: v}}}
				g.opts = MergeOptions{}.withDefaults()
				if err := g.number(); err != nil {
					b.Fatal(err)
				}
				c := &columnMerger{merger: g}
				if err := c.merge(field, func(uint32, []byte) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/380_000, "ns/value")
		})
	}
}
