package lang

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"

	"github.com/riffle-search/riffle/analysis"
)

// TestLanguages has a few words for each language, to catch swapped stemmers and missing filters.
// It does not judge the quality of Snowball's stems.
func TestLanguages(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"arabic", "المدرسة", "مدرس"},
		{"danish", "Undersøgelsen undersøger hestenes", "undersøg undersøg hest"},
		{"dutch", "Lichamelijke opglimpende", "licham opglimp"},
		{"finnish", "Taloissammekin", "talo"},
		{"french", "Continuellement L’été qu'elles aujourd'hui", "continuel été elle aujourd'hui"},
		{"german", "Häuser aufeinanderfolgenden Straßen", "haus aufeinanderfolg strass"},
		{"hungarian", "Házakkal", "ház"},
		{"irish", "d'fhear", "fear"},
		{"italian", "dell'acqua abbandonata", "acqua abbandon"},
		{"norwegian", "Havnedistriktene", "havnedistrikt"},
		{"porter2", "The Lord's generously", "the lord generous"},
		{"portuguese", "Quilométricas", "quilométr"},
		{"romanian", "Abruptului", "abrupt"},
		{"russian", "Важнейшими Книгами", "важн книг"},
		{"spanish", "Torneos chicharrones", "torne chicharron"},
		{"swedish", "Jaktkarlarne", "jaktkarl"},
		{"tamil", "மரங்கள்", "\u0bae\u0bb0\u0b99\u0bcd"},
		{"turkish", "İSTANBUL'DA KIZLARI", "istanbul kız"},
	} {
		a, err := analysis.Lookup(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(analysis.Terms(a, c.text), " "); got != c.want {
			t.Errorf("%s: %s became %s, want %s", c.name, c.text, got, c.want)
		}
	}
}

// TestCacheChangesNothing compares the filter, whose cache is warm and crowded, with the
// algorithm itself.
func TestCacheChangesNothing(t *testing.T) {
	f := Snowball("german")
	for round := range 2 {
		for n := range 3 * cacheSlots {
			word := strings.Repeat("häus", n%5) + string(rune('a'+n%26)) + string(rune('a'+n/26%26)) + "lichkeiten"
			env := snowballstem.NewEnv(word)
			algorithms["german"](env)
			got := f.Filter([]analysis.Token{{Term: []byte(word)}})
			if string(got[0].Term) != env.Current() {
				t.Fatalf("round %d: %s became %s, want %s", round, word, got[0].Term, env.Current())
			}
		}
	}
}

func TestEveryLanguageIsRegistered(t *testing.T) {
	names := analysis.Names()
	for _, l := range Languages() {
		if !slices.Contains(names, l) {
			t.Errorf("%s is not registered", l)
		}
	}
	if len(Languages()) < 18 {
		t.Errorf("%d languages", len(Languages()))
	}
}

func TestUnknownLanguage(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Snowball took a language that it does not have")
		}
	}()
	Snowball("klingon")
}

// FuzzStemmers checks the promises of terms for every analyzer of the package and arbitrary text,
// because the Snowball programs are generated and long.
func FuzzStemmers(f *testing.F) {
	for _, s := range []string{
		"", "l'", "d'un", "İI\u0307ı", "yyyy", "ss", "ß", "hopping", "والكتاب", "மரங்கள்", "\u0bae\u0bb0\u0b99\u0bcd", "x\xff", "qu",
		strings.Repeat("ou", 130), "lessness", "éée",
	} {
		f.Add(s)
	}
	var all []analysis.Analyzer
	for _, l := range Languages() {
		a, err := analysis.Lookup(l)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, a)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, a := range all {
			for tok := range analysis.Tokens(a, text) {
				if len(tok.Term) == 0 || !utf8.Valid(tok.Term) || tok.End > len(text) {
					t.Fatalf("%s: %q gave %+v", a.Name(), text, tok)
				}
			}
		}
	})
}

func BenchmarkSnowball(b *testing.B) {
	text := strings.Repeat("Die Häuser der aufeinanderfolgenden Straßen gehören freundlichen Menschen. ", 100)
	for _, name := range []string{"german", "porter2"} {
		a, err := analysis.Lookup(name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("analyzer="+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				analysis.AnalyzeString(a, text, func([]analysis.Token) {})
			}
		})
	}
}

func TestDeclaredUnknownLanguage(t *testing.T) {
	d := analysis.Declaration{Filters: []analysis.Component{{Type: "snowball", Params: map[string]any{"language": "klingon"}}}}
	if _, err := d.Analyzer("x"); err == nil || !strings.Contains(err.Error(), `filters[0] (snowball): language: one of arabic, danish`) {
		t.Error(err)
	}
}
