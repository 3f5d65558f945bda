package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"

	"github.com/riffle-search/riffle"
)

// BenchmarkStored reads the text of ten passages of gutenberg-a, about 1 KB each, by their ids: the
// same 1,000 passages again and again ("warm"), and another ten each time ("cold"). Figures are the
// medians.
//
//	go test -run xxx -bench Stored -benchtime 1x
func BenchmarkStored(b *testing.B) {
	texts := storedTexts(b, 50_000)
	for _, e := range []struct {
		name string
		open func(*testing.B, []string) func(id string) (string, error)
	}{{"riffle", storeRiffle}, {"bleve", storeBleve}} {
		read := e.open(b, texts)
		order := rand.New(rand.NewPCG(1, 2)).Perm(len(texts))
		for _, mode := range []struct {
			name  string
			among []int
			tens  int
		}{{"warm", order[:1000], 1000}, {"cold", order[1000:], 1000}} {
			b.Run(fmt.Sprintf("engine=%s/%s", e.name, mode.name), func(b *testing.B) {
				for b.Loop() {
					b.ReportMetric(readTens(b, mode.among, mode.tens, texts, read), "median-µs")
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

func storedTexts(b *testing.B, n int) (texts []string) {
	path := filepath.Join(corporaFolder(), "gutenberg-a.jsonl.zst")
	if _, err := os.Stat(path); err != nil {
		b.Skipf("no corpora: set RIFFLE_CORPORA (%v)", err)
	}
	err := eachText(path, func(text string) bool {
		texts = append(texts, text)
		return len(texts) < n
	})
	if err != nil {
		b.Fatal(err)
	}
	return texts
}

// readTens returns the median time of ten documents, in microseconds.
func readTens(b *testing.B, among []int, tens int, texts []string, read func(id string) (string, error)) float64 {
	var took []time.Duration
	for n := range tens {
		start := time.Now()
		for i := range 10 {
			doc := among[(10*n+i)%len(among)]
			if text, err := read(strconv.Itoa(doc)); err != nil || len(text) != len(texts[doc]) {
				b.Fatalf("document %d: %d bytes, %v", doc, len(text), err)
			}
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[len(took)/2].Seconds() * 1e6
}

func storeRiffle(b *testing.B, texts []string) func(id string) (string, error) {
	ctx := context.Background()
	e, err := riffle.Open(filepath.Join(b.TempDir(), "index"), &riffle.Options{Durability: riffle.SyncNone})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	for first := 0; first < len(texts); first += 1000 {
		if err := (riffleIngester{e}).add(first, texts[first:min(first+1000, len(texts))]); err != nil {
			b.Fatal(err)
		}
	}
	if err := e.Compact(ctx); err != nil {
		b.Fatal(err)
	}
	return func(id string) (string, error) {
		fields, err := e.Get(ctx, id)
		text, _ := fields["text"].(string)
		return text, err
	}
}

func storeBleve(b *testing.B, texts []string) func(id string) (string, error) {
	m := bleve.NewIndexMapping()
	text := bleve.NewTextFieldMapping()
	text.IncludeTermVectors, text.IncludeInAll, text.DocValues = false, false, false
	doc := bleve.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt("text", text)
	m.DefaultMapping = doc
	idx, err := bleve.New(filepath.Join(b.TempDir(), "index"), m)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { idx.Close() })
	for first := 0; first < len(texts); first += 1000 {
		if err := (bleveIngester{idx}).add(first, texts[first:min(first+1000, len(texts))]); err != nil {
			b.Fatal(err)
		}
	}
	advanced, err := idx.Advanced()
	if err != nil {
		b.Fatal(err)
	}
	if err := advanced.(*scorch.Scorch).ForceMerge(context.Background(), nil); err != nil {
		b.Fatal(err)
	}
	return func(id string) (text string, err error) {
		found, err := idx.Document(id)
		if err == nil && found != nil {
			found.VisitFields(func(f index.Field) {
				if f.Name() == "text" {
					text = string(f.Value())
				}
			})
		}
		return text, err
	}
}
