package bleve

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle"
)

// sortedMapping has columns for all of its fields but body.
const sortedMapping = `{"types": {"odd": {"dynamic": false, "properties": {"mixed": {"fields": [{"type": "text", "analyzer": "keyword", "index": true, "docvalues": true}]}}}},
	"default_mapping": {"dynamic": false, "properties": {
	"name": {"fields": [{"type": "text", "analyzer": "lower", "index": true, "docvalues": true}]},
	"like": {"fields": [{"type": "text", "analyzer": "lower", "index": true, "docvalues": true}]},
	"body": {"fields": [{"type": "text", "index": true, "docvalues": true}]},
	"n": {"fields": [{"type": "number", "index": true, "docvalues": true}]},
	"mixed": {"fields": [{"type": "number", "index": true, "docvalues": true}]},
	"day": {"fields": [{"type": "datetime", "index": true, "docvalues": true}]},
	"ok": {"fields": [{"type": "boolean", "index": true, "docvalues": true}]},
	"at": {"fields": [{"type": "geopoint", "index": true}]},
	"all": {"fields": [{"type": "geopoint", "index": true}]}}},
	"analysis": {"analyzers": {"lower": {"type": "custom", "tokenizer": "single", "token_filters": ["to_lower"]}}}}`

func randomDocument(rng *rand.Rand) []byte {
	d := map[string]any{"body": strings.Repeat("sea whale ship "[:4+rng.IntN(10)], 1+rng.IntN(3))}
	list := func(value func() any) any {
		if rng.IntN(4) > 0 {
			return value()
		}
		return []any{value(), value(), value()}[:rng.IntN(4)]
	}
	set := func(name string, value func() any) {
		if rng.IntN(4) > 0 {
			d[name] = list(value)
		}
	}
	set("name", func() any { return []any{"Whale", "ship", "a b", "zebra", "Whales"}[rng.IntN(5)] })
	set("like", func() any { return []any{"Whale", " \x01234567890"}[rng.IntN(2)] }) // the second looks like a number
	set("n", func() any { return []any{0.0, -1.5, 1e300, 42.0, float64(rng.IntN(1000))}[rng.IntN(5)] })
	set("day", func() any { return fmt.Sprintf("20%02d-0%d-11", rng.IntN(100), 1+rng.IntN(9)) })
	set("ok", func() any { return rng.IntN(2) == 0 })
	set("all", func() any { return []any{float64(rng.IntN(360) - 180), float64(rng.IntN(180) - 90)} })
	if rng.IntN(4) > 0 {
		d["at"] = []any{13 + float64(rng.IntN(5))/1e7, 52 + rng.NormFloat64()*[]float64{0, 1e-7, 1e-3, 20}[rng.IntN(4)]}
	}
	switch rng.IntN(40) {
	case 0:
		d["_type"], d["mixed"] = "odd", "text"
	default:
		d["mixed"] = float64(rng.IntN(10))
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	return text
}

func randomKeys(rng *rand.Rand) (keys []any) {
	for range 1 + rng.IntN(3) {
		name := []string{"name", "name", "body", "n", "mixed", "like", "day", "day", "ok", "_id"}[rng.IntN(10)]
		switch rng.IntN(6) {
		case 0, 1:
			keys = append(keys, map[string]any{"by": "geo_distance", "field": []string{"at", "at", "all"}[rng.IntN(3)], "desc": rng.IntN(2) == 0, "unit": "km",
				"location": []any{13 + rng.NormFloat64()*float64(rng.IntN(2)), 52 + rng.NormFloat64()*[]float64{0, 1e-7, 20}[rng.IntN(3)]}})
		case 2:
			keys = append(keys, []string{"", "-"}[rng.IntN(2)]+[]string{"name", "n", "_score", "_id", "ok"}[rng.IntN(5)])
		default:
			keys = append(keys, map[string]any{"by": "field", "field": name, "desc": rng.IntN(2) == 0, "type": []string{"auto", "string", "number", "date"}[rng.IntN(4)],
				"mode": []string{"min", "max"}[rng.IntN(2)], "missing": []string{"first", "last"}[rng.IntN(2)]})
		}
	}
	return keys
}

// TestColumns sorts by columns and by stored values, and compares the pages: of indexes with several
// segments and deleted documents, also of an alias, ties in the order of the index.
func TestColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 6))
	m := mapping(t, sortedMapping)
	var alias Alias
	for i := range 2 {
		x, err := Open(t.TempDir(), m, &Options{Name: fmt.Sprint("x", i), Engine: &riffle.Options{Durability: riffle.SyncNone}})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		for range 4 {
			var docs []Document
			for range 150 {
				docs = append(docs, Document{ID: fmt.Sprint("d", rng.IntN(900)), JSON: randomDocument(rng)})
			}
			for batch := range slices.Chunk(docs, 30) { // of one id once
				seen := map[string]bool{}
				batch = slices.DeleteFunc(batch, func(d Document) bool { was := seen[d.ID]; seen[d.ID] = true; return was })
				if err := x.Put(t.Context(), batch...); err != nil {
					t.Fatal(err)
				}
			}
			if err := x.Delete(t.Context(), docs[3].ID, docs[5].ID); err != nil {
				t.Fatal(err)
			}
			if err := x.Engine().Compact(t.Context()); err != nil && i == 0 {
				t.Fatal(err)
			}
		}
		alias = append(alias, x)
	}
	fields, pages, columns := map[string]int{}, 0, 0
	for range 250 {
		r := map[string]any{"query": map[string]any{"match": []string{"sea", "whale", "ship"}[rng.IntN(3)], "field": "body"}, "size": rng.IntN(30), "from": rng.IntN(10) * rng.IntN(2), "sort": randomKeys(rng)}
		if rng.IntN(2) == 0 {
			r["query"] = map[string]any{"match_all": map[string]any{}}
		}
		searched := alias[rng.IntN(2):]
		for range 3 {
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := m.parseRequest(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			for _, x := range searched {
				s, err := x.engine.Snapshot()
				if err != nil {
					t.Fatal(err)
				}
				keys, err := (&finder{index: x, snapshot: s, request: parsed}).columnKeys(t.Context())
				s.Close()
				if err != nil {
					t.Fatal(err)
				}
				for _, k := range keys {
					fields[k.field]++
				}
				if columns++; keys == nil {
					columns--
				}
			}
			answer := func(byValues bool) *Result {
				for _, x := range alias {
					x.byValues = byValues
				}
				res, err := searched.Search(t.Context(), text)
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				return res
			}
			want, got := answer(true), answer(false)
			pages++
			show := func(res *Result) (out []string) {
				for _, h := range res.Hits {
					out = append(out, fmt.Sprintf("%s/%s %v %q %q", h.Index, h.ID, h.Score, h.Sort, h.DecodedSort))
				}
				return out
			}
			if got.Total != want.Total || got.MaxScore != want.MaxScore || !reflect.DeepEqual(show(got), show(want)) {
				t.Fatalf("%s: %d %v\n%s\nvalues have %d %v\n%s", text, got.Total, got.MaxScore, strings.Join(show(got), "\n"), want.Total, want.MaxScore, strings.Join(show(want), "\n"))
			}
			if len(got.Hits) == 0 {
				break
			}
			last := got.Hits[rng.IntN(len(got.Hits))]
			mark := last.DecodedSort
			for i := range mark {
				if mark[i] == "_score" {
					mark[i] = fmt.Sprint(last.Score)
				}
			}
			delete(r, "search_after")
			delete(r, "search_before")
			r["from"] = 0
			r[[]string{"search_after", "search_before"}[rng.IntN(2)]] = mark
			if text, err := json.Marshal(r); err != nil {
				t.Fatal(err)
			} else if _, err := m.parseRequest(text); err != nil {
				break // the term of a missing number is no number, as in bleve
			}
		}
	}
	t.Logf("%d pages, %d by columns: %v", pages, columns, fields)
	for _, name := range []string{"name", "n", "day", "ok", "at", "_id"} {
		if fields[name] < 20 {
			t.Errorf("%d pages sort by the column of %s", fields[name], name)
		}
	}
	for _, name := range []string{"body", "mixed", "like", "all"} {
		if fields[name] > 0 {
			t.Errorf("%d pages sort by a column of %s, which has not the terms of all documents", fields[name], name)
		}
	}
}

// TestColumnsOfEarlier opens an index of a build before columns. It sorts by values until all documents are
// put again.
func TestColumnsOfEarlier(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	if err := os.CopyFS(dir, os.DirFS("testdata/index1/index")); err != nil {
		t.Fatal(err)
	}
	m := mapping(t, `{"default_mapping": {"properties": {"year": {"fields": [{"type": "number", "index": true, "store": true, "docvalues": true}]}}}}`)
	x, err := Open(dir, m, &Options{Engine: &riffle.Options{Durability: riffle.SyncNone}})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	sorted := func() (ids string, columns bool) {
		request := []byte(`{"query": {"match_all": {}}, "sort": ["-year"]}`)
		res, err := x.Search(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range res.Hits {
			ids += h.ID + " "
		}
		r, err := m.parseRequest(request)
		if err != nil {
			t.Fatal(err)
		}
		s, err := x.engine.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		keys, err := (&finder{index: x, snapshot: s, request: r}).columnKeys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return ids, keys != nil
	}
	for i := range len(earlierDocuments) + 1 {
		ids, columns := sorted()
		if ids != "nautilus moby ahab " || columns != (i == len(earlierDocuments)) {
			t.Errorf("%d documents put again: %s, by columns: %v", i, ids, columns)
		}
		if i < len(earlierDocuments) {
			if err := x.Put(t.Context(), earlierDocuments[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
}
