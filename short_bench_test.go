package riffle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// shortRows returns an index of a million rows in one sealed segment: "random" has numbers in random
// order, "rising" dates in order, and "word" is rare
// in ten rows, seldom in a thousand, and common in the others.
func shortRows(b *testing.B) *Engine {
	const rows = 1_000_000
	dir, filled := keptIndex(b, "short")
	o := &Options{Durability: SyncNone, SearchWorkers: 1, Schema: &Schema{NoStore: true, Fields: map[string]Field{
		"word": {Type: FieldKeyword}, "random": {Type: FieldNumber}, "rising": {Type: FieldDate},
	}}}
	if !filled {
		rng := rand.New(rand.NewPCG(3, 5))
		documents := Documents(func(yield func(Document, error) bool) {
			for i := range rows {
				word := "common"
				switch {
				case i%100_000 == 0:
					word = "rare"
				case i%1000 == 0:
					word = "seldom"
				}
				if !yield(Document{ID: fmt.Sprint(i), Fields: map[string]any{
					"word": word, "random": rng.IntN(rangeReach), "rising": rangeStart.Add(time.Duration(i) * time.Second),
				}}, nil) {
					return
				}
			}
		})
		if _, err := Build(context.Background(), dir, documents, &BuildOptions{Index: *o}); err != nil {
			b.Fatal(err)
		}
	}
	e, err := Open(dir, o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	if !filled {
		if err := keepIndex("short", e, dir); err != nil {
			b.Fatal(err)
		}
	}
	return e
}

// BenchmarkShort measures queries that have next to nothing to compute, so what they take is what every
// search takes. All of them come again, on one core.
func BenchmarkShort(b *testing.B) {
	e := shortRows(b)
	ctx := context.Background()
	between := Range{Field: "random", From: 1000, To: 200_000}
	search := func(q Query, o *SearchOptions) func() error {
		return func() error {
			_, err := e.Search(ctx, q, o)
			return err
		}
	}
	count := func(q Query) func() error {
		return func() error {
			_, err := e.Count(ctx, q)
			return err
		}
	}
	rare := Term{Field: "word", Value: "rare"}
	for _, s := range []struct {
		name string
		run  func() error
	}{
		{"count/range", count(between)},
		{"count/filter", count(Bool{Filter: []Query{between}})},
		{"count/term", count(rare)},
		{"count/both", count(Bool{Must: []Query{rare}, Filter: []Query{between}})},
		{"search/rare", search(rare, nil)},
		{"search/match", search(Match{Field: "word", Text: "rare"}, nil)},
		{"search/seldom", search(Term{Field: "word", Value: "seldom"}, nil)},
		{"search/nohits", search(rare, &SearchOptions{NoHits: true})},
		{"search/range-nohits", search(between, &SearchOptions{NoHits: true})},
		{"search/filtered", search(Bool{Must: []Query{rare}, Filter: []Query{between}}, nil)},
		{"search/few-pass", search(Bool{Must: []Query{Term{Field: "word", Value: "common"}}, Filter: []Query{Range{Field: "random", From: 1000, To: 1010}}}, nil)},
		{"sort/rising", search(All{}, &SearchOptions{Sort: []SortKey{{Field: "rising"}}})},
		{"sort/rising-range", search(Range{Field: "rising", From: rangeStart}, &SearchOptions{Sort: []SortKey{{Field: "rising"}}})},
	} {
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for range 10 {
				if err := s.run(); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if err := s.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
