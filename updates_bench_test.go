package riffle

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// BenchmarkUpdate updates a number of random documents, in batches of 1,000, and reports updates a second.
// With merges, another goroutine puts documents meanwhile, which are sealed and merged with those of the
// index. With searches, another one filters by the number and sorts by it, again and again.
func BenchmarkUpdate(b *testing.B) {
	for _, with := range []string{"nothing", "merges", "searches"} {
		for _, d := range []Durability{SyncBatch, SyncNone} {
			b.Run(fmt.Sprintf("with=%s/sync=%s", with, d), func(b *testing.B) { benchmarkUpdate(b, with, d) })
		}
	}
}

func benchmarkUpdate(b *testing.B, with string, d Durability) {
	const docs, batch = 200_000, 1000
	ix := newIndex(b, &Options{Schema: updatable, Durability: d, Merge: MergeOptions{SegmentsPerTier: 3}})
	var put Batch
	for i := range docs {
		put.Put(fmt.Sprint("d", i), map[string]any{"text": "every w" + fmt.Sprint(i%1000), "sold": i % 500})
		if put.Len() == 10_000 {
			ix.must(ix.Apply(ctx, &put))
			put.Reset()
		}
	}
	ix.flush()
	stop := make(chan struct{})
	var beside sync.WaitGroup
	run := func(work func(n int)) {
		beside.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					work(n)
				}
			}
		})
	}
	switch with {
	case "merges":
		run(func(n int) {
			var put Batch
			for i := range 1000 {
				put.Put(fmt.Sprint("new", n%50, i), map[string]any{"text": "every w" + fmt.Sprint(i%1000), "sold": i % 500})
			}
			ix.must(ix.Apply(ctx, &put))
			if n%5 == 4 {
				ix.flush()
			}
		})
	case "searches":
		run(func(int) {
			q := Bool{Must: []Query{Match{Field: "text", Text: "w7"}}, Filter: []Query{Range{Field: "sold", From: 100}}}
			ix.search(q, &SearchOptions{Sort: []SortKey{{Field: "sold"}}})
		})
	}
	r := rand.New(rand.NewPCG(1, 2))
	b.ResetTimer()
	n := 0
	for b.Loop() {
		var up Batch
		for range batch {
			up.Update(fmt.Sprint("d", r.IntN(docs)), map[string]any{"sold": r.IntN(500)})
		}
		ix.must(ix.Apply(ctx, &up))
		n += batch
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "updates/s")
	b.StopTimer()
	close(stop)
	beside.Wait()
}
