package server

import (
	"reflect"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/client"
)

// plainRequests are read by readPlainSearch, oddRequests are not.
var (
	plainRequests = []string{
		`{}`,
		`{"k": 5}`,
		`{"query": {"match": {"field": "title", "text": "white whale"}}, "k": 10}`,
		`{"query": {"bool": {"must": [{"all": {}}], "min_should": "75%"}}}`,
		`{"text": {"text": "whale", "fields": ["title", "body"], "mode": "and"}, "from": 20, "exact_total": true, "load": ["*"]}`,
		`{"highlight": {"fields": ["title"], "fragments": 2, "size": -1, "html": true}, "versions": true, "cursors": true, "no_hits": false, "load": []}`,
		`{"query": {"match": {"field": "title", "text": "a\"b"}}}`,
		`{"query": {"term": {"field": "year", "value": 18.5}}}`,
		`{"after": ""}`,
	}
	oddRequests = []string{
		``,
		`[]`,
		`{"k": 5, "k": 6}`,
		`{"K": 5}`,
		`{"k": null}`,
		`{"k": 1.5}`,
		`{"k": "5"}`,
		`{"k": 5} {}`,
		`{"k": 5`,
		`{"unknown": 1}`,
		`{"query": {"match": {}, "all": {}}}`,
		`{"query": {"match": {"field": 5}}}`,
		`{"query": null}`,
		`{"query": {]}}`,
		`{"query": {"all": {}}, "query": {"all": {}}}`,
		`{"text": "whale"}`,
		`{"text": {"text": "a", "text": "b"}}`,
		`{"text": {"text": "a", "lenient": true}}`,
		`{"highlight": {"lead": true}}`,
		`{"aggregations": {}}`,
		`{"sort": ["year"]}`,
		`{"load": ["a\n"]}`,
		`{"load": null}`,
		"{\"load\": [\"\xff\"]}",
		`{"exact_total": 1}`,
		`{"highlight": {"html": true, "html": true}}`,
		`{"highlight": null}`,
	}
)

// checkPlainSearch compares readPlainSearch with decode, and says whether it has read the request.
func checkPlainSearch(t *testing.T, data []byte) bool {
	got, ok := readPlainSearch(data)
	if !ok {
		return false
	}
	want := new(client.SearchRequest)
	if err := decode(data, want); err != nil {
		t.Fatalf("%q is read, but %v", data, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q is read as %+v, want %+v", data, got, want)
	}
	return true
}

func TestPlainSearch(t *testing.T) {
	for _, text := range plainRequests {
		if !checkPlainSearch(t, []byte(text)) {
			t.Errorf("%s is not read, though it is plain", text)
		}
	}
	for _, text := range oddRequests {
		if checkPlainSearch(t, []byte(text)) {
			t.Errorf("%s is read, though it is not plain", text)
		}
	}
}

func FuzzPlainSearch(f *testing.F) {
	for _, text := range slices.Concat(plainRequests, oddRequests) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkPlainSearch(t, data) })
}
