package gov2

import (
	"testing"
	"time"
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
