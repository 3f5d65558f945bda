// Package compat compares compat/bleve with bleve.
package compat

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	upstream "github.com/blevesearch/bleve/v2"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/compat/bleve"
)

// refusals are the reasons for which a request may be refused.
var refusals = []string{"are not supported"}

func refused(err error) bool {
	return slices.ContainsFunc(refusals, func(reason string) bool { return strings.Contains(err.Error(), reason) })
}

// suiteDir returns the directory of bleve's own integration tests, which its module contains.
func suiteDir(t *testing.T) string {
	pc := reflect.ValueOf(upstream.NewIndexMapping).Pointer()
	file, _ := runtime.FuncForPC(pc).FileLine(pc)
	dir := filepath.Join(filepath.Dir(file), "test", "tests")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("bleve's tests are not there: %v", err)
	}
	return dir
}

// open makes an index of a mapping.
func open(t *testing.T, m *bleve.Mapping, name string) *bleve.Index {
	x, err := bleve.Open(t.TempDir(), m, &bleve.Options{Name: name, Engine: &riffle.Options{Durability: riffle.SyncNone}})
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

// fill adds the documents of a folder.
func fill(t *testing.T, x *bleve.Index, folder string) {
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Put(t.Context(), bleve.Document{ID: strings.TrimSuffix(f.Name(), ".json"), JSON: text}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSuite answers the requests of bleve's integration tests, and compares what these do: totals, ids
// in order, fields, fragments and locations.
func TestSuite(t *testing.T) {
	dir := suiteDir(t)
	sets, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	answered, without := 0, 0
	for _, set := range sets {
		t.Run(set.Name(), func(t *testing.T) {
			at := filepath.Join(dir, set.Name())
			text, err := os.ReadFile(filepath.Join(at, "mapping.json"))
			if err != nil {
				t.Fatal(err)
			}
			m, err := bleve.ParseMapping(text)
			if err != nil {
				t.Fatal(err)
			}
			var alias bleve.Alias
			if shards, err := os.ReadDir(filepath.Join(at, "datasets")); err == nil {
				for _, s := range shards {
					x := open(t, m, s.Name())
					fill(t, x, filepath.Join(at, "datasets", s.Name()))
					alias = append(alias, x)
				}
			} else {
				alias = bleve.Alias{open(t, m, set.Name())}
				fill(t, alias[0], filepath.Join(at, "data"))
			}
			a, r := runSuite(t, alias, filepath.Join(at, "searches.json"))
			answered, without = answered+a, without+r
		})
	}
	t.Logf("%d requests answered, %d refused", answered, without)
	if answered < 60 {
		t.Errorf("only %d requests answered", answered)
	}
}

func runSuite(t *testing.T, alias bleve.Alias, file string) (answered, without int) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var searches []struct {
		Comment string          `json:"comment"`
		Search  json.RawMessage `json:"search"`
		Result  struct {
			Total int          `json:"total_hits"`
			Hits  []*bleve.Hit `json:"hits"`
		} `json:"result"`
	}
	if err := json.Unmarshal(text, &searches); err != nil {
		t.Fatal(err)
	}
	for i, s := range searches {
		if bytes.Contains(s.Search, []byte(`"search_`)) && bytes.Contains(s.Search, []byte("_score")) {
			continue // from a score of bleve on
		}
		got, err := alias.Search(t.Context(), s.Search)
		if err != nil {
			if without++; !refused(err) {
				t.Errorf("search %d: %v", i, err)
			}
			continue
		}
		answered++
		ids := func(hits []*bleve.Hit) (ids []string) {
			for _, h := range hits {
				ids = append(ids, h.ID)
			}
			return ids
		}
		if got.Total != s.Result.Total || !slices.Equal(ids(got.Hits), ids(s.Result.Hits)) {
			t.Errorf("search %d %q: %d %v, bleve has %d %v", i, s.Comment, got.Total, ids(got.Hits), s.Result.Total, ids(s.Result.Hits))
			continue
		}
		for j, want := range s.Result.Hits {
			hit := got.Hits[j]
			if want.Fields != nil && !reflect.DeepEqual(hit.Fields, want.Fields) ||
				want.Fragments != nil && !reflect.DeepEqual(hit.Fragments, want.Fragments) ||
				want.Locations != nil && !reflect.DeepEqual(hit.Locations, want.Locations) {
				t.Errorf("search %d %q, hit %s:\n%v %q %v, bleve has\n%v %q %v", i, s.Comment, hit.ID,
					hit.Fields, hit.Fragments, hit.Locations, want.Fields, want.Fragments, want.Locations)
			}
		}
	}
	return answered, without
}
