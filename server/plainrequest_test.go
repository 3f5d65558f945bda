package server

import (
	"reflect"
	"testing"

	"github.com/riffle-search/riffle/client"
)

// plainRequests are requests for searches, and whether readPlainSearch reads them.
var plainRequests = map[string]bool{
	`{}`: true, `{"k": 5}`: true, `{"query": {"match": {"field": "title", "text": "white whale"}}, "k": 10}`: true, `{"query": {"bool": {"must": [{"all": {}}], "min_should": "75%"}}}`: true,
	`{"text": {"text": "whale", "fields": ["title", "body"], "mode": "and"}, "from": 20, "exact_total": true, "load": ["*"]}`: true,
	`{"highlight": {"fields": ["title"], "fragments": 2, "size": -1, "html": true}, "versions": true, "cursors": true, "no_hits": false, "load": []}`: true,
	`{"query": {"match": {"field": "title", "text": "a\"b"}}}`: true, `{"query": {"term": {"field": "year", "value": 18.5}}}`: true, `{"after": ""}`: true,

	``: false, `[]`: false, `{"k": 5, "k": 6}`: false, `{"K": 5}`: false, `{"k": null}`: false, `{"k": 1.5}`: false, `{"k": "5"}`: false, `{"k": 5} {}`: false, `{"k": 5`: false, `{"unknown": 1}`: false,
	`{"query": {"match": {}, "all": {}}}`: false, `{"query": {"match": {"field": 5}}}`: false, `{"query": null}`: false, `{"query": {]}}`: false, `{"query": {"all": {}}, "query": {"all": {}}}`: false,
	`{"text": "whale"}`: false, `{"text": {"text": "a", "text": "b"}}`: false, `{"text": {"text": "a", "lenient": true}}`: false, `{"after": "damaged"}`: false, `{"highlight": {"lead": true}}`: false,
	`{"aggregations": {}}`: false, `{"sort": ["year"]}`: false, `{"load": ["a\n"]}`: false, `{"load": null}`: false, "{\"load\": [\"\xff\"]}": false, `{"exact_total": 1}`: false,
	`{"highlight": {"html": true, "html": true}}`: false, `{"highlight": null}`: false,
}

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
	for text, want := range plainRequests {
		if got := checkPlainSearch(t, []byte(text)); got != want {
			t.Errorf("%s is plain: %v, want %v", text, got, want)
		}
	}
}

func FuzzPlainSearch(f *testing.F) {
	for text := range plainRequests {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkPlainSearch(t, data) })
}
