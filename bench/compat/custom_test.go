package compat

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	upstream "github.com/blevesearch/bleve/v2"
	_ "github.com/blevesearch/bleve/v2/analysis/token/hierarchy"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/registry"

	"github.com/riffle-search/riffle/compat/bleve"
)

// texts are what the analyzers of TestCustomAnalyzers read.
var texts = []string{
	"The ships' captain's dogs are running, was it shoes, oes, caches, boxes, ponies, pies, axes, classes, glasses, churches, gas?",
	"l'été d'une qu'il chevaux nationaux amitiés grandes chanteuses, dell'arte un'altra L’HOMME jusqu’ici",
	"Häuser größer Straßen Äpfel Ärztinnen Donaudampfschifffahrt donaudampfschiff dampf schiffe schifffahrtsschiff",
	"los niños están canción corazones ações pães cidades felicità bambini città ragazze",
	"корабли плавали в белом море, книги; fartygen seglade, skibene, laivoja taloissa, hajókat, gemiler evlerimizden kitaplar",
	"fruit/apple/red /a//b a/b/c/d/e mail me@example.com or http://riffle.dev/x?y=1 @name #tag getHTTPResponse fooBarBaz XMLId2",
	"東京都に住む ﾃｽﾄ 日本語 한국어 a1b2 x_y ①ﬁ é",
	"كتاب الكتب والمدرسة می\u200cخواهم کتاب\u200cها पुस्तकें लड़कियों کتێبەکانم psami książkami ładnych knjigama brodovima",
	"one two three the of a four five the the six",
	"", "a", "<p>Tom &amp; <b>Jerry</b></p>", "2026-01-02 3.14 1,000",
}

// parts are configurations of filters, tokenizers and char filters of bleve that have some.
var parts = map[string]map[string]any{
	"edge":       {"type": "edge_ngram", "min": 2, "max": 4},
	"back":       {"type": "edge_ngram", "min": 1, "max": 3, "back": true},
	"grams":      {"type": "ngram", "min": 2, "max": 3},
	"truncated":  {"type": "truncate_token", "length": 4},
	"long":       {"type": "length", "min": 3, "max": 8},
	"pairs":      {"type": "shingle", "min": 2, "max": 3, "output_original": true, "separator": "+", "filler": "."},
	"nfkc":       {"type": "normalize_unicode", "form": "nfkc"},
	"nfd":        {"type": "normalize_unicode", "form": "nfd"},
	"few":        {"type": "stop_tokens", "stop_token_map": "own"},
	"french":     {"type": "stop_tokens", "stop_token_map": "articles_fr"},
	"english":    {"type": "stop_tokens", "stop_token_map": "stop_en"},
	"none":       {"type": "stop_tokens", "stop_token_map": "nothing"},
	"elided":     {"type": "elision", "articles_token_map": "own"},
	"elided_it":  {"type": "elision", "articles_token_map": "articles_it"},
	"compounds":  {"type": "dict_compound", "dict_token_map": "own"},
	"longest":    {"type": "dict_compound", "dict_token_map": "own", "min_word_size": 3, "min_subword_size": 3, "max_subword_size": 6, "only_longest_match": true},
	"path":       {"type": "hierarchy", "delimiter": "/", "max": 20},
	"path3":      {"type": "hierarchy", "delimiter": "/", "max": 3},
	"joined":     {"type": "hierarchy", "delimiter": "/", "max": 10, "split_input": false},
	"marked":     {"type": "keyword_marker", "keywords_token_map": "own"},
	"vowels":     {"type": "regexp", "regexp": "[aeiou]+"},
	"digits":     {"type": "exception", "exceptions": []string{"[0-9]+", "\\bships\\b"}, "tokenizer": "letter"},
	"dashes":     {"type": "regexp", "regexp": "-", "replace": "_"},
	"webOrDigit": {"type": "exception", "exceptions": []string{"[0-9]"}, "tokenizer": "web"},
}

// TestCustomAnalyzers compares analyzers that a mapping makes of each of bleve's parts: all terms of some texts, with
// their positions and places.
func TestCustomAnalyzers(t *testing.T) {
	definitions := map[string]any{"type": "custom", "tokens": []any{"d", "l", "the", "running", "donau", "dampf", "schiff", "schifffahrt", "fahrt", "fahr"}}
	var filters []string
	_, filters = registry.TokenFilterTypesAndInstances()
	_, tokenizers := registry.TokenizerTypesAndInstances()
	_, chars := registry.CharFilterTypesAndInstances()
	kinds := map[string]map[string]any{"token_filters": {}, "tokenizers": {}, "char_filters": {}}
	for name, config := range parts {
		switch typ := config["type"].(string); {
		case name == "dashes":
			kinds["char_filters"][name] = config
			chars = append(chars, name)
		case typ == "regexp" || typ == "exception":
			kinds["tokenizers"][name] = config
			tokenizers = append(tokenizers, name)
		default:
			kinds["token_filters"][name] = config
			filters = append(filters, name)
		}
	}
	slices.Sort(filters)
	terms := 0
	// Where it differs from bleve, riffle counts positions of bigrams as of characters, and places of a text behind a
	// char filter as before it.
	check := func(tokenizer string, filters []string, char ...string) {
		t.Helper()
		analyzer := map[string]any{"type": "custom", "tokenizer": tokenizer, "token_filters": filters}
		if len(char) > 0 {
			analyzer["char_filters"] = char
		}
		mapping, err := json.Marshal(map[string]any{"default_analyzer": "own", "analysis": map[string]any{
			"token_maps": map[string]any{"own": definitions, "nothing": map[string]any{"type": "custom", "tokens": []any{}}}, "token_filters": kinds["token_filters"],
			"tokenizers": kinds["tokenizers"], "char_filters": kinds["char_filters"], "analyzers": map[string]any{"own": analyzer}}})
		if err != nil {
			t.Fatal(err)
		}
		var without []string
		if len(char) > 0 {
			without = []string{"start", "end"}
		} else if slices.Contains(filters, "cjk_bigram") {
			without = []string{"pos"}
		}
		terms += sameTerms(t, string(mapping), fmt.Sprint(char, tokenizer, filters), without)
	}
	for _, name := range filters {
		tokenizer := "unicode"
		if strings.HasPrefix(name, "path") {
			tokenizer = "single"
		} else if name == "joined" || strings.Contains(name, "camel") {
			tokenizer = "whitespace"
		}
		check(tokenizer, []string{name})
		if tokenizer != "single" {
			check(tokenizer, []string{"to_lower", name})
		}
	}
	for _, name := range tokenizers {
		check(name, []string{"to_lower"})
	}
	for _, name := range chars {
		check("unicode", []string{"to_lower"}, name)
	}
	check("unicode", []string{"marked", "stemmer_porter"})
	if t.Logf("%d terms compared", terms); terms < 10_000 {
		t.Error("too few to compare")
	}
}

// sameTerms compares the terms of the texts, less some members of their locations, and returns how many there are.
func sameTerms(t *testing.T, mapping, name string, without []string) int {
	t.Helper()
	im := upstream.NewIndexMapping()
	if err := json.Unmarshal([]byte(mapping), im); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	theirs, err := upstream.NewUsing("", im, scorch.Name, scorch.Name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	theirs.SetName("x")
	m, err := bleve.ParseMapping([]byte(mapping))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return 0
	}
	if p := m.Problems(); len(p) > 0 {
		t.Errorf("%s: %v", name, p)
		return 0
	}
	ours := open(t, m, "x")
	batch := theirs.NewBatch()
	var docs []bleve.Document
	for i, text := range texts {
		doc := map[string]any{"text": text}
		if err := batch.Index(fmt.Sprint(i), doc); err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, bleve.Document{ID: fmt.Sprint(i), JSON: encoded})
	}
	if err := theirs.Batch(batch); err != nil {
		t.Fatal(err)
	}
	if err := ours.Put(t.Context(), docs...); err != nil {
		t.Fatal(err)
	}
	request := []byte(`{"query": {"wildcard": "?*", "field": "text"}, "size": 100, "sort": ["_id"], "includeLocations": true}`)
	var r upstream.SearchRequest
	if err := json.Unmarshal(request, &r); err != nil {
		t.Fatal(err)
	}
	want, err := theirs.Search(&r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ours.Search(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	a, b := plain(t, got), plain(t, want)
	drop(a, without)
	drop(b, without)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%s: %s", name, difference(a, b))
	}
	terms := 0
	for _, h := range got.Hits {
		terms += len(h.Locations["text"])
	}
	return terms
}

// drop removes members from all objects of a value.
func drop(v any, names []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range names {
			delete(v, name)
		}
		for _, member := range v {
			drop(member, names)
		}
	case []any:
		for _, element := range v {
			drop(element, names)
		}
	}
}
