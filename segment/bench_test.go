package segment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
)

// The corpus of the benchmarks: 20,000 documents of some 110 different words out
// of a vocabulary in which the r-th word has a share of about 1/r, as in English.
// That is the shape of the Gutenberg passages at a tenth of their number.
func zipfDocuments(n int) (docs []Document, postings int) {
	rng := rand.New(rand.NewPCG(13, 13))
	zipf := rand.NewZipf(rng, 1.1, 4, 1<<18)
	for i := range n {
		counts := make(map[uint64]uint32)
		for range 180 {
			counts[zipf.Uint64()]++
		}
		f := FieldTerms{Name: "text", Norms: true, Length: 180}
		for word, tf := range counts {
			f.Terms = append(f.Terms, TermFreq{fmt.Appendf(nil, "w%d", word), tf})
		}
		postings += len(f.Terms)
		docs = append(docs, Document{ID: fmt.Sprintf("doc%06d", i), Fields: []FieldTerms{f}})
	}
	return docs, postings
}

// A discard is a sink that only counts.
type discard struct{ bytes int }

func (d *discard) Set(key, value []byte) error {
	d.bytes += len(key) + len(value)
	return nil
}

// BenchmarkAdd measures one goroutine filling a Memory.
func BenchmarkAdd(b *testing.B) {
	docs, postings := zipfDocuments(20000)
	b.ReportAllocs()
	for b.Loop() {
		mem := NewMemory()
		for _, d := range docs {
			mem.Add(d)
		}
		b.ReportMetric(float64(mem.Bytes())/float64(postings), "bytes/posting")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*postings), "ns/posting")
}

// BenchmarkMerge measures sealing a Memory, merging four sealed segments in order
// of arrival, of global score and by graph.
func BenchmarkMerge(b *testing.B) {
	docs, postings := zipfDocuments(20000)
	all := NewMemory()
	parts := make([]*Memory, 4)
	for i := range parts {
		parts[i] = NewMemory()
	}
	for i, d := range docs {
		all.Add(d)
		parts[i%len(parts)].Add(d)
	}
	var sealed []Input
	for _, p := range parts {
		d, _, _ := merge(b, []Input{{Reader: p.View()}}, MergeOptions{})
		sealed = append(sealed, Input{Reader: d})
	}
	score := Order{Kind: ByGlobalScore, Alpha: 0.5, BM25: blockmax.DefaultBM25}
	for _, bb := range []struct {
		name   string
		inputs []Input
		order  Order
	}{
		{"inputs=memory/order=arrival", []Input{{Reader: all.View()}}, Order{}},
		{"inputs=4/order=arrival", sealed, Order{}},
		{"inputs=4/order=score", sealed, score},
		{"inputs=4/order=graph", sealed, Order{Kind: ByGraph}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				var out discard
				if _, err := Merge(context.Background(), &out, bb.inputs, MergeOptions{Order: bb.order}); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(8*float64(out.bytes)/float64(postings), "bits/posting")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*postings), "ns/posting")
		})
	}
}
