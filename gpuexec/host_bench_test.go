package gpuexec

import (
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/listcache"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// BenchmarkHost measures what the host does for a batch whose lists are all on the device: 1,000 queries of three
// lists with 1.2 million postings each, among 25 million documents. It needs no device.
func BenchmarkHost(b *testing.B) {
	const docs, lists, queries = 25_000_000, 40, 1000
	norms := make([]uint8, docs)
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	terms := make([]term, lists)
	for i := range terms {
		rng := rand.New(rand.NewPCG(1, uint64(i)))
		var lb postings.Builder
		for d := rng.Uint32N(40); d < docs; d += 1 + rng.Uint32N(40) {
			lb.Add(d, 1, 0)
		}
		l := lb.View(postings.MaxDoc)
		terms[i] = term{List: l, Norms: norms, Table: table, Bounds: segment.Bounds(l, table), Key: uint64(i + 1)}
	}
	rng := rand.New(rand.NewPCG(2, 2))
	var plans []*Plan
	for range queries {
		p := &Plan{Mode: blockmax.Or, K: 10, Weights: []uint32{1 << 20, 1 << 20, 1 << 20}}
		p.Segments = []blockmax.Segment[*postings.List]{{Docs: docs}}
		for _, i := range rng.Perm(lists)[:3] {
			p.Segments[0].Terms = append(p.Segments[0].Terms, terms[i])
		}
		plans = append(plans, p)
	}
	bt := batch{shape: Shape{}.withDefaults(), columns: &columns{address: 2 << 40, rows: 1 << 24}}
	bt.staging = staging{host: make([]byte, 1<<30), address: 1 << 40, size: 2 << 30}
	cache, err := listcache.New(listcache.Config{Region: listcache.Region{First: 1 << 28, Rows: 1 << 28}})
	if err != nil {
		b.Fatal(err)
	}
	x := &Executor{}
	for b.Loop() {
		bt.begin()
		for i, p := range plans {
			if x.refuse(p) == "" {
				bt.add(p, i)
			}
		}
		if !bt.fill() {
			b.Fatal("too big")
		}
		if bad := bt.place(cache, false); len(bad) > 0 {
			b.Fatal(bad)
		}
		bt.forget()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/queries, "µs/query")
	b.ReportMetric(float64(bt.copied())/queries, "copied-B/query")
}
