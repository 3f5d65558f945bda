package bleve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle"
)

// facetsMapping has a field of each kind.
const facetsMapping = `{"default_mapping": {"dynamic": false, "properties": {
	"text": {"fields": [{"type": "text", "index": true, "store": true, "analyzer": "simple", "include_term_vectors": true}]},
	"tag": {"fields": [{"type": "text", "index": true, "analyzer": "keyword"}]},
	"n": {"fields": [{"type": "number", "index": true}]},
	"at": {"fields": [{"type": "datetime", "index": true}]}}}}`

// A facetsDocument is what the oracle knows of a document.
type facetsDocument struct {
	ID   string    `json:"-"`
	Text string    `json:"text,omitempty"`
	Tag  []string  `json:"tag,omitempty"`
	N    []float64 `json:"n,omitempty"`
	At   string    `json:"at,omitempty"`
}

// fillFacets makes an index of n documents in several segments, some of which are replaced or deleted.
func fillFacets(t testing.TB, x *Index, rng *rand.Rand, first, n int) map[string]facetsDocument {
	docs := map[string]facetsDocument{}
	put := func(ids ...int) {
		var batch []Document
		for _, i := range ids {
			d := facetsDocument{ID: fmt.Sprintf("d%05d", i)}
			for range rng.IntN(6) {
				d.Text += fmt.Sprintf("w%c ", 'a'+min(rng.IntN(26), rng.IntN(26)))
			}
			for range rng.IntN(3) {
				d.Tag = append(d.Tag, fmt.Sprint("t", rng.IntN(40)))
			}
			for range rng.IntN(3) {
				d.N = append(d.N, float64(rng.IntN(50))/2)
			}
			if rng.IntN(4) > 0 {
				d.At = fmt.Sprintf("2026-%02d-%02d", 1+rng.IntN(12), 1+rng.IntN(28))
			}
			text, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			docs[d.ID] = d
			batch = append(batch, Document{d.ID, text})
		}
		if err := x.Put(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		var ids []int
		for j := first + i*n/3; j < first+(i+1)*n/3; j++ {
			ids = append(ids, j)
		}
		put(ids...)
		if i < 2 {
			if err := x.Engine().Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(first, first+1, first+n/2)
	gone := fmt.Sprintf("d%05d", first+2)
	if err := x.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	delete(docs, gone)
	return docs
}

// termsFacet counts by document.
func termsFacet(docs map[string]facetsDocument, field string, size int, terms func(facetsDocument) []string) *Facet {
	f, counts := &Facet{Field: field}, map[string]int{}
	for _, d := range docs {
		of := terms(d)
		slices.Sort(of)
		of = slices.Compact(of)
		for _, term := range of {
			counts[term]++
		}
		if f.Total += len(of); len(of) == 0 {
			f.Missing++
		}
	}
	for term, n := range counts {
		f.Terms = append(f.Terms, TermFacet{term, n})
	}
	slices.SortFunc(f.Terms, func(a, b TermFacet) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Term, b.Term)) })
	f.Terms = f.Terms[:min(len(f.Terms), size)]
	f.Other = f.Total
	for _, c := range f.Terms {
		f.Other -= c.Count
	}
	return f
}

// TestFacets compares with counting document by document: in one index, and in several as one, where
// bleve adds up the first terms of each.
func TestFacets(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 4))
	m := mapping(t, facetsMapping)
	var alias Alias
	docs := map[string]facetsDocument{}
	for i := range 2 {
		x, err := Open(t.TempDir(), m, &Options{Name: "x", Engine: &riffle.Options{Durability: riffle.SyncNone}})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		alias = append(alias, x)
		maps.Copy(docs, fillFacets(t, x, rng, i*10_000, 900))
	}
	for _, c := range []struct {
		query   string
		matches func(facetsDocument) bool
	}{
		{`{"match_all": {}}`, func(facetsDocument) bool { return true }},
		{`{"match": "wa", "field": "text"}`, func(d facetsDocument) bool { return strings.Contains(d.Text, "wa ") }},
		{`{"min": 3, "max": 4, "field": "n"}`, func(d facetsDocument) bool {
			return slices.ContainsFunc(d.N, func(n float64) bool { return n >= 3 && n < 4 })
		}},
		{`{"match": "nothing", "field": "text"}`, func(facetsDocument) bool { return false }},
	} {
		res, err := alias.Search(t.Context(), []byte(`{"size": 0, "query": `+c.query+`, "facets": {
			"words": {"field": "text", "size": 5}, "tags": {"field": "tag", "size": 100}, "t1": {"field": "tag", "size": 3, "term_prefix": "t1", "term_pattern": "[5-9]"},
			"n": {"field": "n", "size": 2, "numeric_ranges": [{"name": "low", "max": 5}, {"name": "mid", "min": 4.5, "max": 20}, {"name": "high", "min": 20}, {"name": "none", "min": 100}]},
			"at": {"field": "at", "size": 9, "date_ranges": [{"name": "spring", "start": "2026-03-01", "end": "2026-06-01"}, {"name": "later", "start": "2026-06-01"}]}}}`))
		if err != nil {
			t.Fatal(err)
		}
		found := maps.Clone(docs)
		maps.DeleteFunc(found, func(_ string, d facetsDocument) bool { return !c.matches(d) })
		if res.Total != len(found) {
			t.Fatalf("%s: %d documents, want %d", c.query, res.Total, len(found))
		}
		tags := func(d facetsDocument) []string { return slices.Clone(d.Tag) }
		want := map[string]*Facet{
			"words": termsFacet(found, "text", 5, func(d facetsDocument) []string { return strings.Fields(d.Text) }),
			"tags":  termsFacet(found, "tag", 100, tags),
		}
		// Total has all terms, those that do not count, too.
		t1 := termsFacet(found, "tag", 3, func(d facetsDocument) []string {
			return slices.DeleteFunc(tags(d), func(tag string) bool { return len(tag) != 3 || tag[1] != '1' || tag[2] < '5' })
		})
		t1.Other += want["tags"].Total - t1.Total
		t1.Total = want["tags"].Total
		want["t1"] = t1
		n, at := &Facet{Field: "n"}, &Facet{Field: "at"}
		low, mid, high, spring, later := 0, 0, 0, 0, 0
		for _, d := range found {
			numbers := slices.Compact(slices.Sorted(slices.Values(d.N)))
			for _, x := range numbers {
				if x < 5 {
					low++
				}
				if x >= 4.5 && x < 20 {
					mid++
				}
				if x >= 20 {
					high++
				}
			}
			if len(numbers) == 0 {
				n.Missing++
			}
			switch {
			case d.At == "":
				at.Missing++
			case d.At >= "2026-06-01":
				later++
			case d.At >= "2026-03-01":
				spring++
			}
		}
		n.Total, at.Total = low+mid+high, spring+later
		bound := func(f float64) *float64 { return &f }
		for _, r := range []NumericRangeFacet{{"high", bound(20), nil, high}, {"low", nil, bound(5), low}, {"mid", bound(4.5), bound(20), mid}} {
			if r.Count > 0 {
				n.NumericRanges = append(n.NumericRanges, r)
			}
		}
		slices.SortStableFunc(n.NumericRanges, func(a, b NumericRangeFacet) int { return b.Count - a.Count })
		n.NumericRanges = n.NumericRanges[:min(2, len(n.NumericRanges))]
		n.Other = n.Total
		for _, r := range n.NumericRanges {
			n.Other -= r.Count
		}
		from, to := "2026-03-01T00:00:00Z", "2026-06-01T00:00:00Z"
		for _, r := range []DateRangeFacet{{"later", &to, nil, later}, {"spring", &from, &to, spring}} {
			if r.Count > 0 {
				at.DateRanges = append(at.DateRanges, r)
			}
		}
		want["n"], want["at"] = n, at
		for name, f := range want {
			got, _ := json.Marshal(res.Facets[name])
			f.ofTerms = res.Facets[name].ofTerms
			if w, _ := json.Marshal(f); string(got) != string(w) && !(reflect.DeepEqual(res.Facets[name].Terms, f.Terms) && len(found) == 0) {
				t.Errorf("%s: facet %s is\n%s, want\n%s", c.query, name, got, w)
			}
		}
	}
}

// TestSortMany sorts more documents than riffle returns at once, by fields and by ids, and pages from end
// to end.
func TestSortMany(t *testing.T) {
	if testing.Short() {
		t.Skip("10,050 documents")
	}
	x, err := Open(t.TempDir(), mapping(t, `{"default_mapping": {"dynamic": false, "properties": {
		"n": {"fields": [{"type": "number", "index": true}]}}}}`), &Options{Name: "x", Engine: &riffle.Options{Durability: riffle.SyncNone}})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	const documents = riffle.MaxK + 50
	rng := rand.New(rand.NewPCG(16, 5))
	var batch []Document
	numbers := map[string]int{}
	for i := range documents {
		id := fmt.Sprintf("d%05d", i)
		numbers[id] = rng.IntN(2000)
		batch = append(batch, Document{id, fmt.Appendf(nil, `{"n": %d}`, numbers[id])})
	}
	if err := x.Put(t.Context(), batch...); err != nil {
		t.Fatal(err)
	}
	ids := slices.Sorted(maps.Keys(numbers))
	byNumber := slices.Clone(ids)
	slices.SortStableFunc(byNumber, func(a, b string) int { return numbers[b] - numbers[a] })
	for _, c := range []struct {
		more string
		want []string
	}{
		{`"sort": ["-n", "_id"], "size": 7`, byNumber[:7]},
		{`"sort": ["-n", "_id"], "from": 10045, "size": 10`, byNumber[10045:]},
		{`"sort": [{"by": "field", "field": "n", "type": "number", "desc": true}, "_id"], "size": 3, "search_before": ["-1", ""]`, byNumber[documents-3:]},
		{`"sort": ["_id"], "from": 10020, "size": 5`, ids[10020:10025]},
		{`"sort": ["_id"], "size": 4, "search_after": ["d10040"]`, ids[10041:10045]},
		{`"from": 10048, "size": 9`, ids[10048:]},
	} {
		res, err := x.Search(t.Context(), []byte(`{"query": {"match_all": {}}, `+c.more+`}`))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range res.Hits {
			if got = append(got, h.ID); h.Score != 1 {
				t.Errorf("%s: score %v", c.more, h.Score)
			}
		}
		if !slices.Equal(got, c.want) || res.Total != documents || res.MaxScore != 1 {
			t.Errorf("%s: %v of %d, best %v, want %v", c.more, got, res.Total, res.MaxScore, c.want)
		}
	}
}
