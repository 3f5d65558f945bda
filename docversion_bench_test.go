package riffle

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkPutIf compares batches of 100 documents, of which each depends on a version, with others, on an
// index of 100,000 documents.
func BenchmarkPutIf(b *testing.B) {
	for _, conditional := range []bool{false, true} {
		b.Run(fmt.Sprintf("conditional=%v", conditional), func(b *testing.B) {
			e := benchLines(b, 100_000, OrderByArrival)
			rng := rand.New(rand.NewPCG(3, 3))
			var batch Batch
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				batch.Reset()
				for _, n := range rng.Perm(100_000)[:100] {
					id := fmt.Sprintf("line%07d", n)
					d, err := e.Document(ctx, id)
					if err != nil {
						b.Fatal(err)
					}
					if conditional {
						batch.PutIf(id, d.Fields, d.Version)
					} else {
						batch.Put(id, d.Fields)
					}
				}
				b.StartTimer()
				if err := e.Apply(ctx, &batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(100*b.N)/b.Elapsed().Seconds(), "docs/s")
		})
	}
}

// BenchmarkByQuery changes half of 100,000 documents. On two cores of a loaded machine:
//
//	BenchmarkByQuery/kind=delete    138,641 docs/s
//	BenchmarkByQuery/kind=update     51,026 docs/s
//	BenchmarkByQuery/kind=search    276,236 docs/s
func BenchmarkByQuery(b *testing.B) {
	half := Term{Field: "level", Value: "info"}
	for _, kind := range []string{"delete", "update", "search"} {
		b.Run("kind="+kind, func(b *testing.B) {
			changed := 0
			for range b.N {
				b.StopTimer()
				e := benchLines(b, 100_000, OrderByArrival)
				b.StartTimer()
				var p *ByQueryProgress
				var err error
				switch kind {
				case "delete":
					p, err = e.DeleteByQuery(ctx, half, nil)
				case "update":
					p, err = e.UpdateByQuery(ctx, half, func(Document) (map[string]any, error) {
						return map[string]any{"level": "note"}, nil
					}, nil)
				default: // pages alone
					p, err = e.UpdateByQuery(ctx, half, func(Document) (map[string]any, error) { return nil, nil }, nil)
				}
				if err != nil || p.Total == 0 {
					b.Fatal(p, err)
				}
				changed += p.Total
			}
			b.ReportMetric(float64(changed)/b.Elapsed().Seconds(), "docs/s")
		})
	}
}

// BenchmarkVersionBytes says what the versions of 100,000 documents take on disk, in batches of 100.
//
//	BenchmarkVersionBytes/order=arrival    0.1332 column-B/doc
//	BenchmarkVersionBytes/order=graph      1.253 column-B/doc
func BenchmarkVersionBytes(b *testing.B) {
	for _, order := range []DocOrder{OrderByArrival, OrderByGraph} {
		b.Run(fmt.Sprintf("order=%v", order), func(b *testing.B) {
			for range b.N {
				e := benchLines(b, 100_000, order)
				if err := e.Compact(ctx); err != nil {
					b.Fatal(err)
				}
				sizes, err := e.Sizes(ctx)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(sizes.Columns)/100_000, "column-B/doc")
			}
		})
	}
}

// benchLines returns an index of log lines, put in batches of 100. Columns are those of versions alone.
func benchLines(b *testing.B, n int, order DocOrder) *Engine {
	b.Helper()
	schema := &Schema{Columns: ColumnNone}
	e, err := Open(b.TempDir()+"/index", &Options{Schema: schema, Durability: SyncNone, Merge: MergeOptions{Order: order}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	rng := rand.New(rand.NewPCG(1, 1))
	levels := []string{"info", "info", "info", "warn", "error", "debug"}
	at := time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
	var batch Batch
	for i := range n {
		at = at.Add(time.Duration(rng.IntN(1000)) * time.Millisecond)
		batch.Put(fmt.Sprintf("line%07d", i), map[string]any{
			"at": at, "level": levels[rng.IntN(len(levels))],
			"text": fmt.Sprintf("request %d of client%d took %d ms", rng.IntN(50), rng.IntN(1000), rng.IntN(300)),
		})
		if batch.Len() == 100 || i == n-1 {
			if err := e.Apply(ctx, &batch); err != nil {
				b.Fatal(err)
			}
			batch.Reset()
		}
	}
	if err := e.Flush(ctx); err != nil {
		b.Fatal(err)
	}
	return e
}
