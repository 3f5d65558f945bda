package riffle

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

const (
	streamDocs    = 1_000_000
	streamSeconds = 15
)

// BenchmarkUpdateStream sends a steady stream of updates, in batches of 1,000, to an index of a million
// documents in one segment. Batches are due at fixed times, and the time of a batch counts from then: one
// that waits for a slow predecessor is late.
//
//	seals=full     100,000 updates a second to random documents; seals only when memory is full
//	seals=2s       the same, and a seal every two seconds
//	updated=all    1,000 updates a second, a seal every two seconds, after each document was updated once
//
// It reports percentiles of a batch's time, the number of seals and the longest of them, and bytes
// written for each update: to the log, and otherwise (layers of updates, manifests).
func BenchmarkUpdateStream(b *testing.B) {
	built := filepath.Join(b.TempDir(), "built")
	source := Documents(func(yield func(Document, error) bool) {
		for i := range streamDocs {
			fields := map[string]any{"text": fmt.Sprint("every w", i%1000), "sold": i % 500}
			if !yield(Document{ID: fmt.Sprint("d", i), Fields: fields}, nil) {
				return
			}
		}
	})
	if _, err := Build(ctx, built, source, &BuildOptions{Index: Options{Schema: updatable}, OneSegment: true}); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		seal    time.Duration // how often, if not zero
		batches int           // a second
		updated bool          // each document once, before
	}{
		{"seals=full", 0, 100, false},
		{"seals=2s", 2 * time.Second, 100, false},
		{"updated=all", 2 * time.Second, 1, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				dir := filepath.Join(b.TempDir(), "index")
				if err := os.CopyFS(dir, os.DirFS(built)); err != nil {
					b.Fatal(err)
				}
				streamUpdates(b, dir, c.seal, c.batches, c.updated)
				b.StartTimer()
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func streamUpdates(b *testing.B, dir string, seal time.Duration, rate int, updated bool) {
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	var mu sync.Mutex
	var seals []time.Duration
	e, err := Open(dir, &Options{Listener: &Listener{Sealed: func(s SealEvent) {
		mu.Lock()
		seals = append(seals, s.Duration)
		mu.Unlock()
	}}})
	must(err)
	defer e.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	updates := func(doc func(i int) int) *Batch {
		batch := new(Batch)
		for i := range 1000 {
			batch.Update(fmt.Sprint("d", doc(i)), map[string]any{"sold": rng.IntN(500)})
		}
		return batch
	}
	if updated {
		for from := 0; from < streamDocs; from += 1000 {
			must(e.Apply(ctx, updates(func(i int) int { return from + i })))
		}
		must(e.Flush(ctx))
		mu.Lock()
		seals = nil
		mu.Unlock()
	}
	before, err := e.Stats()
	must(err)

	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		var due <-chan time.Time
		if seal > 0 {
			ticker := time.NewTicker(seal)
			defer ticker.Stop()
			due = ticker.C
		}
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			case <-due:
				if err := e.Flush(ctx); err != nil {
					stopped <- err
					return
				}
			}
		}
	}()
	start := time.Now()
	times := make([]time.Duration, streamSeconds*rate)
	for n := range times {
		due := start.Add(time.Duration(n) * time.Second / time.Duration(rate))
		time.Sleep(time.Until(due))
		batch := updates(func(int) int { return rng.IntN(streamDocs) })
		// The listener hears only of seals that write documents.
		batch.Put(fmt.Sprint("new", n), map[string]any{"text": "new", "sold": 1})
		must(e.Apply(ctx, batch))
		times[n] = time.Since(due)
	}
	took := time.Since(start)
	close(stop)
	must(<-stopped)
	after, err := e.Stats()
	must(err)

	written := func(s *Stats) (log, other float64) {
		return float64(s.Written.Log), float64(s.Store.WrittenBytes - s.Written.Log - s.Written.Seals - s.Written.Merges)
	}
	log0, other0 := written(before)
	log1, other1 := written(after)
	n := float64(len(times) * 1000)
	slices.Sort(times)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(n/took.Seconds(), "updates/s")
	b.ReportMetric(ms(times[len(times)/2]), "p50-ms")
	b.ReportMetric(ms(times[len(times)*99/100]), "p99-ms")
	b.ReportMetric(ms(times[len(times)-1]), "max-ms")
	b.ReportMetric((log1-log0)/n, "log-B/update")
	b.ReportMetric((other1-other0)/n, "other-B/update")
	mu.Lock()
	defer mu.Unlock()
	b.ReportMetric(float64(len(seals)), "seals")
	if len(seals) > 0 {
		b.ReportMetric(ms(slices.Max(seals)), "max-seal-ms")
	}
}
