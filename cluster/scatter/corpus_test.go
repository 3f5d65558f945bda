package scatter_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/scatter"
	"github.com/riffle-search/riffle/cluster/scatter/scattertest"
)

// passageSchema has facets of passages: their book, words that begin with a capital, and length.
var passageSchema = &riffle.Schema{Fields: map[string]riffle.Field{
	"text": {Type: riffle.FieldText}, "book": {Type: riffle.FieldKeyword}, "names": {Type: riffle.FieldKeyword}, "length": {Type: riffle.FieldNumber},
}}

// TestFacetsOfPassages compares searches for queries of gutenberg-dev, with facets, of passages in four shards with
// those of one index that has the documents of shard 0 first, and then those of the next.
func TestFacetsOfPassages(t *testing.T) {
	const shards = 4
	var batches [shards]riffle.Batch
	n := 0
	scattertest.EachLine(t, "gutenberg-a.jsonl.zst", 2000, func(line []byte) {
		var p struct{ ID, Title, Text string }
		if err := json.Unmarshal(line, &p); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, word := range strings.Fields(p.Text) {
			if word[0] >= 'A' && word[0] <= 'Z' && len(names) < 20 {
				names = append(names, strings.Trim(word, ".,;:!?\"'"))
			}
		}
		batches[n%shards].Put(p.ID, map[string]any{"text": p.Text, "book": p.Title, "names": names, "length": len(p.Text)})
		n++
	})
	openEngine := func() *riffle.Engine {
		e, err := riffle.Open(filepath.Join(t.TempDir(), "index"), &riffle.Options{Schema: passageSchema, Durability: riffle.SyncNone})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return e
	}
	whole := openEngine()
	var parts []*riffle.Engine
	for i := range batches {
		part := openEngine()
		parts = append(parts, part)
		if err := errors.Join(part.Apply(t.Context(), &batches[i]), whole.Apply(t.Context(), &batches[i]), whole.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	x := locals(t, parts)
	facets := map[string]riffle.Aggregation{
		"book": riffle.TermsAggregation{Field: "book", Size: 5, Sub: map[string]riffle.Aggregation{
			"length": riffle.StatsAggregation{Field: "length"}, "names": riffle.TermsAggregation{Field: "names", Size: 3}, "best": riffle.TopHitsAggregation{Size: 2, Load: []string{"length"}},
		}},
		"names": riffle.TermsAggregation{Field: "names"}, "long": riffle.PercentilesAggregation{Field: "length"},
		"length": riffle.HistogramAggregation{Field: "length", Interval: 100}, "people": riffle.CardinalityAggregation{Field: "names"},
	}
	found, some := 0, 0
	scattertest.EachLine(t, "queries/gutenberg-dev.tsv", 60, func(line []byte) {
		_, text, _ := strings.Cut(string(line), "\t")
		some++
		q := riffle.Match{Field: "text", Text: text, Mode: riffle.Mode(some % 3)}
		o := scatter.Options{SearchOptions: riffle.SearchOptions{K: 10, ExactTotal: true, Aggregations: facets}}
		if some%2 == 0 {
			o.Selections = map[string]riffle.Query{"length": riffle.Range{Field: "length", From: 400}, "book": riffle.Match{Field: "text", Text: "the"}}
		}
		want, err := whole.Search(t.Context(), q, &o.SearchOptions)
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.Search(t.Context(), q, &o)
		if err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("query %d: %+v", some, q)
		scattertest.Compare(t, what, got, want)
		scattertest.CompareAggregations(t, what, facets, got.Aggregations, want.Aggregations)
		found += len(want.Aggregations["names"].Buckets)
	})
	if n < shards || found < some {
		t.Errorf("%d passages, %d buckets of %d queries", n, found, some)
	}
}
