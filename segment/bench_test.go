package segment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// The corpus of the benchmarks: 20,000 documents of some 110 different words out
// of a vocabulary in which the r-th word has a share of about 1/r, as in English.
// That is the shape of the Gutenberg passages at a tenth of their number.
func zipfDocuments(n int) (docs []Document, postings int) { return zipfOf(n, 1<<18) }

// zipfOf makes documents from a vocabulary of the given size.
func zipfOf(n int, words uint64) (docs []Document, postings int) {
	rng := rand.New(rand.NewPCG(13, 13))
	zipf := rand.NewZipf(rng, 1.1, 4, words)
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

// BenchmarkMerge measures, for each codec, sealing a Memory and merging two segments, one twice as
// large as the other; and merging four in order of arrival, of global score and by graph. Each term
// has as many postings as in all the Gutenberg passages, some 90, because long lists dominate large
// merges. taken/block is the share of blocks that were copied from an input.
func BenchmarkMerge(b *testing.B) {
	docs, n := zipfOf(20000, 1<<15)
	sealed := func(docs []Document, codec postings.Kind) Input {
		d, _, _ := merge(b, []Input{memoryInput(docs)}, MergeOptions{Codec: codec})
		return Input{Reader: d}
	}
	var four []Input
	for i := range 4 {
		four = append(four, sealed(docs[i*len(docs)/4:(i+1)*len(docs)/4], postings.Interpolative))
	}
	run := func(name string, inputs []Input, opts MergeOptions) {
		b.Run(fmt.Sprintf("%s/codec=%v", name, opts.Codec), func(b *testing.B) {
			var out discard
			var res *Result
			for b.Loop() {
				out = discard{}
				var err error
				if res, err = Merge(context.Background(), &out, inputs, opts); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(8*float64(out.bytes)/float64(n), "bits/posting")
			b.ReportMetric(float64(res.taken)/float64(res.blocks), "taken/block")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/posting")
		})
	}
	for _, codec := range []postings.Kind{postings.Packed, postings.PFor, postings.Rice, postings.Interpolative} {
		opts := MergeOptions{Codec: codec, Workers: 1}
		run("inputs=memory/order=arrival", []Input{memoryInput(docs)}, opts)
		cut := 2 * len(docs) / 3
		run("inputs=2/order=arrival", []Input{sealed(docs[:cut], codec), sealed(docs[cut:], codec)}, opts)
	}
	score := Order{Kind: ByGlobalScore, Alpha: 0.5, BM25: blockmax.DefaultBM25}
	for kind, name := range []string{Arrival: "arrival", ByGlobalScore: "score", ByGraph: "graph"} {
		order := Order{Kind: OrderKind(kind)}
		if order.Kind == ByGlobalScore {
			order = score
		}
		run("inputs=4/order="+name, four, MergeOptions{Codec: postings.Interpolative, Order: order, Workers: 1})
	}
}

// memoryInput is documents in memory.
func memoryInput(docs []Document) Input {
	m := NewMemory()
	for _, d := range docs {
		m.Add(d)
	}
	return Input{Reader: m.View()}
}
