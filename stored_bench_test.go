package riffle

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/riffle-search/riffle/internal/jsonl"
)

// BenchmarkStored measures the stored fields of ten documents of about 1 KB, by id and for the hits
// of a search, of the 200,000 passages of gutenberg-a in one segment. "warm" asks for the same 1,000
// documents again and again, "cold" for another ten each time, and the index was opened with room
// for a few documents only. What a hit costs is the time of searches that load less the time of
// those that do not: "search-ns" is the latter.
func BenchmarkStored(b *testing.B) {
	dir := b.TempDir()
	ids := storedPassages(b, dir)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, mode := range []struct {
		name   string
		cached int64
		docs   int
	}{{"warm", 0, 1000}, {"cold", 64 << 10, len(ids)}} {
		e, err := Open(dir, &Options{StoredCacheBytes: mode.cached, SearchWorkers: 1})
		if err != nil {
			b.Fatal(err)
		}
		b.Run("ids/"+mode.name, func(b *testing.B) { benchGet(b, e, ids[:mode.docs]) })
		b.Run("hits/"+mode.name, func(b *testing.B) { benchLoad(b, e, ids[:mode.docs]) })
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// storedPassages indexes gutenberg-a with its text stored, and returns the ids.
func storedPassages(b *testing.B, dir string) (ids []string) {
	r, err := jsonl.Open(filepath.Join(os.Getenv("RIFFLE_CORPORA"), "gutenberg-a.jsonl.zst"))
	if err != nil {
		b.Skipf("no corpora (set RIFFLE_CORPORA): %v", err)
	}
	defer r.Close()
	ctx := context.Background()
	e, err := Open(dir, &Options{Durability: SyncNone, Schema: &Schema{Fields: map[string]Field{"key": {Type: FieldKeyword}}}})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	var batch Batch
	apply := func() {
		if err := e.Apply(ctx, &batch); err != nil {
			b.Fatal(err)
		}
		batch.Reset()
	}
	var doc jsonl.Document
	for {
		if err := r.Next(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			b.Fatal(err)
		}
		fields := map[string]any{"key": doc.ID}
		for _, f := range doc.Fields {
			fields[f.Name] = f.Value
		}
		ids = append(ids, doc.ID)
		if batch.Put(doc.ID, fields); batch.Len() == 5000 {
			apply()
		}
	}
	apply()
	if err := e.Compact(ctx); err != nil {
		b.Fatal(err)
	}
	return ids
}

func benchGet(b *testing.B, e *Engine, ids []string) {
	b.ReportAllocs()
	ctx, bytes, n := context.Background(), 0, 0
	if len(ids) <= 1000 {
		for _, id := range ids {
			if _, err := e.Get(ctx, id); err != nil {
				b.Fatal(err)
			}
		}
	}
	for b.Loop() {
		for range 10 {
			fields, err := e.Get(ctx, ids[n%len(ids)])
			if err != nil {
				b.Fatal(err)
			}
			bytes += len(fields["text"].(string))
			n++
		}
	}
	b.ReportMetric(float64(bytes)/float64(b.N)/10, "bytes/doc")
}

// benchLoad searches for ten documents by their keys.
func benchLoad(b *testing.B, e *Engine, ids []string) {
	ctx, n := context.Background(), 0
	load, plain := &SearchOptions{Load: []string{"text"}}, &SearchOptions{}
	query := func() Query {
		var should []Query
		for range 10 {
			should = append(should, Term{Field: "key", Value: ids[n%len(ids)]})
			n++
		}
		return Bool{Should: should}
	}
	search := func(q Query, o *SearchOptions) {
		res, err := e.Search(ctx, q, o)
		if err != nil {
			b.Fatal(err)
		}
		if len(res.Hits) != 10 {
			b.Fatalf("%d hits", len(res.Hits))
		}
	}
	queries := make([]Query, 2000)
	for i := range queries {
		queries[i] = query()
	}
	for _, q := range queries { // the lists
		search(q, plain)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		search(queries[i%len(queries)], load)
	}
	b.StopTimer()
	loaded := b.Elapsed()
	b.StartTimer()
	for i := range b.N {
		search(queries[i%len(queries)], plain)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.Elapsed()-loaded)/float64(b.N), "search-ns")
	b.ReportMetric(float64(2*loaded-b.Elapsed())/float64(b.N), "load-ns")
	b.ReportMetric(0, "ns/op")
}
