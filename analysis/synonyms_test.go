package analysis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// graph writes tokens as "position:term", with "-next" when a token takes more than one position.
func graph(a Analyzer, text string) string {
	var out []string
	for t := range Tokens(a, text) {
		s := fmt.Sprintf("%d:%s", t.Position, t.Term)
		if t.Next() != t.Position+1 {
			s += fmt.Sprintf("-%d", t.Next())
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func synonymAnalyzer(t testing.TB, rules string, o *SynonymOptions) Analyzer {
	t.Helper()
	s, err := ParseSynonyms(strings.NewReader(rules), o)
	if err != nil {
		t.Fatal(err)
	}
	return New("synonyms", Words{}, Lowercase{}, s)
}

func TestSynonyms(t *testing.T) {
	for _, c := range []struct{ name, rules, text, want string }{
		{"beside", "laptop, notebook", "Gaming laptop bag", "0:gaming 1:laptop 1:notebook 2:bag"},
		{"both ways", "laptop, notebook", "notebook", "0:notebook 0:laptop"},
		{"three", "a,b,c", "b", "0:b 0:a 0:c"},
		{"in place", "tv, telly => television", "a TV and a telly", "0:a 1:television 2:and 3:a 4:television"},
		{"in place, kept", "tv => tv, television", "tv", "0:tv 0:television"},
		{"lines add up", "tv => television\ntv => telly", "tv", "0:television 0:telly"},
		{"the longest wins", "new york => ny\nnew york city => nyc\nnew => old", "new york city new york new", "0:nyc 1:ny 2:old"},
		{"no rule sees another's output", "a => b\nb => c", "a b", "0:b 1:c"},
		{"several become one", "sea biscuit => seabiscuit", "the sea biscuit runs", "0:the 1:seabiscuit 2:runs"},
		{"one becomes several", "dns => domain name system", "dns server", "0:domain 1:name 2:system 3:server"},
		{"one beside several", "dns, domain name system", "dns server", "0:dns-3 0:domain 1:name 2:system 3:server"},
		{"several beside one", "dns, domain name system", "domain name system server", "0:domain 0:dns-3 1:name 2:system 3:server"},
		{"several beside several", "dns, domain name system, name service", "domain name system server",
			"0:domain-2 0:dns-4 0:name 1:service-4 2:name 3:system 4:server"},
		{"positions move up twice", "x, a b", "x y x z", "0:x-2 0:a 1:b 2:y 3:x-5 3:a 4:b 5:z"},
		{"escapes", `a\,b => c\=>d`, "a b x", "0:c 1:d 2:x"},
		{"comment and blank lines", "# x => y\n\n  \nx, y\n", "x", "0:x 0:y"},
		{"nothing matches half", "new york city, nyc", "new york", "0:new 1:york"},
		{"no rules", "", "a b", "0:a 1:b"},
		{"nothing", "a, b", "", ""},
	} {
		if got := graph(synonymAnalyzer(t, c.rules, nil), c.text); got != c.want {
			t.Errorf("%s: %q with %q:\n got %s\nwant %s", c.name, c.text, c.rules, got, c.want)
		}
	}
	contract := &SynonymOptions{Contract: true}
	if got, want := graph(synonymAnalyzer(t, "tv, telly, television", contract), "telly tv x"), "0:tv 1:tv 2:x"; got != want {
		t.Errorf("contracted: got %s, want %s", got, want)
	}
}

// TestSynonymPlaces checks the offsets of synonyms.
func TestSynonymPlaces(t *testing.T) {
	a := synonymAnalyzer(t, "dns, domain name system", nil)
	text := "my domain name system"
	for tok := range Tokens(a, text) {
		got := text[tok.Start:tok.End]
		if string(tok.Term) == "dns" && got != "domain name system" || string(tok.Term) == "name" && got != "name" {
			t.Errorf("%s is found at %q", tok.Term, got)
		}
	}
}

// TestSynonymsBehindStopWords checks that a rule matches only words as far apart as in the rule.
func TestSynonymsBehindStopWords(t *testing.T) {
	plain := New("plain", Words{}, Lowercase{}, Stop("of"))
	s, err := ParseSynonyms(strings.NewReader("call of duty, cod"), &SynonymOptions{Analyzer: plain})
	if err != nil {
		t.Fatal(err)
	}
	a := New("synonyms", Words{}, Lowercase{}, Stop("of"), s)
	for text, want := range map[string]string{
		"call of duty now": "0:call-2 0:cod-3 2:duty 3:now",
		"call duty":        "0:call 1:duty",
		"cod":              "0:cod-2 0:call 1:duty",
	} {
		if got := graph(a, text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// TestSynonymsOfGrams checks that tokens that share a position do not change.
func TestSynonymsOfGrams(t *testing.T) {
	s, err := ParseSynonyms(strings.NewReader("ab => x y\nbc => z"), nil)
	if err != nil {
		t.Fatal(err)
	}
	grams := New("grams", NGrams{Min: 2, Max: 3}, s)
	if got, want := graph(grams, "abc"), "0:ab 0:abc 1:z"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSynonymErrors(t *testing.T) {
	for _, c := range []struct{ rules, want string }{
		{"a, b\na => b => c", "line 2: there are two arrows"},
		{"a,,b", "line 1: there is nothing before or behind a comma or an arrow"},
		{"=> b", "line 1: there is nothing"},
		{"a =>", "line 1: there is nothing"},
		{"a, !!", `line 1: the analyzer "standard" leaves nothing of "!!"`},
		{strings.Repeat("x", 2<<20), "line 1: bufio.Scanner: token too long"},
	} {
		_, err := ParseSynonyms(strings.NewReader(c.rules), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: error %v, want %q", c.rules, err, c.want)
		}
	}
	grams := New("grams", NGrams{Min: 1, Max: 2})
	_, err := ParseSynonyms(strings.NewReader("ab, c"), &SynonymOptions{Analyzer: grams})
	if want := `line 1: the analyzer "grams" gives "ab" two terms at one position`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// TestSynonymsOverBatches compares texts of several batches with the same texts in one batch, and
// checks the promises of Analyzer.
func TestSynonymsOverBatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	s, err := ParseSynonyms(strings.NewReader("a b c d, e\nb c => f f\nc, g h\nd, e => i\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, with := New("plain", Words{}), New("with", Words{}, s)
	for range 20 {
		words := make([]string, 2*MaxBatch+rng.IntN(MaxBatch))
		for i := range words {
			words[i] = string(rune('a' + rng.IntN(5)))
		}
		text := strings.Join(words, " ")
		var whole []Token
		for tok := range Tokens(plain, text) {
			tok.Term = slices.Clone(tok.Term)
			whole = append(whole, tok)
		}
		want := s.Filter(whole)
		i, before := 0, Token{}
		AnalyzeString(with, text, func(batch []Token) {
			if len(batch) == 0 || len(batch) > MaxBatch {
				t.Fatalf("a batch of %d tokens", len(batch))
			}
			for _, tok := range batch {
				w := want[i]
				if string(tok.Term) != string(w.Term) || tok.Start != w.Start || tok.End != w.End || tok.Position != w.Position || tok.Span != w.Span {
					t.Fatalf("token %d: %+v, want %+v", i, tok, w)
				}
				if tok.Start < before.Start || tok.Position < before.Position {
					t.Fatalf("token %d: %+v follows %+v", i, tok, before)
				}
				before = tok
				i++
			}
		})
		if i != len(want) {
			t.Fatalf("%d tokens, want %d", i, len(want))
		}
	}
}
