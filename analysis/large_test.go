package analysis

import (
	"bytes"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestLargeTexts analyzes texts of many megabytes without a word boundary. Memory must not grow
// with them, and every byte of a word must be in some token.
func TestLargeTexts(t *testing.T) {
	size := 100 << 20
	if testing.Short() {
		size = 4 << 20
	}
	const all = -1
	for _, c := range []struct {
		name string
		head string // before the repeated unit
		unit string
		size int
		want int // bytes in tokens
	}{
		{"one ASCII word", "", "a", size, all},
		{"one Cyrillic word", "", "я", size / 25, all},
		{"ideographs", "", "語", size / 25, all},
		{"Thai", "", "ไทย", size / 25, all},
		{"a letter and its marks", "a", "\u0301", size / 25, all},
		{"a letter, then a quote and its marks", "a'", "\u0301", size / 25, 1},
		{"no word", "", "!\xff\u20ac", size / 25, 0},
		{"spaces", "", " ", size, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := append([]byte(c.head), bytes.Repeat([]byte(c.unit), c.size/len(c.unit))...)
			if c.want == all {
				c.want = len(text)
			}
			checkLarge(t, text, c.want)
		})
	}
}

func checkLarge(t *testing.T, text []byte, want int) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := 0
	Standard().Analyze(text, func(batch []Token) {
		for _, tok := range batch {
			got += tok.End - tok.Start
			if len(tok.Term) > DefaultMaxBytes {
				t.Fatalf("term of %d bytes", len(tok.Term))
			}
		}
	})
	runtime.ReadMemStats(&after)
	if got != want {
		t.Errorf("%d bytes in tokens, want %d", got, want)
	}
	// A batch, the segmenter's answers for a window, and room for other allocations of the test.
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("%d bytes of text made it allocate %d bytes", len(text), used)
	}
}

// TestPatternsOfLongTexts: long texts are searched in pieces, which end at white space.
func TestPatternsOfLongTexts(t *testing.T) {
	for _, c := range []struct{ unit, pattern string }{
		{"one two ", `\w+`},
		{"ab", `[ab]`},
		{"é", `.`},
		{"#a ", `\S+@\S+|#\w+`},
		{"aaaaaaaa ", `a[^b]*b|a`}, // quadratic in a piece
	} {
		text := strings.Repeat(c.unit, 9_000/len(c.unit))
		re := regexp.MustCompile(c.pattern)
		want := re.FindAllString(text, -1)
		if got := Terms(New("pattern", Pattern{Pattern: re}), text); !slices.Equal(got, want) {
			t.Errorf("%s: %d tokens, want %d", c.pattern, len(got), len(want))
		}
		split := Terms(New("pattern", Pattern{Pattern: regexp.MustCompile(`\s`), Split: true}), text)
		if want := strings.Fields(text); !slices.Equal(split, want) {
			t.Errorf("%s: split into %d tokens, want %d", c.pattern, len(split), len(want))
		}
		replaced := Terms(New("pattern", FilterText(Keyword{}, PatternReplace{re, "<$0>"})), text)
		if want := re.ReplaceAllString(text, "<$0>"); len(replaced) != 1 || replaced[0] != want {
			t.Errorf("%s: other replacements", c.pattern)
		}
	}
}

// TestHTMLStripIsLinear strips megabytes of markup that is never closed. Each would take hours if a
// scan to the end of the text followed each <.
func TestHTMLStripIsLinear(t *testing.T) {
	size := 4 << 20
	if testing.Short() {
		size = 1 << 19
	}
	a := New("html", FilterText(Words{}, HTMLStrip{}))
	for _, unit := range []string{
		"<a ", "<!--", "<!", "<script>", "<a b='", `<a b="<a c='`, "<a x='<a' ", "<a x='<a' x=\"<b\" ", "</style", "&", "&#x", "&amp", "<a =    '", "<",
	} {
		text := bytes.Repeat([]byte(unit), size/len(unit))
		for _, end := range []string{"", "<b", "word"} {
			a.Analyze(append(text, end...), func([]Token) {})
		}
	}
}
