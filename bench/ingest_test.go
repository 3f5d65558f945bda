package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2"
	index "github.com/blevesearch/bleve_index_api"

	"github.com/riffle-search/riffle"
)

// An ingester takes batches of documents, durable when it returns, and is searched
// meanwhile.
type ingester interface {
	add(first int, texts []string) error
	search(query string) error
	close() error
}

type riffleIngester struct{ *riffle.Engine }

func openRiffle(dir string) (ingester, error) {
	e, err := riffle.Open(dir, &riffle.Options{Schema: &riffle.Schema{NoStore: true}})
	return riffleIngester{e}, err
}

func (r riffleIngester) add(first int, texts []string) error {
	var b riffle.Batch
	for i, text := range texts {
		b.Put(strconv.Itoa(first+i), map[string]any{"text": text})
	}
	return r.Apply(context.Background(), &b)
}

func (r riffleIngester) search(query string) error {
	_, err := r.Search(context.Background(), riffle.Match{Field: "text", Text: query}, nil)
	return err
}

func (r riffleIngester) close() error { return r.Close() }

type bleveIngester struct{ bleve.Index }

func openBleve(dir string) (ingester, error) {
	m := bleve.NewIndexMapping()
	m.ScoringModel = index.BM25Scoring
	text := bleve.NewTextFieldMapping()
	text.Store, text.IncludeTermVectors, text.IncludeInAll, text.DocValues = false, false, false, false
	doc := bleve.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt("text", text)
	m.DefaultMapping = doc
	idx, err := bleve.New(dir, m)
	return bleveIngester{idx}, err
}

func (b bleveIngester) add(first int, texts []string) error {
	batch := b.NewBatch()
	for i, text := range texts {
		if err := batch.Index(strconv.Itoa(first+i), map[string]any{"text": text}); err != nil {
			return err
		}
	}
	return b.Batch(batch)
}

func (b bleveIngester) search(query string) error {
	q := bleve.NewMatchQuery(query)
	q.SetField("text")
	_, err := b.Search(bleve.NewSearchRequest(q))
	return err
}

func (b bleveIngester) close() error { return b.Close() }

// BenchmarkIngest adds passages to an index in batches, each synced before the next, for some
// seconds, while one query comes every 20 ms: documents a second, percentiles of
// the time of a batch and of a query.
//
//	go test -run xxx -bench Ingest -benchtime 1x
func BenchmarkIngest(b *testing.B) {
	texts, queries := ingestInput(b)
	for _, e := range []struct {
		name string
		open func(string) (ingester, error)
	}{{"riffle", openRiffle}, {"bleve", openBleve}} {
		for _, size := range []int{1, 100, 10_000} {
			b.Run(fmt.Sprintf("engine=%s/batch=%d", e.name, size), func(b *testing.B) {
				for b.Loop() {
					in, err := e.open(filepath.Join(b.TempDir(), "index"))
					if err != nil {
						b.Fatal(err)
					}
					ingest(b, in, texts, queries, size, 4*time.Second)
					if err := in.close(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func ingestInput(b *testing.B) (texts, queries []string) {
	path := filepath.Join(corporaFolder(), "gutenberg-a.jsonl.zst")
	if _, err := os.Stat(path); err != nil {
		b.Skipf("no corpora: set RIFFLE_CORPORA (%v)", err)
	}
	err := eachText(path, func(text string) bool {
		texts = append(texts, text)
		return len(texts) < 100_000
	})
	if err != nil {
		b.Fatal(err)
	}
	set, err := readQueries(filepath.Join(corporaFolder(), "queries", "gutenberg-dev.tsv"), 100, 1)
	if err != nil {
		b.Fatal(err)
	}
	return texts, set.queries
}

func ingest(b *testing.B, in ingester, texts, queries []string, size int, long time.Duration) {
	stop, done := make(chan struct{}), make(chan []time.Duration)
	go func() {
		var took []time.Duration
		for i := 0; ; i++ {
			select {
			case <-stop:
				done <- took
				return
			case <-time.After(20 * time.Millisecond):
			}
			start := time.Now()
			if err := in.search(queries[i%len(queries)]); err != nil {
				b.Error(err)
			}
			took = append(took, time.Since(start))
		}
	}()
	var batches []time.Duration
	docs := 0
	began := time.Now()
	for time.Since(began) < long && docs < len(texts) {
		n := min(size, len(texts)-docs)
		start := time.Now()
		if err := in.add(docs, texts[docs:docs+n]); err != nil {
			b.Fatal(err)
		}
		batches = append(batches, time.Since(start))
		docs += n
	}
	seconds := time.Since(began).Seconds()
	close(stop)
	searches := <-done
	b.ReportMetric(float64(docs)/seconds, "docs/s")
	b.ReportMetric(0, "ns/op")
	for name, all := range map[string][]time.Duration{"batch": batches, "search": searches} {
		slices.Sort(all)
		if len(all) > 0 {
			b.ReportMetric(all[len(all)/2].Seconds()*1e3, name+"-p50-ms")
			b.ReportMetric(all[len(all)*99/100].Seconds()*1e3, name+"-p99-ms")
		}
	}
}
