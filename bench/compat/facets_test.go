package compat

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestSameFacets compares the facets of requests at random, which sort their hits by fields, too.
func TestSameFacets(t *testing.T) {
	requests, terms := 60, 0
	if testing.Short() {
		requests = 15
	}
	for number, mapping := range mappings {
		if strings.Contains(mapping, "shingle") {
			continue // bleve also makes shingles of nothing but gaps
		}
		rng := rand.New(rand.NewPCG(16, uint64(number)))
		theirs, ours := both(t, mapping, rng, 60)
		for range requests {
			r := facetsRequest(rng)
			compare(t, theirs, ours, mapping, r)
			if t.Failed() {
				t.FailNow()
			}
			res, err := ours.Search(t.Context(), r)
			if err != nil {
				continue
			}
			for _, f := range res.Facets {
				terms += len(f.Terms) + len(f.NumericRanges) + len(f.DateRanges)
			}
		}
	}
	if t.Logf("%d terms and ranges", terms); terms < 5*requests {
		t.Error("too few to compare")
	}
}

// facetsRequest makes a request at random with facets.
func facetsRequest(rng *rand.Rand) []byte {
	facets := map[string]any{}
	for i := range 1 + rng.IntN(3) {
		facets[fmt.Sprint("f", i)] = facet(rng)
	}
	r := map[string]any{"query": query(rng, 1), "size": rng.IntN(8), "sort": sortKeys(rng), "facets": facets}
	switch rng.IntN(4) {
	case 0, 1:
		r["query"] = map[string]any{"match_all": map[string]any{}}
	case 2:
		r["query"] = map[string]any{"match": words(rng, 3), "field": "body"}
	}
	if rng.IntN(4) == 0 {
		r["sort"] = []string{"_id"}
	}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return text
}

// facet makes the request of a facet at random.
func facet(rng *rand.Rand) map[string]any {
	names := []string{"title", "body", "tags", "n", "at", "ok", "mixed", "people.age", "people.name", "plain", "grams", "nowhere", "_all", "_id"}
	f := map[string]any{"field": names[rng.IntN(len(names))], "size": rng.IntN(12)}
	var ranges []any
	kind := rng.IntN(4)
	if kind < 2 && rng.IntN(4) > 0 {
		f["field"] = []string{"n", "people.age", "mixed", "at"}[rng.IntN(4)]
	}
	switch kind {
	case 0:
		for i := range rng.IntN(4) {
			g := map[string]any{"name": fmt.Sprint("r", i)}
			if rng.IntN(3) > 0 {
				g["min"] = number(rng)
			}
			if rng.IntN(3) > 0 {
				g["max"] = number(rng)
			}
			ranges = append(ranges, g)
		}
		f["numeric_ranges"] = append([]any{}, ranges...)
	case 1:
		for i := range rng.IntN(4) {
			g := map[string]any{"name": fmt.Sprint("r", i)}
			if rng.IntN(3) > 0 {
				g["start"] = date(rng)
			}
			if rng.IntN(3) > 0 {
				g["end"] = date(rng)
			}
			if rng.IntN(8) == 0 {
				g["datetime_parser"] = []string{"days", "unix_sec", "dateTimeOptional"}[rng.IntN(3)]
			}
			ranges = append(ranges, g)
		}
		f["date_ranges"] = append([]any{}, ranges...)
	case 2:
		f["term_prefix"] = []string{"s", "wh", "東", "x1", " ", "sea "}[rng.IntN(6)]
	}
	if rng.IntN(4) == 0 {
		f["term_pattern"] = []string{"a", "^s", "s$", "[0-9]", "(?i)SEA", "^..$", "("}[rng.IntN(7)]
	}
	return f
}
