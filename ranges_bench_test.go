package riffle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/riffle-search/riffle/internal/jsonl"
)

// rangeShares are the shares of the documents that ranges match, in percent.
var rangeShares = []float64{0.01, 0.1, 1, 10, 50}

// BenchmarkRanges measures ranges over the columns of 400,000 passages: of random numbers, and of
// dates that rise with the documents. "count" counts a range; "night" asks for the ten best passages
// with that word, of those in the range. No range comes again. Figures are the medians of a search in
// µs, on one core, and "floor" the tenth part below it.
func BenchmarkRanges(b *testing.B) {
	e := rangePassages(b)
	n, err := e.Len()
	if err != nil {
		b.Fatal(err)
	}
	ctx, rng := context.Background(), rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	for _, field := range []string{"random", "rising"} {
		for _, share := range rangeShares {
			between := func() Query {
				reach := float64(rangeReach)
				if field == "rising" {
					reach = float64(n)
				}
				width := reach * share / 100
				from := int64(rng.Float64() * (reach - width))
				if field == "rising" {
					at := func(i int64) time.Time { return rangeStart.Add(time.Duration(i) * time.Second) }
					return Range{Field: field, From: at(from), To: at(from + int64(width))}
				}
				return Range{Field: field, From: from, To: from + int64(width)}
			}
			measure := func(name string, run func(q Query) error) {
				b.Run(fmt.Sprintf("%s/%s=%v%%", name, field, share), func(b *testing.B) {
					var took []time.Duration
					for b.Loop() {
						q := between()
						begin := time.Now()
						if err := run(q); err != nil {
							b.Fatal(err)
						}
						took = append(took, time.Since(begin))
					}
					slices.Sort(took)
					b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "µs")
					b.ReportMetric(float64(took[len(took)/10].Nanoseconds())/1000, "floor-µs")
				})
			}
			measure("count", func(q Query) error {
				_, err := e.Count(ctx, q)
				return err
			})
			measure("night", func(q Query) error {
				_, err := e.Search(ctx, Bool{Must: []Query{Match{Field: "text", Text: "night"}}, Filter: []Query{q}}, nil)
				return err
			})
		}
	}
}

// rangeReach is above all random numbers of the passages.
const rangeReach = 1 << 20

var rangeStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// rangePassages returns an index of the passages with a random number and a rising date.
func rangePassages(b *testing.B) *Engine {
	corpora := os.Getenv("RIFFLE_CORPORA")
	if corpora == "" {
		b.Skip("no corpora (set RIFFLE_CORPORA)")
	}
	dir, filled := keptIndex(b, "ranges")
	o := &Options{Durability: SyncNone, SearchWorkers: 1, Schema: &Schema{NoStore: true, Fields: map[string]Field{
		"text": {Type: FieldText, Positions: PositionsNone}, "random": {Type: FieldNumber}, "rising": {Type: FieldDate},
	}}}
	if !filled {
		docs := rangeDocuments(filepath.Join(corpora, "gutenberg-a.jsonl.zst"), filepath.Join(corpora, "gutenberg-b.jsonl.zst"))
		if _, err := Build(context.Background(), dir, docs, &BuildOptions{Index: *o}); err != nil {
			b.Fatal(err)
		}
	}
	e, err := Open(dir, o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	if !filled {
		if err := keepIndex("ranges", e, dir); err != nil {
			b.Fatal(err)
		}
	}
	return e
}

// rangeDocuments yields the passages of files.
func rangeDocuments(paths ...string) Documents {
	return func(yield func(Document, error) bool) {
		rng, n := rand.New(rand.NewPCG(3, 5)), 0
		for _, path := range paths {
			r, err := jsonl.Open(path)
			if err != nil {
				yield(Document{}, err)
				return
			}
			defer r.Close()
			var d jsonl.Document
			for {
				err := r.Next(&d)
				if errors.Is(err, io.EOF) {
					break
				}
				fields := map[string]any{"random": rng.IntN(rangeReach), "rising": rangeStart.Add(time.Duration(n) * time.Second)}
				for _, f := range d.Fields {
					if f.Name == "text" {
						fields["text"] = f.Value
					}
				}
				if n++; !yield(Document{ID: d.ID, Fields: fields}, err) || err != nil {
					return
				}
			}
		}
	}
}
