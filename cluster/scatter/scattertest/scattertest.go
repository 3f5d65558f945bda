// Package scattertest compares an index with shards with one index.
package scattertest

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/scatter"
)

var (
	seed = flag.Uint64("seed", 1, "of the random documents and queries")
	more = flag.Int("more", 1, "multiplies the number of random queries")
)

// A Make returns the index whose shards have the documents of engines.
type Make func(t *testing.T, engines []*riffle.Engine) *scatter.Index

// Schema is that of the documents.
var Schema = &riffle.Schema{Fields: map[string]riffle.Field{
	"title": {Type: riffle.FieldText, Analyzer: "english"}, "body": {Type: riffle.FieldText},
	"tag": {Type: riffle.FieldKeyword}, "year": {Type: riffle.FieldNumber}, "at": {Type: riffle.FieldDate},
	"flag": {Type: riffle.FieldBool}, "place": {Type: riffle.FieldPlace}, "pop": {Type: riffle.FieldNumber},
}}

var words = strings.Fields("whale ship sea white black captain harpoon oil storm wind north south gull rope mast deck crew song night star")

func text(rng *rand.Rand, most int) string {
	var b strings.Builder
	for range rng.IntN(most + 1) {
		b.WriteString(words[min(rng.IntN(len(words)), rng.IntN(len(words)))]) // some are frequent
		b.WriteByte(' ')
	}
	return b.String()
}

// Document returns a random document.
func Document(rng *rand.Rand) map[string]any {
	doc := map[string]any{"title": text(rng, 3), "body": text(rng, 12)}
	if rng.IntN(5) > 0 {
		doc["tag"] = fmt.Sprint("t", rng.IntN(6))
	}
	switch rng.IntN(5) {
	case 0:
		doc["year"] = 1800 + float64(rng.IntN(200))/2
	case 1:
		doc["year"] = []any{1800 + rng.IntN(50), 1850 + rng.IntN(50)}
	case 2, 3:
		doc["year"] = 1800 + rng.IntN(100)
	}
	if rng.IntN(3) > 0 {
		doc["at"] = time.Unix(rng.Int64N(1000)*3600, 0).UTC()
	}
	if rng.IntN(3) > 0 {
		doc["flag"] = rng.IntN(2) == 0
	}
	if rng.IntN(3) > 0 {
		doc["place"] = riffle.Point{Lat: 50 + float64(rng.IntN(8))/4, Lon: 10 + float64(rng.IntN(8))/4}
	}
	if rng.IntN(2) == 0 {
		doc["pop"] = rng.IntN(1000)
	}
	// Fields that the schema does not declare: most documents have no such field, and so do whole shards.
	switch rng.IntN(60) {
	case 0:
		doc["rare"] = text(rng, 4)
	case 1:
		doc["loose"] = rng.IntN(20)
	case 2:
		doc["loose"] = word(rng)
	case 3:
		doc["exact"] = rng.IntN(20)
	case 4:
		doc["exact"] = rng.IntN(2) == 0
	}
	return doc
}

// Open puts random documents into a number of engines, each with segments of its own, and returns
// them as an index with shards and as a Multi, which answers as one index of all documents.
func Open(t *testing.T, make Make, rng *rand.Rand, shards, documents int) (*scatter.Index, *riffle.Multi) {
	t.Helper()
	return open(t, make, rng, shards, documents, Schema, Document)
}

// open is Open for documents of another schema.
func open(t *testing.T, make Make, rng *rand.Rand, shards, documents int, schema *riffle.Schema, document func(*rand.Rand) map[string]any) (*scatter.Index, *riffle.Multi) {
	t.Helper()
	return openWith(t, make, rng, shards, documents, &riffle.Options{Schema: schema}, document)
}

// openWith is open for engines with some options.
func openWith(t *testing.T, make Make, rng *rand.Rand, shards, documents int, o *riffle.Options, document func(*rand.Rand) map[string]any) (*scatter.Index, *riffle.Multi) {
	t.Helper()
	var members []riffle.Member
	var engines []*riffle.Engine
	o.Durability = riffle.SyncNone
	for i := range shards {
		e, err := riffle.Open(filepath.Join(t.TempDir(), "shard"), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		members, engines = append(members, riffle.Member{Name: fmt.Sprint("shard", i), Engine: e}), append(engines, e)
	}
	var batches [64]riffle.Batch
	for n := range documents {
		i := min(rng.IntN(shards), rng.IntN(shards+1)) // of different sizes
		batches[i].Put(fmt.Sprint("d", n), document(rng))
		if rng.IntN(documents/3) == 0 {
			if err := errors.Join(members[i].Engine.Apply(t.Context(), &batches[i]), members[i].Engine.Flush(t.Context())); err != nil {
				t.Fatal(err)
			}
			batches[i].Reset()
		}
	}
	for i := range engines {
		if err := members[i].Engine.Apply(t.Context(), &batches[i]); err != nil {
			t.Fatal(err)
		}
	}
	m, err := riffle.NewMulti(members...)
	if err != nil {
		t.Fatal(err)
	}
	return make(t, engines), m
}

func word(rng *rand.Rand) string { return words[rng.IntN(len(words))] }

func order(rng *rand.Rand) (keys []riffle.SortKey) {
	for range rng.IntN(3) {
		k := riffle.SortKey{Desc: rng.IntN(2) == 0, Missing: riffle.MissingOrder(rng.IntN(2)), Mode: riffle.SortMode(rng.IntN(4))}
		switch rng.IntN(8) {
		case 6:
			k.Field = "place"
		case 7:
			k.Field, k.From = "place", &riffle.Point{Lat: 50.5 + rng.Float64(), Lon: 11}
		case 0:
			k = riffle.SortKey{Score: true, Desc: k.Desc}
		case 1:
			k = riffle.SortKey{ID: true, Desc: k.Desc}
		case 2:
			k.Field = "tag"
		case 3:
			k.Field = "at"
		case 4:
			k.Field = "flag"
		default:
			k.Field = "year"
		}
		keys = append(keys, k)
	}
	return keys
}

// Run compares random searches, counts and explanations of 1, 3 and 8 shards with those of a Multi:
// every hit, score and value of the order, totals, fields, fragments, and pages to the end. It makes so
// many queries for each number of shards, and a multiple with the flag -more. It returns how many answers were
// by cached statistics: some searches are repeated, for that to happen.
func Run(t *testing.T, rounds int, make Make) (cached int) {
	rounds *= *more
	for _, shards := range []int{1, 3, 8} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(*seed, uint64(shards)))
			x, m := Open(t, make, rng, shards, 400)
			either, pages, refused := 0, 0, 0
			for n := range rounds {
				q := AnyQuery(rng, rng.IntN(3))
				if n%10 == 9 {
					q = boostings(rng, functions(rng, AnyQuery(rng, 1)), wideLeaf)
				}
				o := scatter.Options{SearchOptions: riffle.SearchOptions{
					K: 1 + rng.IntN(20), ExactTotal: true, Sort: order(rng), Now: time.Unix(1_000_000, 0),
				}}
				if rng.IntN(6) == 0 {
					o.Collapse = &riffle.Collapse{Field: pick(rng, "tag", "year", "flag", "at", "place", "pop")}
				}
				if rng.IntN(10) == 0 {
					o.Similarity = &riffle.BM25{K1: 0.9 + rng.Float64(), B: rng.Float64()}
				}
				if rng.IntN(3) == 0 {
					o.From = rng.IntN(30)
				}
				if rng.IntN(3) == 0 {
					o.Load, o.Highlight = []string{"tag", "title"}, &riffle.HighlightOptions{}
				}
				whole := o.SearchOptions
				for page := range 4 {
					want, wantErr := m.Search(t.Context(), q, &whole)
					got, err := x.Search(t.Context(), q, &o)
					if (err == nil) != (wantErr == nil) || err != nil && reason(err) != reason(wantErr) {
						t.Fatalf("query %d, page %d: %v, the Multi says %v: %#v", n, page, err, wantErr, q)
					}
					if err != nil {
						if !refuses(wantErr) {
							t.Fatalf("query %d, page %d: %v: %#v", n, page, wantErr, q)
						}
						refused++
						break
					}
					what := fmt.Sprintf("query %d, page %d, %d hits: %#v, sort %v, collapse %v", n, page, o.K, q, o.Sort, o.Collapse)
					Compare(t, what, got, want)
					if page == 0 && rng.IntN(3) == 0 {
						again, err := x.Search(t.Context(), q, &o)
						if err != nil {
							t.Fatal(err)
						}
						Compare(t, "again: "+what, again, want)
						if again.Cached {
							cached++
						}
					}
					if t.Failed() || len(got.Hits) < o.K {
						break
					}
					if o.After, err = got.Hits[len(got.Hits)-1].Cursor(); err != nil {
						t.Fatal(err)
					}
					whole.After = want.Hits[len(want.Hits)-1].Cursor
					o.From, whole.From = 0, 0
					pages++
				}
				if t.Failed() {
					return
				}
				if strings.Contains(fmt.Sprintf("%#v", q), "Mode:0x2") {
					either++
				}
				count, err := x.Count(t.Context(), q, nil)
				wantCount, wantErr := m.Count(t.Context(), q)
				if count != wantCount || (err == nil) != (wantErr == nil) {
					t.Fatalf("query %d: %d matches, the Multi has %d: %v, %v", n, count, wantCount, err, wantErr)
				}
			}
			if pages == 0 || either == 0 || refused > rounds/4 {
				t.Errorf("%d later pages, %d queries with ModeAndOr, %d refused", pages, either, refused)
			}
		})
	}
	t.Run("explain", func(t *testing.T) { explanations(t, make) })
	return cached
}

// Compare compares a result with that of a Multi whose engines are named shard0, shard1 and so on, or with
// that of one index.
func Compare(t *testing.T, what string, got *scatter.Result, want *riffle.Result) {
	t.Helper()
	if got.Groups != want.Groups {
		t.Errorf("%d groups, want %d: %s", got.Groups, want.Groups, what)
	}
	if got.Total != want.Total || !got.TotalExact || !want.TotalExact || len(got.Hits) != len(want.Hits) {
		t.Errorf("%d hits of %d, want %d of %d: %s", len(got.Hits), got.Total, len(want.Hits), want.Total, what)
		return
	}
	for i := range got.Hits {
		g, w := got.Hits[i].Hit, want.Hits[i]
		w.Cursor = riffle.Cursor{}
		if w.Engine != "" {
			g.Engine = fmt.Sprint("shard", got.Hits[i].Shard)
		}
		if sameNumber(g.Group, w.Group) {
			g.Group = w.Group
		}
		g.Sort = slices.Clone(g.Sort)
		for j := range min(len(g.Sort), len(w.Sort)) {
			if sameNumber(g.Sort[j], w.Sort[j]) {
				g.Sort[j] = w.Sort[j]
			}
		}
		if !reflect.DeepEqual(g, w) {
			t.Errorf("hit %d is %+v, want %+v: %s", i, g, w, what)
			return
		}
	}
}

// sameNumber reports whether values are the same number. Its type may differ where one index, or one segment before a
// merge in the background, has integers alone.
func sameNumber(a, b any) bool {
	number := func(v any) (float64, bool) {
		switch v := v.(type) {
		case int64:
			return float64(v), true
		case float64:
			return v, true
		}
		return 0, false
	}
	x, isNumber := number(a)
	y, both := number(b)
	return isNumber && both && x == y
}

// refuses reports whether an error says what is wrong with a query.
func refuses(err error) bool {
	var qe *riffle.QueryError
	return errors.As(err, &qe)
}

// reason returns the text of an error without the shard or the engine.
func reason(err error) string {
	var qe *riffle.QueryError
	if !errors.As(err, &qe) {
		text := err.Error()
		if _, of, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(text, "shard ") {
			return of
		}
		return text
	}
	return qe.Part + ": " + qe.Err.Error()
}

func explanations(t *testing.T, make Make) {
	rng := rand.New(rand.NewPCG(*seed, 99))
	x, m := Open(t, make, rng, 3, 200)
	for range 50 {
		q, id := AnyQuery(rng, 2), fmt.Sprint("d", rng.IntN(220))
		got, err := x.Explain(t.Context(), q, id, nil)
		want, wantErr := m.Explain(t.Context(), q, id, nil)
		if (err == nil) != (wantErr == nil) || errors.Is(err, riffle.ErrNotFound) != errors.Is(wantErr, riffle.ErrNotFound) {
			t.Fatalf("%s: %v, the Multi says %v: %#v", id, err, wantErr, q)
		}
		if err == nil && (got.Score != want.Score || got.Matches != want.Matches) {
			t.Errorf("%s: %v %v, the Multi says %v %v: %#v", id, got.Matches, got.Score, want.Matches, want.Score, q)
		}
	}
}
