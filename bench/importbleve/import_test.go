package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	upstream "github.com/blevesearch/bleve/v2"

	"github.com/riffle-search/riffle"
)

// TestImport copies an index of bleve, and compares its documents and some answers.
func TestImport(t *testing.T) {
	mapping := upstream.NewIndexMapping()
	if err := json.Unmarshal([]byte(`{"default_mapping": {"properties": {
		"title": {"fields": [{"type": "text", "analyzer": "en", "store": true, "index": true, "include_term_vectors": true},
			{"type": "text", "name": "plain", "analyzer": "simple", "index": true}]},
		"place": {"fields": [{"type": "geopoint", "store": true, "index": true}]},
		"code": {"fields": [{"type": "text", "name": "shelf", "analyzer": "keyword", "store": true, "index": true}]},
		"body": {"fields": [{"type": "text", "index": true}]}}}}`), mapping); err != nil {
		t.Fatal(err)
	}
	from, to := filepath.Join(t.TempDir(), "old"), filepath.Join(t.TempDir(), "new")
	old, err := upstream.New(from, mapping)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		doc := map[string]any{"title": fmt.Sprintf("Whales of volume %d", i), "tags": []string{"sea", fmt.Sprint("t", i%7)}, "year": 1800 + i, "code": fmt.Sprint("A ", i),
			"read": i%2 == 0, "at": fmt.Sprintf("20%02d-01-02T03:04:05Z", i), "who": map[string]any{"name": "Ann"}, "body": "lost", "place": []float64{1, 2}}
		if err := old.Index(fmt.Sprint("d", i), doc); err != nil {
			t.Fatal(err)
		}
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	done, err := Import(t.Context(), from, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	listed := fmt.Sprint(done.Problems)
	if done.Docs != 50 || !strings.Contains(listed, `field "body": bleve has not stored`) || !strings.Contains(listed, `field "place": its values`) || strings.Contains(listed, `field "title"`) {
		t.Errorf("%d documents, problems %v", done.Docs, done.Problems)
	}
	e, err := riffle.Open(to, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	got, err := e.Get(t.Context(), "d3")
	want := map[string]any{"title": "Whales of volume 3", "tags": []any{"sea", "t3"}, "year": int64(1803), "read": false,
		"at": time.Date(2003, 1, 2, 3, 4, 5, 0, time.UTC), "who.name": "Ann"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %v, want %v", got, err, want)
	}
	for _, c := range []struct {
		query riffle.Query
		want  []string
	}{
		{riffle.Phrase{Field: "title", Text: "whale of volume 7"}, []string{"d7"}},
		{riffle.Match{Field: "plain", Text: "whale"}, nil},
		{riffle.Term{Field: "shelf", Value: "A 9"}, []string{"d9"}},
		{riffle.Bool{Must: []riffle.Query{riffle.Term{Field: "tags", Value: "t6"}, riffle.Term{Field: "read", Value: true}}}, []string{"d20", "d34", "d48", "d6"}},
		{riffle.Term{Field: "year", Value: 1849}, []string{"d49"}},
		{riffle.Bool{Must: []riffle.Query{riffle.Match{Field: "who.name", Text: "ann"}}, Filter: []riffle.Query{riffle.IDs{Values: []string{"d1"}}}}, []string{"d1"}},
	} {
		res, err := e.Search(t.Context(), c.query, &riffle.SearchOptions{K: 100})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, h := range res.Hits {
			ids = append(ids, h.ID)
		}
		if slices.Sort(ids); !slices.Equal(ids, c.want) {
			t.Errorf("%v: %v, want %v", c.query, ids, c.want)
		}
	}
	if _, err := Import(t.Context(), filepath.Join(t.TempDir(), "none"), to, nil); err == nil {
		t.Error("an index that does not exist is no error")
	}
}
