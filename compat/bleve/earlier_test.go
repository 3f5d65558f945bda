package bleve

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/riffle-search/riffle"
)

// earlierDocuments are in testdata/index1, which commit 6204601 has written: two of them in a segment beside
// a deleted document, and one in the log. Numbers, dates, booleans and ids lie there in their field itself,
// not in that of values without places.
var earlierDocuments = []Document{
	{"moby", []byte(`{"title": "Moby Dick, or the Whales", "year": 1851, "published": "1851-10-18", "tags": ["sea", "whaling"], "read": true, "shelf": "T 42"}`)},
	{"nautilus", []byte(`{"title": "Twenty Thousand Leagues under the Sea", "year": 1870, "published": "1870-06-20", "tags": ["sea"], "read": false}`)},
	{"ahab", []byte(`{"title": "Ahab and the white whale", "year": 42, "published": "1851-01-01", "read": true}`)},
}

// TestEarlierIndex opens an index that an earlier build made. It answers as one of the same documents that
// is made now, but for phrases in values without places: those it finds until the document is put again.
func TestEarlierIndex(t *testing.T) {
	text, err := os.ReadFile("testdata/index1/mapping.json")
	if err != nil {
		t.Fatal(err)
	}
	open := func(dir string) *Index {
		x, err := Open(dir, mapping(t, string(text)), &Options{Name: "x", Engine: &riffle.Options{Durability: riffle.SyncNone}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := x.Close(); err != nil {
				t.Error(err)
			}
		})
		return x
	}
	dir := filepath.Join(t.TempDir(), "index")
	if err := os.CopyFS(dir, os.DirFS("testdata/index1/index")); err != nil {
		t.Fatal(err)
	}
	earlier, now := open(dir), open(t.TempDir())
	if err := now.Put(t.Context(), earlierDocuments...); err != nil {
		t.Fatal(err)
	}
	search := func(x *Index, request string) map[string]any {
		res, err := x.Search(t.Context(), []byte(request))
		if err != nil {
			t.Fatalf("%s: %v", request, err)
		}
		return answerOf(t, res)
	}
	compare := func(when, query string, total int) {
		request := `{"query": ` + query + `, "fields": ["*"], "sort": ["_id"], "highlight": {}}`
		got, want := search(earlier, request), search(now, request)
		if want["total_hits"] != float64(total) || !reflect.DeepEqual(got, want) {
			t.Errorf("%s, %s:\n%v, want %d documents:\n%v", when, query, got, total, want)
		}
	}
	queries := map[string]int{
		`{"match_all": {}}`:  3,
		`{"match": "whale"}`: 2,
		`{"match_phrase": "white whale", "field": "title"}`:           1,
		`{"match_phrase": "leagues under the sea", "field": "title"}`: 1,
		`{"prefix": "wha"}`:                                                        2,
		`{"bool": true, "field": "read"}`:                                          2,
		`{"term": "T", "field": "read"}`:                                           2,
		`{"fuzziness": 1, "term": "F", "field": "read"}`:                           3,
		`{"min": 42, "max": 1851, "inclusive_max": true, "field": "year"}`:         2,
		`{"min": 1000}`:                                                            2,
		`{"end": "1860-01-01", "field": "published"}`:                              2,
		`{"ids": ["moby", "gone"]}`:                                                1,
		`{"term": "moby", "field": "_id"}`:                                         1,
		`{"query": "+whale -year:>1000"}`:                                          1,
		`{"query": "42"}`:                                                          2,
		`{"must_not": {"disjuncts": [{"field": "read", "bool": true}]}}`:           1,
		`{"terms": ["T", "42"], "field": "shelf"}`:                                 0,
		`{"must": {"conjuncts": [{"match": "sea"}]}, "filter": {"match_all": {}}}`: 2,
	}
	const phrase = `{"terms": ["T"], "field": "read"}`
	for q, total := range queries {
		compare("as it was", q, total)
	}
	if n := search(earlier, `{"query": `+phrase+`}`)["total_hits"]; n != 2.0 {
		t.Errorf("a phrase in a boolean field finds %v documents: is the index that of an earlier build?", n)
	}
	// One document is new, beside earlier ones.
	if err := earlier.Put(t.Context(), earlierDocuments[0]); err != nil {
		t.Fatal(err)
	}
	for q, total := range queries {
		compare("one put again", q, total)
	}
	if err := earlier.Put(t.Context(), earlierDocuments[1:]...); err != nil {
		t.Fatal(err)
	}
	if err := earlier.Engine().Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	for q, total := range queries {
		compare("all put again", q, total)
	}
	compare("all put again", phrase, 0)
}
