package analysis

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/segment"
	"github.com/clipperhouse/uax29/v2/words"

	"github.com/riffle-search/riffle/internal/impl"
)

// referenceWords is the slow twin of Words, without case, windows or an ASCII path. It passes each
// valid piece of the text to the segmenter as a whole.
func referenceWords(text []byte, piece func(piece []byte) []string) []string {
	var words []string
	for len(text) > 0 {
		n := 0
		for n < len(text) {
			r, size := utf8.DecodeRune(text[n:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			n += size
		}
		words = append(words, piece(text[:n])...)
		text = text[min(n+1, len(text)):]
	}
	return words
}

// referencePieces are the words of a valid text by each version of the rules.
var referencePieces = map[WordRules]func(piece []byte) []string{
	WordsUnicode8:  func(piece []byte) []string { return referencePiece8(piece, false) },
	WordsUnicode15: referencePiece15,
	WordsBleve:     func(piece []byte) []string { return referencePiece8(piece, true) },
}

// referencePiece15 asks an expression of the terms of Unicode which segments are words.
func referencePiece15(piece []byte) (found []string) {
	segments := words.FromBytes(piece)
	run := ""
	for segments.Next() {
		s := string(segments.Value())
		if r, _ := utf8.DecodeRuneInString(s); southeastAsian.MatchString(s) && unicode.IsLetter(r) {
			run += s
			continue
		}
		if run != "" {
			found, run = append(found, run), ""
		}
		if wordLike.MatchString(s) {
			found = append(found, strings.TrimLeftFunc(s, unicode.IsSpace)) // a mark that is a letter (U+FF9E) joins a space
		} else if e := emojiLike.FindStringIndex(s); e != nil {
			found = append(found, s[e[0]:])
		}
	}
	if run != "" {
		found = append(found, run)
	}
	return found
}

var (
	southeastAsian = regexp.MustCompile(`^[\x{0e00}-\x{0eff}\x{1000}-\x{109f}\x{1780}-\x{17ff}\x{1950}-\x{1aaf}\x{a9e0}-\x{a9ff}\x{aa60}-\x{aadf}\x{11700}-\x{1174f}]`)
	wordLike       = regexp.MustCompile(`[\p{L}\p{Nd}\p{Nl}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189}]`)
	emojiLike      = regexp.MustCompile(`(?s)\x{200d}*([` + pictographClass() + `]|[©®™〰〽]\x{fe0f})|[\x{1f1e6}-\x{1f1ff}].*[\x{1f1e6}-\x{1f1ff}]|[#*]\x{fe0f}?\x{20e3}`)
)

// pictographClass writes pictographs for a regular expression.
func pictographClass() string {
	var b strings.Builder
	for _, r := range pictographs.R16 {
		fmt.Fprintf(&b, `\x{%x}-\x{%x}`, r.Lo, r.Hi)
	}
	for _, r := range pictographs.R32 {
		fmt.Fprintf(&b, `\x{%x}-\x{%x}`, r.Lo, r.Hi)
	}
	return b.String()
}

func referencePiece8(piece []byte, bleve bool) []string {
	var words []string
	segments, types, _, err := segment.SegmentWordsDirect(piece, nil, nil)
	if err != nil {
		panic(err)
	}
	run := ""
	closeRun := func() {
		if run != "" {
			words, run = append(words, run), ""
		}
	}
	for i, seg := range segments {
		if types[i] != segment.None {
			closeRun()
			wordy := func(r rune) bool {
				return bleve && unicode.In(r, unicode.Pc) || !unicode.In(r, unicode.Pc, unicode.M, unicode.Cf)
			}
			if strings.ContainsFunc(string(seg), wordy) {
				words = append(words, string(seg))
			}
			continue
		}
		for _, r := range string(seg) {
			if bleve {
				break
			}
			if unicode.IsLetter(r) || run != "" && unicode.In(r, unicode.M, unicode.Cf) {
				run += string(r)
			} else {
				closeRun()
			}
		}
	}
	closeRun()
	return words
}

// uncut makes Words find words of any length.
const uncut = 1 << 30

// sameAsReference fails if Words, with a window of any of these sizes, finds other words or other
// places than referenceWords.
func sameAsReference(t *testing.T, text []byte, windows ...int) {
	t.Helper()
	for rules, piece := range referencePieces {
		want := referenceWords(text, piece)
		for variant := range impl.Each("analysis") {
			sameAsReferenceBy(t, variant, rules, text, want, windows...)
		}
	}
}

func sameAsReferenceBy(t *testing.T, variant string, rules WordRules, text []byte, want []string, windows ...int) {
	t.Helper()
	for _, window := range windows {
		var got []string
		a := New("words", Words{Rules: rules, MaxBytes: uncut, window: window})
		a.Analyze(text, func(batch []Token) {
			for _, tok := range batch {
				if tok.Position != len(got) || string(tok.Term) != string(text[tok.Start:tok.End]) {
					t.Fatalf("token %+v (%q) is not text[%d:%d] or not at position %d",
						tok, tok.Term, tok.Start, tok.End, len(got))
				}
				got = append(got, string(tok.Term))
			}
		})
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Fatalf("%s, %v, window %d, text %.200q: word %d\n got %.100q\nwant %.100q", variant, rules, window, text, i, got[min(i, len(got)):], want[min(i, len(want)):])
			}
		}
	}
}

// sameAsFields fails if Whitespace and bytes.Fields find different tokens.
func sameAsFields(t *testing.T, text []byte) {
	t.Helper()
	a := New("spaces", Whitespace{MaxBytes: uncut})
	want := bytes.Fields(text)
	for variant := range impl.Each("analysis") {
		n := 0
		a.Analyze(text, func(batch []Token) {
			for _, tok := range batch {
				if n >= len(want) || tok.Position != n || string(text[tok.Start:tok.End]) != string(want[n]) {
					t.Fatalf("%s, text %.200q: token %d is %+v (%q), want %.200q", variant, text, n, tok, tok.Term, want[min(n, len(want)):])
				}
				n++
			}
		})
		if n != len(want) {
			t.Fatalf("%s, text %.200q: %d tokens, want %d", variant, text, n, len(want))
		}
	}
}

func TestWhitespaceMatchesFields(t *testing.T) {
	for _, s := range append(hardTexts, "a\u00a0b\u2003\u3000c\u1680 \u200b \u2028\u0085d\xc2 \xe2\x80 e\xe3", "\u00a0", "\u00e0\u00a0") {
		sameAsFields(t, []byte(s))
		sameAsFields(t, []byte(strings.Repeat(s, 70)))
	}
	for _, s := range gutenberg(t, 1<<20) {
		sameAsFields(t, []byte(s))
	}
}

// FuzzWhitespace compares Whitespace with bytes.Fields, at each offset within 64 characters.
func FuzzWhitespace(f *testing.F) {
	for _, s := range hardTexts {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, shift uint8) {
		sameAsFields(t, append(bytes.Repeat([]byte("ab "), int(shift)%64), text...))
	})
}

// hardTexts are texts with difficult boundaries. They also seed the fuzz targets.
var hardTexts = []string{
	"", " ", "a", "can't stop", "3.14 and 1,000.5 or 1.000,5", "a.b a:b a;b a,b a..b .a. 'a' 'a 1a.1",
	"foo_bar __x__ ___ _1 a_'b _", "U.S.A. e.g. x.y.z.", "a1b2 1a2b a.1 1.a", "a\"b 1\"2 \"a\"",
	"don’t l’été ‘quoted’", "naïve a\u0301b a'\u0301b a\u0301'b \u0301abc \n\u0301abc", "a\u00adb a\u200db",
	"שלום ש\"ס ש'ס ש\"", "ประเทศไทย ภาษาไทย1ก'ข", "日本語カタカナひらがな漢字", "한국어 단어", "カ_タ ‿ a‿b ‿‿",
	"Привет, мир! Ёлка", "½ ² ① № 😀 👍🏽 🇩🇪🇫🇷 a😀b", "\x80abc\xffdef\xc3", "\xf0\x9f\x98 a\x00b", "𐐀𐐨 𝟘𝟙 𞤀𞤢",
	"é", "aé", "a'é", "a'é'b", "x:é", "1,é 1,٣", strings.Repeat("ab ", 40), strings.Repeat("я", 300),
	strings.Repeat("a", 300) + "'" + strings.Repeat("b", 300), strings.Repeat("abc'", 100) + "é",
	"#️⃣ 1️⃣*\u20e3 ❤️ ❤ ☎︎ 👨‍👩‍👧‍👦 🏴‍☠️ ‼️ ‼ 🇩🇪🇫🇷🇮 🇮 a🇩🇪 ⓐⅧ ✁\u200d✁ \u200d😀 a\u200d😀 ##\ufe0f #\ufe0f", "ภาษา៣ไทยa ลาว မြန်မာ ខ្មែរ_ไ",
	"exactly7 sevenly eightlyy abcdefg_ abcdefgé abcdefg'h abcdefgh",
}

var testWindows = []int{4, 5, 7, 16, 64, 0}

func TestWordsMatchReference(t *testing.T) {
	for _, s := range hardTexts {
		sameAsReference(t, []byte(s), testWindows...)
		for shift := range 64 {
			sameAsReference(t, []byte(strings.Repeat("-", shift)+s), 0)
		}
	}
}

// TestEveryRune puts each rune where it could join, separate or start words.
func TestEveryRune(t *testing.T) {
	for from := rune(0); from <= unicode.MaxRune; from += 4096 {
		step := rune(1)
		if plane := from >> 16; plane >= 4 && plane != 14 { // Unicode assigns none of its runes
			step = 61
		} else if testing.Short() {
			step = 7
		}
		var text []byte
		for r := from; r < from+4096; r += step {
			if utf8.ValidRune(r) {
				text = fmt.Appendf(text, "a%cb %c 1%c2 ", r, r, r)
			}
		}
		sameAsReference(t, text, 0)
	}
}

func TestWordsMatchReferenceOnProse(t *testing.T) {
	for _, s := range gutenberg(t, 1<<20) {
		sameAsReference(t, []byte(s), 0)
	}
}

// FuzzASCIIWords compares the ASCII paths with the segmenter.
func FuzzASCIIWords(f *testing.F) {
	for _, s := range hardTexts {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		ascii := bytes.Clone(text)
		for i := range ascii {
			ascii[i] &= 0x7f
		}
		sameAsReference(t, ascii, 0)
	})
}

// FuzzWords compares Words with the segmenter, for arbitrary bytes and for windows so small that
// every word straddles one.
func FuzzWords(f *testing.F) {
	for _, s := range hardTexts {
		f.Add([]byte(s), uint8(5))
	}
	f.Fuzz(func(t *testing.T, text []byte, window uint8) {
		sameAsReference(t, text, 4+int(window), 0)
		sameAsReference(t, append(bytes.Repeat([]byte("ab "), int(window)%64), text...), 0)
	})
}
