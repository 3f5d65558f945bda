package compat

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	upstream "github.com/blevesearch/bleve/v2"
	_ "github.com/blevesearch/bleve/v2/config"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"github.com/riffle-search/riffle/compat/bleve"
)

// text is a field of type text with everything on, but what extra says.
func text(extra string) string {
	return `{"type": "text", "store": true, "index": true, "include_term_vectors": true, "include_in_all": true` + extra + `}`
}

// mappings are those of the random indexes.
var mappings = []string{
	`{}`,
	`{"default_analyzer": "en"}`,
	`{"default_analyzer": "keyword", "default_field": "title"}`,
	`{"default_mapping": {"dynamic": false, "properties": {
		"title": {"fields": [` + text(`, "analyzer": "en"`) + `, ` + text(`, "name": "plain", "analyzer": "simple"`) + `, ` + text(`, "name": "grams", "analyzer": "grams"`) + `]},
		"tags": {"fields": [` + text(`, "analyzer": "keyword"`) + `]},
		"people": {"properties": {"name": {"fields": [` + text(``) + `]}, "age": {"fields": [{"type": "number", "index": true, "store": true, "include_in_all": true}]}}},
		"n": {"fields": [{"type": "number", "index": true}]},
		"at": {"fields": [{"type": "datetime", "index": true, "store": true, "date_format": "days"}]},
		"ok": {"fields": [{"type": "boolean", "index": true, "store": true, "include_in_all": true}]}}},
	  "analysis": {"date_time_parsers": {"days": {"type": "sanitizedgo", "layouts": ["2006-01-02", "2006-01-02T15:04:05Z07:00"]}},
		"token_filters": {"tri": {"type": "edge_ngram", "min": 2, "max": 4}},
		"analyzers": {"grams": {"type": "custom", "tokenizer": "unicode", "token_filters": ["to_lower", "tri"]}}}}`,
	`{"types": {
		"book": {"default_analyzer": "en", "properties": {"tags": {"enabled": false}, "body": {"fields": [{"type": "text", "index": true, "include_term_vectors": true}]}}},
		"note": {"dynamic": false, "properties": {"title": {"fields": [` + text(`, "analyzer": "fr"`) + `]}, "_all": {"enabled": false}}}},
	  "default_mapping": {"properties": {"title": {"fields": [{"type": "text", "index": true, "store": true, "include_in_all": false}]}, "mixed": {"dynamic": false}}}}`,
	`{"default_mapping": {"properties": {"people": {"dynamic": false, "default_analyzer": "simple", "properties": {"name": {"dynamic": true}}},
		"title": {"fields": [{"type": "text", "index": true, "store": true, "include_in_all": true, "analyzer": "cjk"}]}}}, "store_dynamic": false}`,
	`{"default_analyzer": "pairs", "analysis": {"token_filters": {"two": {"type": "shingle", "min": 2, "max": 2, "output_original": true}, "no": {"type": "stop_tokens", "stop_token_map": "few"}},
		"token_maps": {"few": {"type": "custom", "tokens": ["the", "a"]}}, "char_filters": {"dash": {"type": "regexp", "regexp": "-+", "replace": " "}},
		"analyzers": {"pairs": {"type": "custom", "char_filters": ["dash"], "tokenizer": "unicode", "token_filters": ["to_lower", "no", "two"]}}}}`,
	// With docvalues riffle sorts by columns.
	`{"default_mapping": {"dynamic": false, "properties": {
		"title": {"fields": [` + text(`, "analyzer": "keyword", "docvalues": true`) + `, ` + text(`, "name": "plain", "analyzer": "lower", "docvalues": true`) + `]},
		"body": {"fields": [` + text(`, "docvalues": true`) + `]},
		"tags": {"fields": [` + text(`, "analyzer": "keyword", "docvalues": true`) + `]},
		"people": {"properties": {"name": {"fields": [` + text(`, "analyzer": "keyword", "docvalues": true`) + `]}, "age": {"fields": [{"type": "number", "index": true, "docvalues": true}]}}},
		"n": {"fields": [{"type": "number", "index": true, "docvalues": true}]},
		"at": {"fields": [{"type": "datetime", "index": true, "docvalues": true}]},
		"mixed": {"fields": [{"type": "number", "index": true, "docvalues": true}]},
		"ok": {"fields": [{"type": "boolean", "index": true, "docvalues": true}]}}},
	  "analysis": {"analyzers": {"lower": {"type": "custom", "tokenizer": "single", "token_filters": ["to_lower"]}}}}`,
	`{"types": {"book": {"properties": {"n": {"fields": [{"type": "number", "index": true, "docvalues": true}]}, "mixed": {"fields": [{"type": "text", "analyzer": "keyword", "index": true, "docvalues": true}]}}},
		"note": {"properties": {"title": {"fields": [` + text(`, "analyzer": "keyword", "docvalues": true`) + `]}, "mixed": {"fields": [{"type": "number", "index": true, "docvalues": true}]}}}},
	  "default_mapping": {"properties": {"at": {"fields": [{"type": "datetime", "index": true, "docvalues": true}, ` + text(`, "name": "plain", "analyzer": "keyword", "docvalues": true`) + `]}}}}`,
}

var vocabulary = strings.Fields("the of whale Whales whaling sea seas ship SHIP ships white captain a to and running ran café cafe naïve x1 1851 42 " +
	"l'été don't <b> & been thing boat-hook who ünder 東京 東京都 so")

func words(rng *rand.Rand, most int) string {
	var out []string
	for range 1 + rng.IntN(most) {
		out = append(out, vocabulary[rng.IntN(len(vocabulary))])
	}
	return strings.Join(out, []string{" ", "  ", ", ", ". "}[rng.IntN(4)])
}

func date(rng *rand.Rand) string {
	day := fmt.Sprintf("20%02d-0%d-1%d", rng.IntN(4), 1+rng.IntN(3), rng.IntN(3))
	return day + []string{"", "T10:00:00Z", " 10:00:00", "T23:30:00.5+02:00", "T10:00:00"}[rng.IntN(5)]
}

func number(rng *rand.Rand) float64 {
	return []float64{0, 1, -1, 42, 1851, 0.5, -7.25, 1e15, 3}[rng.IntN(9)]
}

// document makes a document at random.
func document(rng *rand.Rand) map[string]any {
	d := map[string]any{"title": words(rng, 8)}
	often := func() bool { return rng.IntN(3) > 0 }
	if often() {
		d["body"] = words(rng, 60)
	}
	if often() {
		tags := []any{}
		for range rng.IntN(4) {
			tags = append(tags, words(rng, 2))
		}
		d["tags"] = tags
	}
	if often() {
		people := []any{}
		for range rng.IntN(3) {
			people = append(people, map[string]any{"name": words(rng, 3), "age": number(rng), "nicks": []any{words(rng, 1), []any{words(rng, 2)}}})
		}
		d["people"] = people
	}
	if often() {
		d["n"] = []any{number(rng), number(rng), nil}[rng.IntN(3)]
	}
	if often() {
		d["at"] = date(rng)
	}
	if often() {
		d["ok"] = rng.IntN(2) == 0
	}
	if often() {
		d["mixed"] = []any{number(rng), words(rng, 3), date(rng), true, []any{words(rng, 2), number(rng)}, ""}[rng.IntN(6)]
	}
	if rng.IntN(3) == 0 {
		d["_type"] = []string{"book", "note", "other"}[rng.IntN(3)]
	}
	return d
}

var fields = []string{"", "", "title", "title", "body", "tags", "people.name", "people.nicks", "plain", "grams", "mixed", "n", "at", "ok", "_id", "nowhere", "_all", "people.age"}

// query makes a query at random, of at most some depth. Only the outermost one has must_not, with
// clauses that exclude nothing themselves: bleve 2.5.7 answers some exclusions within exclusions with
// documents that another clause excludes.
func query(rng *rand.Rand, depth int) map[string]any {
	q := leaf(rng)
	if depth > 0 && rng.IntN(2) == 0 {
		list := func() []any {
			out := []any{}
			for range rng.IntN(4) {
				out = append(out, query(rng, depth-1))
			}
			return out
		}
		switch rng.IntN(3) {
		case 0:
			return map[string]any{"conjuncts": list()}
		case 1:
			clauses := list()
			return map[string]any{"disjuncts": clauses, "min": rng.IntN(len(clauses) + 1)}
		}
		b := map[string]any{}
		for _, part := range []string{"must", "should", "must_not"} {
			if rng.IntN(2) > 0 || part == "must_not" && depth < deepest {
				continue
			}
			kind, clauses := "disjuncts", list()
			if part == "must_not" {
				clauses = []any{positive(rng), positive(rng)}[:rng.IntN(3)]
			}
			if part == "must" {
				kind = "conjuncts"
			}
			if len(clauses) == 0 {
				clauses = append(clauses, positive(rng))
			}
			b[part] = map[string]any{kind: clauses}
			if part == "should" && rng.IntN(2) == 0 {
				b[part].(map[string]any)["min"] = 1
			}
		}
		if len(b) == 0 || rng.IntN(4) == 0 {
			b["filter"] = query(rng, depth-1)
		}
		return b
	}
	if f := fields[rng.IntN(len(fields))]; f != "" && q["query"] == nil && q["ids"] == nil {
		q["field"] = f
	}
	if rng.IntN(5) == 0 && q["ids"] == nil {
		q["boost"] = 1 + rng.IntN(3)
	}
	return q
}

// deepest is the depth of the queries of requests.
const deepest = 2

// positive makes a query that excludes nothing.
func positive(rng *rand.Rand) map[string]any {
	for {
		if q := leaf(rng); q["query"] == nil {
			return q
		}
	}
}

func leaf(rng *rand.Rand) map[string]any {
	word := vocabulary[rng.IntN(len(vocabulary))]
	lower := strings.ToLower(word)
	switch rng.IntN(16) {
	case 0:
		return map[string]any{"match": words(rng, 3), "operator": []string{"or", "and"}[rng.IntN(2)]}
	case 1:
		return map[string]any{"match": words(rng, 2), "fuzziness": []any{0, 1, 2, "auto"}[rng.IntN(4)], "prefix_length": rng.IntN(3)}
	case 2:
		return map[string]any{"match_phrase": words(rng, 4)}
	case 3:
		return map[string]any{"match_phrase": words(rng, 3), "fuzziness": []any{1, "auto"}[rng.IntN(2)], "analyzer": []string{"standard", "simple", "en"}[rng.IntN(3)]}
	case 4:
		return map[string]any{"term": lower}
	case 5:
		return map[string]any{"terms": []any{lower, []any{"", "sea"}[rng.IntN(2)], "whale"}[:1+rng.IntN(3)]}
	case 6:
		return map[string]any{"prefix": string([]rune(lower)[:1+rng.IntN(2)%len([]rune(lower))])}
	case 7:
		return map[string]any{"wildcard": []string{"*ha*", "s?a", "*", "w*", "café", "20*", "[*", "?", "0*", "T*"}[rng.IntN(10)]}
	case 8:
		return map[string]any{"regexp": []string{"wh.*", "^sea", "s(ea|hip)s?", "[a-m].*", "caf[éx]", ".", "(?i)SHIP", "a{1,2}"}[rng.IntN(8)]}
	case 9:
		return map[string]any{"term": lower, "fuzziness": []any{0, 1, 2, "auto"}[rng.IntN(4)], "prefix_length": rng.IntN(3)}
	case 10:
		q := map[string]any{"min": number(rng), "inclusive_min": rng.IntN(2) == 0, "inclusive_max": rng.IntN(2) == 0}
		if rng.IntN(2) == 0 {
			q["max"] = number(rng)
		}
		return q
	case 11:
		q := map[string]any{"start": date(rng), "inclusive_start": rng.IntN(2) == 0}
		if rng.IntN(2) == 0 {
			q["end"] = date(rng)
		}
		return q
	case 12:
		return map[string]any{"min": "sea", "max": []string{"ship", "ta", "sea", ""}[rng.IntN(4)], "inclusive_max": rng.IntN(2) == 0}
	case 13:
		return map[string]any{"ids": []string{"d1", "d7", "none"}[:rng.IntN(4)]}
	case 14:
		return []map[string]any{{"match_all": map[string]any{}}, {"match_none": map[string]any{}}, {"bool": true}, {"bool": false}, {}}[rng.IntN(5)]
	}
	return map[string]any{"query": queryString(rng)}
}

func queryString(rng *rand.Rand) string {
	var out []string
	for range 1 + rng.IntN(3) {
		word := vocabulary[rng.IntN(len(vocabulary))]
		clause := []string{word, word + "~", word + "~2", `"` + words(rng, 3) + `"`, "wh*", "s?a", "/s.*/", "42", "-5", word + "^2", `"the"`, "of", `\+x`, "a:b:c", ">5", `don\'t`}[rng.IntN(16)]
		if f := fields[2+rng.IntN(len(fields)-2)]; rng.IntN(3) == 0 {
			clause = f + ":" + []string{word, `"sea ship"`, ">1", "<=42", `>"2001-02-11"`, "-1", "1851", "*"}[rng.IntN(8)]
		}
		out = append(out, []string{"", "", "+", "-"}[rng.IntN(4)]+clause)
	}
	return strings.Join(out, " ")
}

// TestSameAnswers makes indexes of bleve and of riffle from the same documents, and compares what they
// answer to requests at random: all but scores and the order by them. The variable ROUNDS has it make more.
func TestSameAnswers(t *testing.T) {
	rounds, requests := 3, 60
	if n, err := strconv.Atoi(os.Getenv("ROUNDS")); err == nil {
		rounds = n
	}
	if testing.Short() {
		rounds, requests = 1, 25
	}
	found, fragments, bad := 0, 0, 0
	for round := range rounds {
		for number, mapping := range mappings {
			rng := rand.New(rand.NewPCG(uint64(round), uint64(number)))
			theirs, ours := both(t, mapping, rng, 40)
			for range requests {
				r := request(rng)
				if strings.Contains(mapping, "shingle") && (strings.Contains(string(r), "~") || strings.Contains(string(r), "fuzziness")) {
					continue // may find a shingle of nothing but gaps, which riffle does not make
				}
				n, f := compare(t, theirs, ours, mapping, r)
				found, fragments = found+n, fragments+f
				if t.Failed() {
					if bad++; bad > 8 {
						t.FailNow()
					}
				}
			}
		}
	}
	if t.Logf("%d documents found, %d fragments", found, fragments); found < 5*rounds*requests || fragments < rounds*requests {
		t.Error("too few to compare")
	}
}

// both makes an index of each.
func both(t *testing.T, mapping string, rng *rand.Rand, docs int) (upstream.Index, *bleve.Index) {
	return bothOf(t, mapping, rng, docs, document)
}

func bothOf(t *testing.T, mapping string, rng *rand.Rand, docs int, document func(*rand.Rand) map[string]any) (upstream.Index, *bleve.Index) {
	im := upstream.NewIndexMapping()
	if err := json.Unmarshal([]byte(mapping), im); err != nil {
		t.Fatal(err)
	}
	theirs, err := upstream.NewUsing("", im, scorch.Name, scorch.Name, nil)
	if err != nil {
		t.Fatal(err)
	}
	theirs.SetName("x")
	t.Cleanup(func() { theirs.Close() })
	m, err := bleve.ParseMapping([]byte(mapping))
	if err != nil {
		t.Fatal(err)
	}
	ours := open(t, m, "x")
	batch := theirs.NewBatch()
	var all []bleve.Document
	for i := range docs {
		id, doc := fmt.Sprintf("d%d", i), document(rng)
		if doc["mixed"] == "" && (strings.Contains(mapping, `"default_analyzer": "keyword"`) || strings.Contains(mapping, `"mixed": {"fields": [{"type": "text", "analyzer": "keyword"`)) {
			delete(doc, "mixed") // which bleve makes an empty term of; riffle has none
		}
		if err := batch.Index(id, doc); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, bleve.Document{ID: id, JSON: text})
	}
	if err := theirs.Batch(batch); err != nil {
		t.Fatal(err)
	}
	if err := ours.Put(t.Context(), all...); err != nil {
		t.Fatal(err)
	}
	return theirs, ours
}

// request makes a request at random, for all documents found, sorted by their ids.
func request(rng *rand.Rand) []byte {
	r := map[string]any{"query": query(rng, deepest), "size": 100, "sort": []string{"_id"}, "fields": []string{"*"}, "includeLocations": rng.IntN(3) > 0}
	if rng.IntN(2) == 0 {
		r["highlight"] = []any{map[string]any{}, map[string]any{"style": "ansi"}, map[string]any{"fields": []string{"title", "body", "n"}}}[rng.IntN(3)]
	}
	if rng.IntN(4) == 0 {
		r["from"], r["size"], r["fields"] = rng.IntN(5), rng.IntN(5), []string{"title", "at", "n", "title"}
	}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return text
}

// compare sends a request to both, and returns how many documents and fragments they found.
func compare(t *testing.T, theirs upstream.Index, ours *bleve.Index, mapping string, request []byte) (found, fragments int) {
	t.Helper()
	var r upstream.SearchRequest
	err := json.Unmarshal(request, &r)
	var want *upstream.SearchResult
	if err == nil {
		err = r.Validate() // as bleve's HTTP handlers do; its Search does not
	}
	if err == nil {
		want, err = theirs.Search(&r)
	}
	got, ourErr := ours.Search(t.Context(), request)
	if err != nil || ourErr != nil {
		if (err == nil) != (ourErr == nil) {
			t.Errorf("mapping %s\nrequest %s:\nerror %v, bleve's %v", mapping, request, ourErr, err)
		}
		return 0, 0
	}
	a, b := plain(t, got), plain(t, want)
	if strings.Contains(mapping, "shingle") {
		withoutShingles(a)
		withoutShingles(b)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("mapping %s\nrequest %s:\n%s", mapping, request, difference(a, b))
		return 0, 0
	}
	for _, h := range got.Hits {
		fragments += len(h.Fragments)
	}
	return got.Total, fragments
}

// plain returns a result as JSON has it, without what may differ.
func plain(t *testing.T, result any) map[string]any {
	text, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	var r map[string]any
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"took", "cost", "max_score"} {
		if _, ok := r[name]; !ok {
			t.Errorf("no %s", name)
		}
		delete(r, name)
	}
	hits, _ := r["hits"].([]any)
	for _, h := range hits {
		hit := h.(map[string]any)
		delete(hit, "score")
		sortValues(hit["fields"])
	}
	return r
}

// withoutShingles drops what bleve answers otherwise where terms overlap: fragments, in which it marks
// the places that a map yields first, and locations of shingles that are made of nothing but gaps.
func withoutShingles(result map[string]any) {
	hits, _ := result["hits"].([]any)
	for _, h := range hits {
		hit := h.(map[string]any)
		delete(hit, "fragments")
		locations, _ := hit["locations"].(map[string]any)
		for _, terms := range locations {
			delete(terms.(map[string]any), "_ _")
		}
	}
}

// sortValues orders the values of a field, which bleve returns by segment and kind.
func sortValues(fields any) {
	object, _ := fields.(map[string]any)
	for _, list := range object {
		if list, ok := list.([]any); ok {
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprintf("%v %T", a, a), fmt.Sprintf("%v %T", b, b)) })
		}
	}
}

// difference shows the first part in which two values differ.
func difference(got, want any) string {
	switch g := got.(type) {
	case map[string]any:
		if w, ok := want.(map[string]any); ok {
			for name := range w {
				if !reflect.DeepEqual(g[name], w[name]) {
					return name + ": " + difference(g[name], w[name])
				}
			}
			for name := range g {
				if _, ok := w[name]; !ok {
					return fmt.Sprintf("%s: %v, bleve has none", name, g[name])
				}
			}
		}
	case []any:
		if w, ok := want.([]any); ok && len(w) == len(g) {
			for i := range w {
				if !reflect.DeepEqual(g[i], w[i]) {
					if h, ok := w[i].(map[string]any); ok && h["id"] != nil {
						return fmt.Sprintf("%v: %s", h["id"], difference(g[i], w[i]))
					}
					return fmt.Sprintf("%d: %s", i, difference(g[i], w[i]))
				}
			}
		}
	}
	g, _ := json.Marshal(ids(got))
	w, _ := json.Marshal(ids(want))
	return fmt.Sprintf("%s, bleve has %s", g, w)
}

// ids returns the ids of a list of hits, and anything else as it is.
func ids(v any) any {
	list, _ := v.([]any)
	var out []any
	for _, h := range list {
		if hit, ok := h.(map[string]any); ok && hit["id"] != nil {
			out = append(out, hit["id"])
		}
	}
	if len(out) == 0 {
		return v
	}
	return out
}
