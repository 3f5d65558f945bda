package riffle

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/internal/document"
)

// partsSchema declares two analyzers, one of them over another's name.
const partsSchema = `{
	"fields": {"name": {"type": "text", "analyzer": "parts"}},
	"analyzer": "english",
	"dynamic": "index",
	"analyzers": {
		"parts": {"char_filters": ["html"], "filters": ["lowercase", {"type": "synonyms", "rules": ["bolt, screw"]}, {"type": "edge_ngrams", "min": 2, "max": 4}]},
		"english": {"tokenizer": "whitespace"}
	}
}`

// TestDeclaredAnalyzers: an index has the analyzers that its schema declares, whoever opens it.
func TestDeclaredAnalyzers(t *testing.T) {
	schema, err := ParseSchema([]byte(partsSchema))
	if err != nil {
		t.Fatal(err)
	}
	ix := newIndex(t, &Options{Schema: schema})
	ix.put("1", map[string]any{"name": "<b>Bolt</b> M8", "note": "The dogs"})
	for _, when := range []string{"new", "opened", "sealed"} {
		for _, c := range []struct {
			q    Query
			want int
		}{
			{Match{Field: "name", Text: "scr"}, 1},
			{Match{Field: "name", Text: "bol"}, 1},
			{Match{Field: "name", Text: "olt"}, 0},
			{Match{Field: "note", Text: "dog"}, 0}, // english is declared otherwise
			{Match{Field: "note", Text: "The"}, 1},
			{Match{Field: "note", Text: "<p>The</p>", Analyzer: "parts"}, 0},
			{Match{Field: "note", Text: "xThex", Analyzer: "unknown"}, -1},
		} {
			n, err := ix.Count(ctx, c.q)
			if err != nil {
				n = -1
			}
			if n != c.want {
				t.Errorf("%s: %v finds %d, %v, want %d", when, c.q, n, err, c.want)
			}
		}
		a, err := ix.Analyzer("parts")
		ix.must(err)
		if got := analysis.Terms(a, "M8x"); !slices.Equal(got, []string{"m8", "m8x"}) {
			t.Errorf("%s: parts finds %q", when, got)
		}
		if again, _ := ix.Analyzer("parts"); again != a {
			t.Errorf("%s: parts is made twice", when)
		}
		if got := ix.Schema(); !reflect.DeepEqual(got.Analyzers, schema.Analyzers) {
			t.Errorf("%s: the schema has %v", when, got.Analyzers)
		}
		ix.reopen(nil)
		ix.flush()
	}

	s, err := ix.Snapshot()
	ix.must(err)
	defer s.Close()
	to := filepath.Join(t.TempDir(), "again")
	if _, err := Reindex(ctx, s, to, nil); err != nil {
		t.Fatal(err)
	}
	again := &testIndex{t: t, dir: to}
	again.open(nil)
	defer again.Close()
	if got := again.ids(Match{Field: "name", Text: "screw"}); len(got) != 1 {
		t.Errorf("built again, the index finds %v", got)
	}
}

// TestDeclareAnalyzersLater adds analyzers to an index. What documents are indexed by cannot change.
func TestDeclareAnalyzersLater(t *testing.T) {
	ix := newIndex(t, &Options{Schema: &Schema{Fields: map[string]Field{"t": {Analyzer: "whitespace"}}}})
	ix.put("1", map[string]any{"t": "A-b"})
	letters := analysis.Declaration{Tokenizer: analysis.Component{Type: "letters"}}
	ix.reopen(&Options{Schema: &Schema{
		Fields:    map[string]Field{"u": {Analyzer: "mine"}},
		Analyzers: analysis.Declarations{"mine": letters},
	}})
	ix.put("2", map[string]any{"u": "a-b"})
	if got := ix.ids(Match{Field: "u", Text: "b"}); len(got) != 1 {
		t.Errorf("found %v", got)
	}
	ix.reopen(nil)
	if got := ix.ids(Match{Field: "u", Text: "b"}); len(got) != 1 {
		t.Errorf("opened again, found %v", got)
	}
	ix.must(ix.Close())
	keyword := analysis.Declaration{Tokenizer: analysis.Component{Type: "keyword"}}
	for name, want := range map[string]string{
		"mine":       `Schema.Analyzers["mine"]: the index has {"tokenizer":"letters"}, not {"tokenizer":"keyword"}; give a changed analyzer another name`,
		"whitespace": `Schema.Analyzers["whitespace"]: fields of the index have an analyzer of that name`,
		"standard":   `Schema.Analyzers["standard"]: fields of the index have an analyzer of that name`,
	} {
		_, err := Open(ix.dir, &Options{Schema: &Schema{Analyzers: analysis.Declarations{name: keyword}}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	ix.open(&Options{Schema: &Schema{Analyzers: analysis.Declarations{"mine": letters, "other": keyword}}})
}

// TestDeclarationFaults: Validate and Open name the fault. What an index declares that this build
// does not have is an error of Open.
func TestDeclarationFaults(t *testing.T) {
	for text, want := range map[string]string{
		`{"dynamic":"index","analyzers":{"a":{"filters":["nope"]}}}`:            `riffle: Options.Schema.Analyzers["a"]: analysis: analyzer "a": filters[0] (nope): unknown filter; known are`,
		`{"dynamic":"index","analyzers":{"":{}}}`:                               `Schema.Analyzers[""]: an analyzer needs a name`,
		`{"dynamic":"index","analyzer":"b","analyzers":{"a":{}}}`:               `Schema.Analyzer: analysis: unknown analyzer "b"`,
		`{"dynamic":"index","fields":{"f":{"analyzer":"a"}},"analyzers":{}}`:    `Schema.Fields["f"]: analysis: unknown analyzer "a"`,
		`{"dynamic":"index","analyzers":{"a":{"filters":[{"type":"length"}]}}}`: `filters[0] (length): it needs min or max`,
	} {
		s, err := ParseSchema([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		_, err = Open(filepath.Join(t.TempDir(), "x"), &Options{Schema: s})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		`{"dynamic":"index","analyzers":{"a":{"filter":[]}}}`:   `riffle: schema: analyzers["a"]: unknown member "filter" (want char_filters, tokenizer or filters)`,
		`{"dynamic":"index","analyzers":{"a":{"filters":[7]}}}`: `riffle: schema: analyzers["a"]: filters[0]: a name or an object with "type" is wanted`,
		`{"dynamic":"index","analyzers":[]}`:                    `riffle: schema: analyzers: an object is wanted`,
	} {
		if _, err := ParseSchema([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	kept, err := document.ParseKept([]byte(`{"version":2,"dynamic":"index","analyzers":{"a":{"filters":["of a later build"]}}}`))
	if err != nil {
		t.Fatalf("a filter of a later build: %v", err)
	}
	if err := kept.Validate(analysis.Lookup); err == nil || !strings.Contains(err.Error(), `filters[0] (of a later build): unknown filter`) {
		t.Errorf("a filter of a later build: %v", err)
	}
}
