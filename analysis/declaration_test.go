package analysis

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func declared(t testing.TB, text string) Declaration {
	t.Helper()
	var d Declaration
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDeclarations makes analyzers of data and compares their terms.
func TestDeclarations(t *testing.T) {
	for _, c := range []struct{ declaration, text, want string }{
		{`{}`, "The Dog's", "The|Dog's"},
		{`{"tokenizer":"whitespace"}`, "The Dog's!", "The|Dog's!"},
		{`{"tokenizer":"words","filters":["possessive","lowercase",{"type":"stop","set":"english"},"porter"]}`, "The Dog's running.", "dog|run"},
		{`{"char_filters":["html",{"type":"pattern_replace","pattern":"(\\d)-(\\d)","with":"$1$2"}],"filters":["fold"]}`, "<b>É</b>té 1-2", "Ete|12"},
		{`{"char_filters":["ascii_folding"]}`, "Été", "Ete"},
		{`{"tokenizer":{"type":"words","max_bytes":4,"rules":"unicode8"}}`, "abcdef 😀", "abcd|ef"},
		{`{"tokenizer":{"type":"letters","max_bytes":4}}`, "abcdef1g", "abcd|ef|g"},
		{`{"tokenizer":{"type":"ngrams","min":2,"max":3,"drop_short":true}}`, "abc d", "ab|abc|bc"},
		{`{"tokenizer":{"type":"edge_ngrams","min":2,"max":2}}`, "abc d", "ab|d"},
		{`{"tokenizer":{"type":"pattern","pattern":",\\s*","split":true}}`, "a b, c", "a b|c"},
		{`{"tokenizer":{"type":"exceptions","patterns":["#\\w+","@\\w+"],"tokenizer":"letters"}}`, "a #b1 c1 @d", "a|#b1|c|@d"},
		{`{"tokenizer":"keyword","filters":[{"type":"normalize","form":"nfkc"}]}`, "ﬁ x", "fi x"},
		{`{"filters":["lowercase",{"type":"keyword_marker","words":["skiing"]},"porter"]}`, "Skiing buses", "skiing|buse"},
		{`{"filters":[{"type":"length","min":2,"max":3,"runes":true}]}`, "é éé éééé", "éé"},
		{`{"filters":[{"type":"ngrams","min":2,"max":2}]}`, "abc", "ab|bc"},
		{`{"filters":[{"type":"edge_ngrams","min":2,"max":3,"back":true}]}`, "abcd", "cd|bcd"},
		{`{"filters":[{"type":"shingles","min":2,"max":2,"separator":"+","no_words":true}]}`, "a b c", "a+b|b+c"},
		{`{"filters":["camel_case",{"type":"lowercase","final_sigma":true}]}`, "aB ΟΣ", "a|b|ος"},
		{`{"filters":[{"type":"elision","articles":["l"]},"apostrophe","reverse",{"type":"unique"}]}`, "l'ab x'y ab", "ba|x"},
		{`{"tokenizer":"keyword","filters":["hierarchy"]}`, "a/b//c", "a|a/b|a/b/|a/b//c"},
		{`{"tokenizer":"keyword","filters":[{"type":"hierarchy","delimiter":"::","levels":2}]}`, "::a::b", "::a"},
		{`{"tokenizer":"whitespace","filters":[{"type":"hierarchy","no_split":true}]}`, "a b/c d", "a|a/b/c|a/b/c/d"},
		{`{"filters":["lowercase",{"type":"compounds","words":["donau","dampf","schiff","schifffahrt","fahr"]}]}`, "Donaudampfschifffahrt Au", "donau|donaudampfschifffahrt|dampf|schiff|schifffahrt|fahr|au"},
		{`{"filters":[{"type":"compounds","words":["ab","abc","bc","é"],"min_word":3,"min_part":1,"max_part":3,"longest":true}]}`, "abcé ab", "abc|abcé|bc|é|ab"},
		{`{"filters":["cjk_width","cjk_bigrams"]}`, "東京都", "東京|京都"},
		{`{"filters":[{"type":"cjk_bigrams","unigrams":true}]}`, "東京", "東|東京|京"},
		{`{"filters":["lowercase",{"type":"synonyms","rules":["# of things","TV, telly","dns => domain name system"]}]}`, "tv DNS", "tv|telly|domain|name|system"},
		{`{"filters":["lowercase",{"type":"synonyms","rules":["tv, telly"],"contract":true},{"type":"pattern_replace","pattern":"v$"},"ascii_folding",{"type":"porter","published":true}]}`, "telly", "t"},
	} {
		d := declared(t, c.declaration)
		a, err := d.Analyzer("test")
		if err != nil {
			t.Errorf("%s: %v", c.declaration, err)
			continue
		}
		if got := strings.Join(Terms(a, c.text), "|"); got != c.want || a.Name() != "test" {
			t.Errorf("%s: %q became %s, want %s", c.declaration, c.text, got, c.want)
		}
		if again := declared(t, d.String()); !again.Equal(d) || again.String() != d.String() {
			t.Errorf("%s comes back as %s", d, again)
		}
	}
}

// TestDeclarationErrors: an error names the analyzer, the component and the parameter.
func TestDeclarationErrors(t *testing.T) {
	many := `{"filters":[` + strings.Repeat(`"fold",`, 32) + `"fold"]}`
	deep := strings.Repeat(`{"type":"exceptions","patterns":["x"],"tokenizer":`, 4) + `"words"` + strings.Repeat(`}`, 4)
	for _, c := range []struct{ declaration, want string }{
		{`[]`, `analyzers["a"]: an object is wanted, with "tokenizer" and "filters"`},
		{`null`, `analyzers["a"]: an object is wanted, with "tokenizer" and "filters"`},
		{`{"tokeniser":"words"}`, `analyzers["a"]: unknown member "tokeniser" (want char_filters, tokenizer or filters)`},
		{`{"filters":"fold"}`, `analyzers["a"]: filters: a list is wanted`},
		{`{"filters":["fold",1]}`, `analyzers["a"]: filters[1]: a name or an object with "type" is wanted`},
		{`{"filters":["fold",{"words":["a"]}]}`, `analyzers["a"]: filters[1]: it has no "type"`},
		{`{"tokenizer":{"type":7}}`, `analyzers["a"]: tokenizer: it has no "type"`},
		{`{"tokenizer":"wrods"}`, `analysis: analyzer "a": tokenizer (wrods): unknown tokenizer; known are edge_ngrams, exceptions, keyword, letters, ngrams, pattern, whitespace, words (more: import analysis/lang or analysis/bleve)`},
		{`{"char_filters":["html","htlm"]}`, `analysis: analyzer "a": char_filters[1] (htlm): unknown char filter; known are ascii_folding, html, pattern_replace (more:`},
		{`{"filters":["stop"]}`, `analysis: analyzer "a": filters[0] (stop): it needs words or a set`},
		{`{"filters":[{"type":"stop","set":"klingon"}]}`, `analysis: analyzer "a": filters[0] (stop): set: unknown "klingon"; known are english`},
		{`{"filters":[{"type":"stop","word":["a"]}]}`, `analysis: analyzer "a": filters[0] (stop): unknown parameter "word"; it has words, set`},
		{`{"filters":[{"type":"fold","all":true}]}`, `analysis: analyzer "a": filters[0] (fold): unknown parameter "all"; it has none`},
		{`{"filters":["fold",{"type":"ngrams","min":"2"}]}`, `analysis: analyzer "a": filters[1] (ngrams): min: a whole number is wanted, not a string`},
		{`{"filters":[{"type":"ngrams","min":3,"max":2}]}`, `analysis: analyzer "a": filters[0] (ngrams): max: 2 is not in [3, 64]`},
		{`{"filters":[{"type":"ngrams"}]}`, `analysis: analyzer "a": filters[0] (ngrams): min: 0 is not in [1, 64]`},
		{`{"filters":[{"type":"shingles","min":2,"max":99}]}`, `max: 99 is not in [2, 16]`},
		{`{"filters":[{"type":"length"}]}`, `filters[0] (length): it needs min or max`},
		{`{"filters":[{"type":"length","max":-1}]}`, `filters[0] (length): max: -1 is not in [1, 1048576]`},
		{`{"filters":[{"type":"normalize","form":"NFC"}]}`, `filters[0] (normalize): form: one of nfc, nfd, nfkc, nfkd is wanted, not "NFC"`},
		{`{"filters":[{"type":"pattern_replace","pattern":"("}]}`, "filters[0] (pattern_replace): pattern: error parsing regexp: missing closing ): `(`"},
		{`{"filters":[{"type":"pattern_replace"}]}`, `filters[0] (pattern_replace): pattern: a regular expression is wanted`},
		{`{"filters":["compounds"]}`, `filters[0] (compounds): it needs words or a set`},
		{`{"filters":[{"type":"compounds","words":["a"],"max_part":65}]}`, `filters[0] (compounds): max_part: 65 is not in [0, 64]`},
		{`{"filters":[{"type":"compounds","word":["a"]}]}`, `unknown parameter "word"; it has words, set, min_word, min_part, max_part, longest`},
		{`{"filters":[{"type":"hierarchy","levels":-1}]}`, `filters[0] (hierarchy): levels: -1 is not in [0, 256]`},
		{`{"filters":["elision"]}`, `filters[0] (elision): articles: it needs some`},
		{`{"tokenizer":{"type":"words","max_bytes":-1}}`, `tokenizer (words): max_bytes: -1 is not in [0, 32766]`},
		{`{"tokenizer":{"type":"words","rules":"unicode7"}}`, `tokenizer (words): unknown word rules "unicode7"`},
		{`{"tokenizer":{"type":"exceptions"}}`, `tokenizer (exceptions): patterns: it needs some`},
		{`{"tokenizer":{"type":"exceptions","patterns":["x","("]}}`, `tokenizer (exceptions): patterns[1]: error parsing regexp`},
		{`{"tokenizer":{"type":"exceptions","patterns":["x"],"tokenizer":{"type":"words","x":1}}}`, `tokenizer (exceptions): tokenizer (words): unknown parameter "x"; it has max_bytes, rules`},
		{`{"tokenizer":` + deep + `}`, `more than 4 tokenizers within each other`},
		{`{"filters":[{"type":"synonyms","rules":["a","b =>"]}]}`, `filters[0] (synonyms): rules: analysis: synonyms, line 2: there is nothing`},
		{`{"filters":[{"type":"synonyms","rules":["a\nb"]}]}`, `filters[0] (synonyms): rules[0]: it has a line break`},
		{`{"filters":[{"type":"synonyms"},{"type":"synonyms"}]}`, `filters[1] (synonyms): an analyzer has at most one of this type`},
		{`{"filters":["camel_case","cjk_bigrams",{"type":"ngrams","min":1,"max":2}]}`, `filters[2] (ngrams): at most 2 filters may make several tokens of one`},
		{many, `33 components of a kind, at most 32 are allowed`},
	} {
		var ds Declarations
		err := json.Unmarshal([]byte(`{"a":`+c.declaration+`}`), &ds)
		if err == nil {
			_, err = ds["a"].Analyzer("a")
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.100s: %v, want %s", c.declaration, err, c.want)
		}
	}
	for _, text := range []string{`[]`, `"a"`} {
		if err := json.Unmarshal([]byte(text), new(Declarations)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}

// TestPackageCommentHasComponents: the package comment lists all components and their parameters.
func TestPackageCommentHasComponents(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string][]string{}
	kind, heading := "", regexp.MustCompile(`^//\t(char filter|tokenizer|filter)  +parameters\n`)
	for line := range strings.Lines(string(text)) {
		if m := heading.FindStringSubmatch(line); m != nil {
			kind = m[1]
			continue
		}
		if kind == "" || !strings.HasPrefix(line, "//\t") {
			kind = ""
			continue
		}
		name, params, _ := strings.Cut(strings.TrimSpace(line[3:]), " ")
		params = regexp.MustCompile(`\([^)]*\)`).ReplaceAllString(params, "")
		list := []string{}
		for p := range strings.SplitSeq(params, ",") {
			if p = strings.Trim(p, " *"); p != "" {
				list = append(list, p)
			}
		}
		documented[kind+" "+name] = list
	}
	registered := map[string][]string{}
	for name, c := range charFilters.by {
		registered["char filter "+name] = c.params
	}
	for name, c := range tokenizers.by {
		registered["tokenizer "+name] = c.params
	}
	for name, c := range tokenFilters.by {
		registered["filter "+name] = c.params
	}
	for name, params := range registered {
		if !strings.HasPrefix(name, "filter test-") && !slices.Equal(documented[name], params) {
			t.Errorf("%s: the package comment lists %q, the code has %q", name, documented[name], params)
		}
	}
	for name := range documented {
		if _, ok := registered[name]; !ok {
			t.Errorf("%s is only in the package comment", name)
		}
	}
	if len(registered) < 30 {
		t.Errorf("only %d components", len(registered))
	}
}

// TestRegisterComponent: a program adds a component of its own.
func TestRegisterComponent(t *testing.T) {
	type params struct {
		Suffix string `json:"suffix"`
	}
	add := func(p params, _ *Assembly) (Filter, error) {
		if p.Suffix == "" {
			return nil, errors.New("suffix: it needs one")
		}
		return FilterFunc(func(batch []Token) []Token {
			for i := range batch {
				batch[i].Term = append(batch[i].Term, p.Suffix...)
			}
			return batch
		}), nil
	}
	if err := RegisterFilter("test-suffix", add); err != nil {
		t.Fatal(err)
	}
	if err := RegisterFilter("test-suffix", add); !errors.Is(err, ErrExists) {
		t.Errorf("a second time: %v", err)
	}
	if err := RegisterFilter[params]("", nil); err == nil {
		t.Error("a component without a name is registered")
	}
	if err := RegisterWords("english", func() []string { return nil }); !errors.Is(err, ErrExists) {
		t.Errorf("other words for english: %v", err)
	}
	d := Declaration{Tokenizer: Component{Type: "whitespace"}, Filters: []Component{{"test-suffix", map[string]any{"suffix": "!"}}}}
	a, err := d.Analyzer("loud")
	if err != nil {
		t.Fatal(err)
	}
	if got := Terms(a, "a b"); !slices.Equal(got, []string{"a!", "b!"}) {
		t.Errorf("got %q", got)
	}
	if !declared(t, d.String()).Equal(d) {
		t.Errorf("%s comes back as %s", d, declared(t, d.String()))
	}
}

// FuzzDeclaration reads any JSON as a declaration, and analyzes a text by what is valid.
func FuzzDeclaration(f *testing.F) {
	f.Add(`{"filters":["lowercase",{"type":"ngrams","min":2,"max":3},"porter"]}`, "The Dog's 東京")
	f.Add(`{"char_filters":["html"],"tokenizer":{"type":"exceptions","patterns":["#"],"tokenizer":"letters"}}`, "<b>x</b>#é")
	f.Add(`{"filters":[{"type":"shingles","min":2,"max":16},"camel_case"]}`, "aB cD")
	f.Add(`{"filters":[{"type":"synonyms","rules":["a, b c","d => e"]},{"type":"length","max":3,"cut":true}]}`, "a d b")
	f.Add(`{"char_filters":[{"type":"pattern_replace","pattern":"x*","with":"$0y"}],"filters":["cjk_bigrams","unique"]}`, "xx a")
	f.Fuzz(func(t *testing.T, declaration, text string) {
		var d Declaration
		if json.Unmarshal([]byte(declaration), &d) != nil {
			return
		}
		var again Declaration
		if err := json.Unmarshal([]byte(d.String()), &again); err != nil || !again.Equal(d) {
			t.Fatalf("%s comes back as %s, %v", d, again, err)
		}
		a, err := d.Analyzer("fuzz")
		if err != nil || len(text) > 1<<12 {
			return
		}
		hasSynonyms := slices.ContainsFunc(d.Filters, func(c Component) bool { return c.Type == "synonyms" })
		began := time.Now()
		if !hasSynonyms {
			checkTokens(t, a, []byte(text))
		}
		Terms(a, text)
		if took := time.Since(began); took > 10*time.Second {
			t.Fatalf("%s took %v for %d bytes", d, took, len(text))
		}
	})
}
