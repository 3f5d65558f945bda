package bleve

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle"
)

// BenchmarkSort sorts 100,000 documents by columns, and by stored values as builds before did.
func BenchmarkSort(b *testing.B) {
	m, err := ParseMapping([]byte(sortedMapping))
	if err != nil {
		b.Fatal(err)
	}
	x, err := Open(b.TempDir(), m, &Options{Engine: &riffle.Options{Durability: riffle.SyncNone}})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 100 {
		var docs []Document
		for j := range 1000 {
			docs = append(docs, Document{ID: fmt.Sprint("d", i*1000+j), JSON: fmt.Appendf(nil,
				`{"body": "%s", "name": "name %d", "n": %v, "day": "20%02d-0%d-%02d", "at": [%v, %v]}`,
				[]string{"sea", "sea whale", "ship"}[rng.IntN(3)], rng.IntN(20_000), rng.Float64()*1000, rng.IntN(25), 1+rng.IntN(9), 10+rng.IntN(18), rng.Float64()*360-180, rng.Float64()*180-90)})
		}
		if err := x.Put(b.Context(), docs...); err != nil {
			b.Fatal(err)
		}
	}
	if err := x.Engine().Compact(b.Context()); err != nil {
		b.Fatal(err)
	}
	const all, word = `{"match_all": {}}`, `{"match": "whale", "field": "body"}`
	for _, c := range []struct{ name, query, rest string }{
		{"number", all, `"sort": ["n"]`},
		{"number of a word", word, `"sort": ["-n"]`},
		{"date", all, `"sort": [{"by": "field", "field": "day", "type": "date", "desc": true}, "_id"]`},
		{"name", all, `"sort": ["name", "-n"]`},
		{"distance", all, `"sort": [{"by": "geo_distance", "field": "at", "location": [13.4, 52.5]}]`},
		{"distance of a word", word, `"sort": [{"by": "geo_distance", "field": "at", "location": [13.4, 52.5], "desc": true}]`},
		{"after", all, `"sort": [{"by": "field", "field": "n", "type": "number"}, "_id"], "search_after": ["500.5", ""]`},
	} {
		for _, by := range []string{"columns", "values"} {
			b.Run(c.name+"/"+by, func(b *testing.B) {
				x.byValues = by == "values"
				for b.Loop() {
					res, err := x.Search(b.Context(), []byte(`{"query": `+c.query+`, `+c.rest+`}`))
					if err != nil || len(res.Hits) != 10 {
						b.Fatal(res, err)
					}
				}
			})
		}
	}
}
