package riffle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// zipfText returns n words whose frequencies fall as those of real text do.
func zipfText(z *rand.Zipf, n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "w%d ", z.Uint64())
	}
	return b.String()
}

// benchEngine returns an index of 50,000 documents of 60 words in one sealed segment.
func benchEngine(b *testing.B) *Engine {
	b.Helper()
	e, err := Open(b.TempDir(), &Options{Durability: SyncNone, Schema: &Schema{NoStore: true}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 10, 200_000)
	ctx := context.Background()
	var batch Batch
	for i := range 50_000 {
		batch.Put(fmt.Sprint(i), map[string]any{"text": zipfText(z, 60)})
		if batch.Len() == 1000 {
			if err := e.Apply(ctx, &batch); err != nil {
				b.Fatal(err)
			}
			batch.Reset()
		}
	}
	if err := e.Compact(ctx); err != nil {
		b.Fatal(err)
	}
	return e
}

// BenchmarkSearch measures whole searches, analysis and ids included. The rare
// query shows what a search costs before its first posting.
func BenchmarkSearch(b *testing.B) {
	e := benchEngine(b)
	for _, q := range []struct {
		name, text string
		mode       Mode
	}{
		{"rare", "w180000", ModeOr},
		{"or3", "w3 w40 w700", ModeOr},
		{"or8", "w3 w40 w700 w12 w5 w999 w77 w1500", ModeOr},
		{"and3", "w3 w40 w700", ModeAnd},
	} {
		b.Run("query="+q.name, func(b *testing.B) {
			b.ReportAllocs()
			var work Work
			for b.Loop() {
				res, err := e.Search(context.Background(), Match{Field: "text", Text: q.text, Mode: q.mode}, nil)
				if err != nil {
					b.Fatal(err)
				}
				work.Add(res.Work)
			}
			b.ReportMetric(float64(work.BlocksDecoded)/float64(b.N), "blocks-decoded/op")
			b.ReportMetric(float64(work.BlocksSkipped)/float64(b.N), "blocks-skipped/op")
		})
	}
}

// BenchmarkApply measures batches of 100 documents of 60 words, not synced, in
// bytes of text.
func BenchmarkApply(b *testing.B) {
	e, err := Open(b.TempDir(), &Options{Durability: SyncNone})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 10, 200_000)
	var texts []string
	size := 0
	for range 100 {
		texts = append(texts, zipfText(z, 60))
		size += len(texts[len(texts)-1])
	}
	b.SetBytes(int64(size))
	n := 0
	for b.Loop() {
		var batch Batch
		for _, t := range texts {
			batch.Put(fmt.Sprint(n), map[string]any{"text": t})
			n++
		}
		if err := e.Apply(context.Background(), &batch); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkApplyWriters measures batches that several goroutines apply concurrently, in documents.
// Half of their documents replace older ones. Measured on 2 cores of a virtual machine, and a disk
// that syncs in about 1 ms.
func BenchmarkApplyWriters(b *testing.B) {
	for _, d := range []Durability{SyncBatch, SyncNone} {
		for _, batch := range []int{1, 100} {
			for _, writers := range []int{1, 8} {
				b.Run(fmt.Sprintf("%v/batch=%d/writers=%d", d, batch, writers), func(b *testing.B) { benchWriters(b, d, batch, writers) })
			}
		}
	}
}

func benchWriters(b *testing.B, d Durability, batch, writers int) {
	e, err := Open(b.TempDir(), &Options{Durability: d})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	ctx := context.Background()
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 10, 200_000)
	var texts []string
	for range 100 {
		texts = append(texts, zipfText(z, 60))
	}
	const old = 20_000 // documents in sealed segments, of which half are replaced
	for from := 0; from < old; from += 1000 {
		var all Batch
		for i := from; i < from+1000; i++ {
			all.Put(fmt.Sprint(i), map[string]any{"text": texts[i%len(texts)]})
		}
		if err := e.Apply(ctx, &all); err != nil {
			b.Fatal(err)
		}
	}
	if err := e.Flush(ctx); err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			var docs Batch
			for {
				n := int(next.Add(1))
				if n > b.N {
					return
				}
				docs.Reset()
				for i := range batch {
					id := n*batch + i
					if i%2 == 0 && batch > 1 || batch == 1 && n%2 == 0 {
						id = id * 7919 % old
					} else {
						id += old
					}
					docs.Put(fmt.Sprint(id), map[string]any{"text": texts[(n+i)%len(texts)]})
				}
				if err := e.Apply(ctx, &docs); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "docs/s")
}

// BenchmarkApplyAmongFields puts single documents of two fields into a memory segment with many
// others. A batch costs only what its own fields cost.
func BenchmarkApplyAmongFields(b *testing.B) {
	for _, fields := range []int{10, 10_000} {
		b.Run(fmt.Sprint("fields=", fields), func(b *testing.B) {
			e, err := Open(b.TempDir(), &Options{Durability: SyncNone, MemoryBytes: 1 << 30})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			ctx := context.Background()
			var batch Batch
			for i := range fields {
				batch.Put(fmt.Sprint("f", i), map[string]any{fmt.Sprint("f", i): "word"})
			}
			if err := e.Apply(ctx, &batch); err != nil {
				b.Fatal(err)
			}
			n := 0
			for b.Loop() {
				if err := e.Put(ctx, fmt.Sprint(n), map[string]any{"f1": "some words", "f7": "of text"}); err != nil {
					b.Fatal(err)
				}
				n++
			}
		})
	}
}
