package analysis

import (
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"
	"golang.org/x/text/unicode/norm"

	"github.com/riffle-search/riffle/internal/impl"
)

// custom are the unregistered analyzers of the scripts.
var custom = map[string]Analyzer{
	"words-8":         New("words-8", Words{MaxBytes: 8}),
	"whitespace-8":    New("whitespace-8", Whitespace{MaxBytes: 8}),
	"whitespace-low":  New("whitespace-low", Whitespace{}, Lowercase{}),
	"ngrams-2-3":      New("ngrams-2-3", NGrams{Min: 2, Max: 3}, Lowercase{}),
	"edge-1-3":        New("edge-1-3", EdgeNGrams{Min: 1, Max: 3}, Lowercase{}),
	"edge-3-4":        New("edge-3-4", EdgeNGrams{Min: 3, Max: 4}),
	"length-2-4":      New("length-2-4", Words{}, Length{Min: 2, Max: 4}),
	"length-4-cut":    New("length-4-cut", Words{}, Length{Max: 4, Cut: true}),
	"late-lowercase":  New("late-lowercase", Words{}, Stop("The"), Lowercase{}),
	"possessive":      New("possessive", Whitespace{}, Possessive{}),
	"porter":          New("porter", Whitespace{}, Porter{}),
	"keyword-lower":   New("keyword-lower", Keyword{}, Lowercase{}),
	"whitespace-fold": New("whitespace-fold", Whitespace{}, Fold{}),
	"gram-filter":     New("gram-filter", Words{}, Lowercase{}, NGrams{Min: 2, Max: 3}),
	"gram-drop":       New("gram-drop", Words{}, NGrams{Min: 2, Max: 3, DropShort: true}, Lowercase{}),
	"edge-filter":     New("edge-filter", Words{}, Stop("the"), EdgeNGrams{Min: 2, Max: 3}),
	"edge-back":       New("edge-back", Words{}, EdgeNGrams{Min: 2, Max: 3, Back: true, DropShort: true}),
	"shingles":        New("shingles", Words{}, Lowercase{}, Stop("of", "the"), Shingles{Min: 2, Max: 3}),
	"shingles-only":   New("shingles-only", Words{}, Shingles{NoWords: true, Separator: "+", Filler: "?"}),
	"camel":           New("camel", Words{}, CamelCase{}, Lowercase{}),
	"camel-space":     New("camel-space", Whitespace{}, CamelCase{}),
	"unique":          New("unique", Words{}, Lowercase{}, Unique{}),
	"unique-stem":     New("unique-stem", Words{}, EdgeNGrams{Min: 1, Max: 3}, Length{Max: 2, Cut: true}, Unique{SamePosition: true}),
	"reverse":         New("reverse", Whitespace{}, Reverse{}),
	"marked":          New("marked", Words{}, Lowercase{}, KeywordMarker("skiing", "bus"), Porter{}),
	"nfc":             New("nfc", Whitespace{}, NormalForm{}),
	"nfkc":            New("nfkc", Whitespace{}, NormalForm{Form: norm.NFKC}),
	"sigma":           New("sigma", Words{}, Lowercase{FinalSigma: true}),
	"sigma-late":      New("sigma-late", Words{}, Possessive{}, Lowercase{FinalSigma: true}),
	"runes-2-3":       New("runes-2-3", Whitespace{}, Length{Min: 2, Max: 3, Runes: true}),
	"runes-cut":       New("runes-cut", Whitespace{}, Length{Max: 2, Cut: true, Runes: true}),
	"elision":         New("elision", Words{}, Lowercase{}, Elision("l", "d"), Apostrophe{}),
	"cjk":             New("cjk", Words{}, CJKWidth{}, Lowercase{}, CJKBigrams{}),
	"cjk-both":        New("cjk-both", Words{}, CJKBigrams{Unigrams: true}),
	"html":            New("html", FilterText(Words{}, HTMLStrip{}), Lowercase{}),
	"html-keyword":    New("html-keyword", FilterText(Keyword{}, HTMLStrip{})),
	"ascii":           New("ascii", Whitespace{}, ASCIIFold{}),
	"ascii-text":      New("ascii-text", FilterText(Words{}, ASCIIFold{}, PatternReplace{regexp.MustCompile(`\s*-\s*`), ""}), Lowercase{}),
	"pattern":         New("pattern", Pattern{Pattern: regexp.MustCompile(`[a-z]+|\d*`)}),
	"pattern-split":   New("pattern-split", Pattern{Pattern: regexp.MustCompile(`\s*,\s*`), Split: true}),
	"pattern-filter":  New("pattern-filter", Whitespace{}, PatternReplace{regexp.MustCompile(`^(\d+)px$|x*`), "$1"}),
	"exceptions":      New("exceptions", Exceptions{Pattern: regexp.MustCompile(`\S+@\S+|#\w+|`), Rest: Words{}}, Lowercase{}),
	"exceptions-html": New("exceptions-html", FilterText(Exceptions{Pattern: regexp.MustCompile(`#\w+`), Rest: FilterText(Words{}, ASCIIFold{})}, HTMLStrip{})),
	"hierarchy":       New("hierarchy", Keyword{}, Hierarchy{}),
	"hierarchy-words": New("hierarchy-words", Words{}, Lowercase{}, Hierarchy{NoSplit: true, Levels: 5, Delimiter: ">"}),
	"compounds":       New("compounds", Words{}, Lowercase{}, Compounds([]string{"foot", "ball", "tb", "football"}, CompoundOptions{})),
	"letters":         New("letters", Letters{MaxBytes: 8}, Lowercase{}),
}

// TestScripts runs the scripts in testdata/scripts:
//
//	terms ANALYZER     the terms of each line of input, joined by " | "
//	tokens ANALYZER    one line a token: position, byte offsets, term
//
// An input line in double quotes is a Go string literal.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			name := d.CmdArgs[0].Key
			a := custom[name]
			if a == nil {
				var err error
				if a, err = Lookup(name); err != nil {
					d.Fatalf(t, "%v", err)
				}
			}
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				runLine(&out, d.Cmd, a, unquote(t, d, strings.TrimSuffix(line, "\n")))
			}
			return out.String()
		})
	})
}

func unquote(t *testing.T, d *datadriven.TestData, line string) string {
	if !strings.HasPrefix(line, `"`) {
		return line
	}
	s, err := strconv.Unquote(line)
	if err != nil {
		d.Fatalf(t, "%s: %v", line, err)
	}
	return s
}

func runLine(out *strings.Builder, cmd string, a Analyzer, text string) {
	switch cmd {
	case "terms":
		terms := Terms(a, text)
		for i, s := range terms {
			if strconv.Quote(s) != `"`+s+`"` {
				terms[i] = strconv.Quote(s)
			}
		}
		fmt.Fprintln(out, strings.Join(terms, " | "))
	case "tokens":
		for tok := range Tokens(a, text) {
			fmt.Fprintf(out, "%d %d-%d %s\n", tok.Position, tok.Start, tok.End, tok.Term)
		}
	default:
		fmt.Fprintf(out, "no such command: %s\n", cmd)
	}
}

// checkTokens checks the promises of Token and Analyzer.
func checkTokens(t *testing.T, a Analyzer, text []byte) {
	t.Helper()
	for range impl.Each("analysis") {
		checkTokensOnce(t, a, text)
	}
}

func checkTokensOnce(t *testing.T, a Analyzer, text []byte) {
	t.Helper()
	before := string(text)
	last := Token{}
	a.Analyze(text, func(batch []Token) {
		if len(batch) < 1 || len(batch) > MaxBatch {
			t.Fatalf("%s: batch of %d tokens", a.Name(), len(batch))
		}
		for _, tok := range batch {
			switch {
			case len(tok.Term) == 0 || !utf8.Valid(tok.Term):
				t.Fatalf("%s: %.100q: term %q", a.Name(), text, tok.Term)
			case tok.Start < 0 || tok.Start >= tok.End || tok.End > len(text):
				t.Fatalf("%s: %.100q: offsets %d-%d of %d", a.Name(), text, tok.Start, tok.End, len(text))
			case tok.Start < last.Start || tok.Start == last.Start && tok.End < last.End:
				t.Fatalf("%s: %.100q: token %d-%d comes behind %d-%d", a.Name(), text, tok.Start, tok.End, last.Start, last.End)
			case tok.Position < last.Position:
				t.Fatalf("%s: %.100q: position %d comes behind %d", a.Name(), text, tok.Position, last.Position)
			}
			last = tok
			for i := range tok.Term {
				tok.Term[i] = '#' // allowed until emit returns; must not show up in a later term
			}
		}
	})
	checkTerms(t, a, text)
	if string(text) != before {
		t.Fatalf("%s changed its text", a.Name())
	}
}

// checkTerms checks that AnalyzeTerms finds the terms that Analyze finds, if it is supported.
func checkTerms(t *testing.T, a Analyzer, text []byte) {
	t.Helper()
	var got []string
	can := a.(TermAnalyzer).AnalyzeTerms(text, func(keys []uint64, long [][]byte) {
		if len(keys) < 1 || len(keys) > MaxBatch {
			t.Fatalf("%s: batch of %d terms", a.Name(), len(keys))
		}
		for _, key := range keys {
			if n := int(key >> 56); n < 8 {
				var word [8]byte
				binary.LittleEndian.PutUint64(word[:], key)
				if clear(word[:n]); word != [8]byte{7: byte(n)} {
					t.Fatalf("%s: key %x has bytes behind its %d", a.Name(), key, n)
				}
				binary.LittleEndian.PutUint64(word[:], key)
				got = append(got, string(word[:n]))
				continue
			}
			if key>>56 != 255 || len(long[0]) < 8 {
				t.Fatalf("%s: key %x, long terms %q", a.Name(), key, long)
			}
			got, long = append(got, string(long[0])), long[1:]
		}
		if len(long) > 0 {
			t.Fatalf("%s: %d long terms too many", a.Name(), len(long))
		}
	})
	if !can {
		if len(got) > 0 {
			t.Fatalf("%s finds terms, and says that it cannot", a.Name())
		}
		return
	}
	if want := Terms(a, string(text)); !slices.Equal(got, want) {
		t.Fatalf("%s: %.100q: terms %q, want %q", a.Name(), text, got, want)
	}
}

func everyAnalyzer(t testing.TB) []Analyzer {
	var all []Analyzer
	for _, name := range Names() {
		a, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	for _, a := range custom {
		all = append(all, a)
	}
	return all
}

func TestTokenPromises(t *testing.T) {
	for _, a := range everyAnalyzer(t) {
		for _, s := range hardTexts {
			checkTokens(t, a, []byte(s))
		}
		checkTokens(t, a, []byte(strings.Repeat("The quick Fox's  Ⱥ\xff ", 1000)))
	}
}

// FuzzAnalyzers feeds arbitrary bytes to every analyzer.
func FuzzAnalyzers(f *testing.F) {
	for _, s := range hardTexts {
		f.Add([]byte(s))
	}
	all := everyAnalyzer(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, a := range all {
			checkTokens(t, a, text)
		}
	})
}

// TestConcurrentUse has many goroutines share an analyzer, one of them while another handles a
// batch.
func TestConcurrentUse(t *testing.T) {
	const sentence = "The dogs' owner wasn't RUNNING past l’été in naïve ways. "
	text := strings.Repeat(sentence, 200)
	want := Terms(English(), text)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				var got []string
				AnalyzeString(English(), text, func(batch []Token) {
					if inner := Terms(English(), sentence); !slices.Equal(inner, want[:len(inner)]) {
						t.Errorf("inside emit: got %q", inner)
					}
					for _, tok := range batch {
						got = append(got, string(tok.Term))
					}
				})
				if !slices.Equal(got, want) {
					t.Errorf("got %d terms, want %d", len(got), len(want))
				}
			}
		})
	}
	wg.Wait()
}

// TestFoldShortcut checks that the full algorithm leaves terms alone that Fold considers folded.
func TestFoldShortcut(t *testing.T) {
	folded := 0
	for _, text := range append(hardTexts, "й и\u0306 が か\u3099 한국어 ᄒ\u1161 שָׁלוֹם Ёлка ø ﬁ हिन्दी Ⱥ К") {
		for _, term := range Terms(Standard(), text) {
			long := norm.NFC.Bytes(appendFolded(nil, norm.NFKD.Bytes([]byte(term))))
			if got := foldTerm([]byte(term)); string(got) != string(long) {
				t.Errorf("%+q became %+q, want %+q", term, got, long)
			}
			if isFolded([]byte(term)) {
				folded++
			}
		}
	}
	if folded == 0 {
		t.Error("no term took the shortcut")
	}
}

func TestTokensStopsEarly(t *testing.T) {
	seen := 0
	for range Tokens(Standard(), strings.Repeat("word ", 5000)) {
		if seen++; seen == 3 {
			break
		}
	}
	if seen != 3 {
		t.Errorf("the loop ran %d times after it was left at 3", seen)
	}
}

func TestRegistry(t *testing.T) {
	mine := New("mine", Words{})
	if _, err := Lookup("test-mine"); !errors.Is(err, ErrUnknown) {
		t.Errorf("Lookup before Register: %v, want ErrUnknown", err)
	}
	if err := Register("test-mine", mine); err != nil {
		t.Fatal(err)
	}
	if err := Register("test-mine", mine); !errors.Is(err, ErrExists) {
		t.Errorf("second Register: %v, want ErrExists", err)
	}
	if a, err := Lookup("test-mine"); err != nil || a != mine {
		t.Errorf("Lookup = %v, %v", a, err)
	}
	if err := Register("english", mine); !errors.Is(err, ErrExists) {
		t.Errorf("Register over a built-in: %v, want ErrExists", err)
	}
	if Register("", mine) == nil || Register("test-nil", nil) == nil {
		t.Error("Register took an empty name or no analyzer")
	}
	for _, name := range []string{"standard", "folding", "english", "keyword", "whitespace"} {
		if a, err := Lookup(name); err != nil || a.Name() != name {
			t.Errorf("Lookup(%q) = %v, %v", name, a, err)
		}
	}
}

// TestPlacesOfParts: parts of words and of paths have their own places, unless a term is not as long as its token.
func TestPlacesOfParts(t *testing.T) {
	parts := Compounds([]string{"dampf", "schiff", "schifffahrt"}, CompoundOptions{})
	for _, c := range []struct {
		a          Analyzer
		text, want string
	}{
		{New("", Words{}, Lowercase{}, parts), "Ü Dampfschifffahrt", "ü 0-2, dampf 3-8, dampfschifffahrt 3-19, schiff 8-14, schifffahrt 8-19"},
		{New("", Words{}, Possessive{}, parts), "Ein dampfschiff's", "Ein 0-3, dampf 4-17, dampfschiff 4-17, schiff 4-17"},
		{New("", Keyword{}, Hierarchy{}), "a/bc//d", "a 0-1, a/bc 0-4, a/bc/ 0-5, a/bc//d 0-7"},
		{New("", Whitespace{}, Hierarchy{Delimiter: "::"}), "a::b c", "a 0-1, a::b 0-4, a::b::c 0-6"},
		{New("", Keyword{}, NormalForm{Form: norm.NFKC}, Hierarchy{}), "ﬁ/x", "fi 0-5, fi/x 0-5"},
	} {
		var got []string
		for tok := range Tokens(c.a, c.text) {
			got = append(got, fmt.Sprintf("%s %d-%d", tok.Term, tok.Start, tok.End))
		}
		if joined := strings.Join(got, ", "); joined != c.want {
			t.Errorf("%q: %s, want %s", c.text, joined, c.want)
		}
	}
}
