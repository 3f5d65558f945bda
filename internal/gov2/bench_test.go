package gov2

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
)

// BenchmarkGenerate makes a tenth of GOV2.
func BenchmarkGenerate(b *testing.B) {
	for b.Loop() {
		start := time.Now()
		c := Generate(Options{Docs: 2_500_000, Queries: 1000})
		took := time.Since(start)
		total, bytes := 0, int64(0)
		for i := range c.Lists {
			total += c.Lists[i].List.Count
			bytes += c.PayloadBytes(i)
		}
		b.ReportMetric(float64(total), "postings")
		b.ReportMetric(float64(took.Nanoseconds())/float64(total), "ns/posting")
		b.ReportMetric(8*float64(bytes)/float64(total), "bits/posting")
	}
}

// BenchmarkTenths answers a tenth of 1,000 queries at a time, the shortest first, with one core. An op is a
// query. To make the collection takes half a minute on two cores.
func BenchmarkTenths(b *testing.B) {
	c := Generate(Options{Queries: 1000})
	order := make([]int, len(c.Queries))
	for q := range order {
		order[q] = q
	}
	slices.SortFunc(order, func(x, y int) int { return cmp.Compare(c.Postings(x), c.Postings(y)) })
	for tenth := range 10 {
		queries := order[tenth*len(order)/10 : (tenth+1)*len(order)/10]
		b.Run(fmt.Sprintf("tenth=%d", tenth+1), func(b *testing.B) {
			total := int64(0)
			for _, q := range queries {
				total += c.Postings(q)
			}
			for i := 0; b.Loop(); i++ {
				if _, err := (cpuexec.Executor{}).TopK(b.Context(), c.Plan(queries[i%len(queries)], blockmax.Or, 10)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(total)/float64(len(queries)), "postings/query")
		})
	}
}
