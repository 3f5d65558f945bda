package bleve

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/riffle-search/riffle/analysis"
)

// TestAnalyzers has a few words for each analyzer, with the terms that bleve 2.5.7 makes of them. (A
// test in the module bench compares many more.)
func TestAnalyzers(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"standard", "The Dog's running. __ ΟΔΟΣ", "dog's running __ οδος"},
		{"simple", "The Dog's running2", "the dog s running"},
		{"keyword", "The Dog's", "The Dog's"},
		{"web", "Mail me@example.com or http://x.org/a?b now #Tag", "mail me@example.com http://x.org/a?b now #tag"},
		{"en", "The Dog's running ies", "dog run ie"},
		{"ar", "المدرسة أهلاً والكتاب", "مدرس اهلا كتاب"},
		{"cjk", "東京都へ行く。Ｇｏ 한국어 人々", "東京 京都 都へ へ行 行く go 한국어 人 々"},
		{"ckb", "پیاوەکە کوردستان", "پیاو کوردس"},
		{"da", "Undersøgelsen hestenes", "undersøg hest"},
		{"de", "Die Häuser aufeinanderfolgenden Straßen Mädchen", "haus aufeinanderfolgend strass madch"},
		{"es", "Las niñas españolas luces", "niñ español luz"},
		{"fa", "کتاب\u200cها می\u200cخوانم", "كتاب خوانم"},
		{"fi", "Taloissammekin", "talo"},
		{"fr", "L’été chevaux continuellement", "cheval continuel"},
		{"hi", "हिन्दी किताबें", "हिंद किताब"},
		{"hr", "Knjigama hrvatskoga", "knjig hrvatsk"},
		{"hu", "Házakkal", "ház"},
		{"it", "Dell'acqua ragazze", "acqua ragazz"},
		{"nl", "Lichamelijke", "licham"},
		{"no", "Havnedistriktene", "havnedistrikt"},
		{"pl", "utrzymywana książkami", "utrzymywać książek"},
		{"pt", "Corações professora", "coraca professor"},
		{"ro", "Abruptului", "abrupt"},
		{"ru", "Важнейшими книгами", "важн книг"},
		{"sv", "Jaktkarlarne", "jaktkarl"},
		{"tr", "Istanbul'da kızları", "istanbul kız"},
	} {
		a, err := analysis.Lookup("bleve/" + c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(analysis.Terms(a, c.text), " "); got != c.want || a.Name() != "bleve/"+c.name {
			t.Errorf("%s: %s became %s, want %s", c.name, c.text, got, c.want)
		}
		if analysis.WithRules(a, analysis.WordsUnicode8) != a {
			t.Errorf("%s follows the words of the index", c.name)
		}
	}
}

func TestNames(t *testing.T) {
	names := analysis.Names()
	for _, name := range Names() {
		if !slices.Contains(names, "bleve/"+name) {
			t.Errorf("%s is not registered", name)
		}
	}
	if n := len(Names()); n != 26 {
		t.Errorf("%d analyzers, want 26", n)
	}
	if len(stopLanguages) != len(stopWords()) {
		t.Errorf("%d lists of stop words, want %d", len(stopWords()), len(stopLanguages))
	}
	for _, language := range stopLanguages {
		if len(StopWords(language)) < 30 {
			t.Errorf("%s has %d stop words", language, len(StopWords(language)))
		}
	}
	if n := len(StopWords("en")); n != 174 {
		t.Errorf("en has %d stop words, want 174", n)
	}
	if StopWords("x") != nil || Articles("x") != nil || !slices.Contains(Articles("fr"), "qu") {
		t.Error("lists of other languages")
	}
}

// TestDeclared makes analyzers of bleve's parts.
func TestDeclared(t *testing.T) {
	for _, c := range []struct{ declaration, text, want string }{
		{`{"filters":["lowercase",{"type":"stop","set":"bleve/fr"},{"type":"bleve_stem","language":"fr"}]}`, "Les chevaux", "cheval"},
		{`{"tokenizer":{"type":"words","rules":"bleve"},"filters":[{"type":"bleve_normalize","language":"de"}]}`, "blaeue __", "blaue __"},
		{`{"filters":["lowercase",{"type":"keyword_marker","words":["luces"]},{"type":"bleve_stem","language":"es"}]}`, "Luces voces", "luces voz"},
		{`{"filters":[{"type":"bleve_transform","language":"hr"}]}`, "jaci", "jak"},
		{`{"filters":[{"type":"bleve_stem","language":"fr_min"}]}`, "chevaux grandes amitiés noix", "cheval grand amiti noix"},
		{
			`{"filters":[{"type":"bleve_stem","language":"en_plural"}]}`, "Boxes axes ponies pies shoes heroes caches churches classes dishes gas bus us dogs",
			"box axe pony pie shoe hero cache church class dish ga bus us dog",
		},
		{`{"filters":["lowercase",{"type":"snowball","language":"swedish"}]}`, "Jaktkarlarne", "jaktkarl"},
		{`{"tokenizer":"bleve_web"}`, "Mail me@example.com now", "Mail me@example.com now"},
	} {
		var d analysis.Declaration
		if err := json.Unmarshal([]byte(c.declaration), &d); err != nil {
			t.Fatal(err)
		}
		a, err := d.Analyzer("test")
		if err != nil {
			t.Errorf("%s: %v", c.declaration, err)
		} else if got := strings.Join(analysis.Terms(a, c.text), " "); got != c.want {
			t.Errorf("%s: %s became %s, want %s", c.declaration, c.text, got, c.want)
		}
	}
	d := analysis.Declaration{Filters: []analysis.Component{{Type: "bleve_stem", Params: map[string]any{"language": "tlh"}}}}
	_, err := d.Analyzer("x")
	if err == nil || !strings.Contains(err.Error(), `filters[0] (bleve_stem): language: one of ar, ckb, de, en_plural, es, fr, fr_min, hi, hr, it, pl, pt is wanted, not "tlh"`) {
		t.Errorf("another language: %v", err)
	}
}

// TestNormalize: parts of words become what they are in the terms of an analyzer, where that does not
// depend on the end of the word.
func TestNormalize(t *testing.T) {
	for _, c := range []struct{ name, part, want string }{
		{"de", "Straß", "strass"},
		{"de", "MÜLL", "mull"},
		{"es", "ESPAÑÓ", "españo"},
		{"fr", "L’ÉT", "ét"},
		{"ar", "أهلاً", "اهلا"},
		{"hi", "हिन्", "हिं"},
		{"fa", "کتا", "كتا"},
		{"ckb", "كوه", "كوه"},
		{"hr", "ŽIVOTA", "života"},
		{"cjk", "Ｇｏ", "go"},
	} {
		a, err := analysis.Lookup(prefix + c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := analysis.Normalize(a, c.part); got != c.want {
			t.Errorf("%s: %s became %q, want %q", c.name, c.part, got, c.want)
		}
	}
	a, _ := analysis.Lookup("bleve/standard")
	if part, word := analysis.Normalize(a, "ΟΔΟΣ"), analysis.NormalizeWord(a, "ΟΔΟΣ"); part != "οδοσ" || word != "οδος" {
		t.Errorf("the part %q, the word %q", part, word)
	}
}

// FuzzAnalyzers checks the promises of tokens for arbitrary text, and that a word of any length takes
// linear time: no analyzer stems one of more than 255 bytes. Run it with -fuzzminimizetime 10x, as
// .ci/run does: Go's fuzzer else takes up to a minute to shorten each interesting text, and reports no
// executions meanwhile.
func FuzzAnalyzers(f *testing.F) {
	for _, s := range []string{
		"", "'s l' qu'", "ies ΟΔΟΣ İ K", "ー々ｶﾞ 東", "كتاب\u200cها ـ", "न् ज़", "x\xffy", "#a@b.c www.x/(", "ßßßß aeaeae",
		strings.Repeat("ie", 200), strings.Repeat("é", 130), "utrzymywana ijega trg",
	} {
		f.Add(s)
	}
	var all []analysis.Analyzer
	for _, name := range Names() {
		a, err := analysis.Lookup(prefix + name)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, a)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, a := range all {
			position, start := 0, 0
			for tok := range analysis.Tokens(a, text) {
				if len(tok.Term) == 0 || !utf8.Valid(tok.Term) || tok.Start < start || tok.Start >= tok.End || tok.End > len(text) || tok.Position < position {
					t.Fatalf("%s: %q gave %+v", a.Name(), text, tok)
				}
				position, start = tok.Position, tok.Start
			}
		}
	})
}

func BenchmarkAnalyzers(b *testing.B) {
	text := strings.Repeat("The quick brown foxes jumped over the lazy dogs, running generously. ", 1000)
	for _, name := range []string{"standard", "en", "web"} {
		a, err := analysis.Lookup(prefix + name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("analyzer="+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				analysis.AnalyzeString(a, text, func([]analysis.Token) {})
			}
		})
	}
}
