package riffle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkSearchWhileIndexing compares searches at rest with the same searches while batches of
// 1,000 documents are applied as fast as possible, each synced, with seals and merges. Queries come
// 3 ms after the answer to the one before, and waiting for a core counts: "late" is that alone.
//
//	go test -run xxx -bench SearchWhileIndexing -benchtime 3000x .
func BenchmarkSearchWhileIndexing(b *testing.B) {
	e, err := Open(b.TempDir(), &Options{Schema: &Schema{NoStore: true}, MemoryBytes: 8 << 20})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 10, 200_000)
	texts := make([]string, 10_000)
	for i := range texts {
		texts[i] = zipfText(z, 150)
	}
	ctx := context.Background()
	next := 0
	add := func() {
		var batch Batch
		for range 1000 {
			batch.Put(fmt.Sprint(next), map[string]any{"text": texts[next%len(texts)]})
			next++
		}
		if err := e.Apply(ctx, &batch); err != nil {
			b.Error(err)
		}
	}
	for range 50 {
		add()
	}
	if err := e.Compact(ctx); err != nil {
		b.Fatal(err)
	}
	queries := []string{"w3 w40 w700", "w180000 w9", "w12 w5 w999 w77 w1500", "w60 w61", "w2000 w3000"}
	measure := func() (p50, p99, late99 float64) {
		took, late := make([]time.Duration, b.N), make([]time.Duration, b.N)
		for i := range took {
			due := time.Now().Add(3 * time.Millisecond)
			time.Sleep(time.Until(due))
			late[i] = time.Since(due)
			if _, err := e.Search(ctx, Match{Field: "text", Text: queries[i%len(queries)]}, nil); err != nil {
				b.Fatal(err)
			}
			took[i] = time.Since(due)
		}
		slices.Sort(took)
		slices.Sort(late)
		at := func(all []time.Duration, share int) float64 {
			return float64(all[(len(all)-1)*share/100].Nanoseconds()) / 1000
		}
		return at(took, 50), at(took, 99), at(late, 99)
	}
	measure() // caches
	b.ResetTimer()
	p50, p99, _ := measure()
	b.ReportMetric(p50, "rest-p50-µs")
	b.ReportMetric(p99, "rest-p99-µs")
	var stop atomic.Bool
	var writer sync.WaitGroup
	before := next
	start := time.Now()
	writer.Go(func() {
		for !stop.Load() {
			add()
		}
	})
	p50, p99, late := measure()
	b.ReportMetric(late, "busy-late-p99-µs")
	b.ReportMetric(p50, "busy-p50-µs")
	b.ReportMetric(p99, "busy-p99-µs")
	stop.Store(true)
	writer.Wait()
	b.ReportMetric(float64(next-before)/time.Since(start).Seconds(), "docs/s")
}
