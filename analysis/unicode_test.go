package analysis

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// TestWordBreakTest runs Unicode's own tests of word breaks: the words are the segments that hold a
// letter, a digit or an emoji.
func TestWordBreakTest(t *testing.T) {
	f, err := os.Open("testdata/unicode/WordBreakTest-15.0.0.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	newest, first := New("newest", Words{}), New("first", Words{Rules: WordsUnicode8})
	lines, differ := 0, 0
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if strings.HasPrefix(sc.Text(), "#") {
			continue
		}
		lines++
		text, want := breakTest(t, sc.Text())
		if got := Terms(newest, text); !slices.Equal(got, want) {
			t.Errorf("%s\n got %+q\nwant %+q", sc.Text(), got, want)
		}
		if !slices.Equal(Terms(first, text), want) {
			differ++
		}
	}
	if lines != 1823 {
		t.Errorf("%d lines, want 1823", lines)
	}
	if differ != 132 {
		t.Errorf("WordsUnicode8 differs on %d lines, want 132: those rules must never change", differ)
	}
}

// breakTest reads a line of the test: code points in hexadecimal between × (no break) and ÷.
func breakTest(t *testing.T, line string) (text string, words []string) {
	flags := 0
	word := false
	segment := ""
	for _, field := range strings.Fields(line) {
		switch field {
		case "×":
			continue
		case "÷":
			if word || flags >= 2 {
				words = append(words, segment)
			}
			text, segment, word, flags = text+segment, "", false, 0
			continue
		}
		n, err := strconv.ParseUint(field, 16, 32)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		r := rune(n)
		segment += string(r)
		word = word || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(pictographs, r) && !unicode.Is(unicode.Sk, r)
		if regionalIndicator(r) {
			flags++
		}
	}
	return text, words
}

// TestEmoji has one of each kind of emoji.
func TestEmoji(t *testing.T) {
	a := New("words", Words{Rules: WordsUnicode15})
	for _, c := range []struct{ text, want string }{
		{"I ❤️ Go 😀!", "I|❤️|Go|😀"},
		{"👍🏽 👨‍👩‍👧‍👦 🏴‍☠️ 🏴\U000e0067\U000e0062\U000e007f", "👍🏽|👨‍👩‍👧‍👦|🏴‍☠️|🏴\U000e0067\U000e0062\U000e007f"},
		{"🇩🇪🇫🇷 🇮", "🇩🇪|🇫🇷"},
		{"1️⃣ #️⃣ *⃣ # *", "1️⃣|#️⃣|*⃣"},
		{"© ® ™ ©️ ✁ ↔ → ☎", "©️|✁|↔|☎"},
		{"so😀good", "so|😀|good"},
		{"-🏽", "🏽"},
	} {
		if got := strings.Join(Terms(a, c.text), "|"); got != c.want {
			t.Errorf("%q: got %s, want %s", c.text, got, c.want)
		}
	}
}

// TestWithRules checks which analyzers follow the rules of an index.
func TestWithRules(t *testing.T) {
	const text = "go 😀"
	old := WithRules(standard, WordsUnicode8)
	if got := Terms(old, text); len(got) != 1 {
		t.Errorf("standard with the first rules finds %q", got)
	}
	if again := WithRules(standard, WordsUnicode8); again != old {
		t.Error("the same analyzer is made twice")
	}
	if old.Name() != "standard" {
		t.Errorf("its name is %q", old.Name())
	}
	for _, r := range []WordRules{AnyWords, NewestWords, endOfRules} {
		if WithRules(standard, r) != standard {
			t.Errorf("rules %v make another analyzer", r)
		}
	}
	fixed := New("fixed", Words{Rules: WordsUnicode15})
	for _, a := range []Analyzer{fixed, whitespace, keyword} {
		if WithRules(a, WordsUnicode8) != a {
			t.Errorf("%s follows the index", a.Name())
		}
	}
	for r := range endOfRules {
		var got WordRules
		if err := got.UnmarshalText([]byte(r.String())); err != nil || got != r || r.Check() != nil {
			t.Errorf("%v reads as %v, %v, %v", r, got, err, r.Check())
		}
	}
	r := WordsUnicode15
	if err := r.UnmarshalText([]byte("unicode99")); err == nil || r != WordsUnicode15 || endOfRules.Check() == nil {
		t.Error("rules of no version are read")
	}
}
