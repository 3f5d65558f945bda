package scatter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/scatter"
	"github.com/riffle-search/riffle/cluster/scatter/scattertest"
)

// TestFacetsOfPassages compares searches for queries of gutenberg-dev, with facets, of passages in four shards with
// those of one index that has the documents of shard 0 first, and then those of the next.
func TestFacetsOfPassages(t *testing.T) {
	whole, parts, n := scattertest.OpenPassages(t, 4, 2000)
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
	if n < 2000 || found < some {
		t.Errorf("%d passages, %d buckets of %d queries", n, found, some)
	}
}
