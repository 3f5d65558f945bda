package compat

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	upstream "github.com/blevesearch/bleve/v2"
	"github.com/riffle-search/riffle/compat/bleve"
)

// TestSameOrder compares what bleve and riffle answer to requests that sort by fields at random, the first
// page and those behind and before it.
func TestSameOrder(t *testing.T) {
	pages := 0
	for number, mapping := range mappings {
		if strings.Contains(mapping, "shingle") {
			continue // bleve also makes shingles of nothing but gaps, which may be the first terms
		}
		rng := rand.New(rand.NewPCG(77, uint64(number)))
		theirs, ours := both(t, mapping, rng, 60)
		for range 40 {
			r := map[string]any{"query": map[string]any{"match_all": map[string]any{}}, "size": 1 + rng.IntN(20), "sort": sortKeys(rng)}
			if rng.IntN(2) == 0 {
				r["query"] = map[string]any{"wildcard": "*" + []string{"s", "e", "a"}[rng.IntN(3)] + "*", "field": "body"}
			}
			for page := range 4 {
				request, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, theirs, ours, mapping, request)
				if t.Failed() {
					t.FailNow()
				}
				last := lastHit(t, ours, request)
				if last == nil {
					break
				}
				pages++
				delete(r, "search_after")
				delete(r, "search_before")
				r[[]string{"search_after", "search_after", "search_before", ""}[page]] = last
			}
		}
	}
	if pages < 200 {
		t.Errorf("%d pages are too few to compare", pages)
	}
}

// sortKeys makes sort keys at random, of which the last is the id.
func sortKeys(rng *rand.Rand) (keys []any) {
	names := []string{"title", "body", "tags", "n", "at", "ok", "mixed", "people.age", "people.name", "plain", "none", "_all"}
	for range 1 + rng.IntN(2) {
		name := names[rng.IntN(len(names))]
		switch rng.IntN(12) {
		case 0:
			keys = append(keys, map[string]any{"by": "field", "field": "_id", "desc": rng.IntN(2) == 0, "mode": "max"})
			continue
		case 1:
			keys = append(keys, map[string]any{"by": "id", "desc": rng.IntN(2) == 0})
			continue
		}
		if rng.IntN(3) == 0 {
			keys = append(keys, []string{"", "-", "+"}[rng.IntN(3)]+name)
			continue
		}
		keys = append(keys, map[string]any{
			"by": "field", "field": name, "desc": rng.IntN(2) == 0,
			"type":    []string{"auto", "string", "number", "date"}[rng.IntN(4)],
			"mode":    []string{"default", "min", "max"}[rng.IntN(3)],
			"missing": []string{"first", "last"}[rng.IntN(2)],
		})
	}
	return append(keys, "_id")
}

// lastHit returns the sort keys of the last hit as search_after takes them, or nil.
func lastHit(t *testing.T, ours *bleve.Index, request []byte) []string {
	var r upstream.SearchRequest
	if json.Unmarshal(request, &r) != nil || r.Validate() != nil {
		return nil
	}
	res, err := ours.Search(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Hits) == 0 {
		return nil
	}
	h := res.Hits[len(res.Hits)-1]
	return h.DecodedSort
}
