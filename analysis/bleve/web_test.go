package bleve

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// webPattern is what web keeps whole: addresses of mail, of the web, names and tags, by the
// expressions of bleve. It is the oracle of findWeb.
var webPattern = sync.OnceValue(func() *regexp.Regexp {
	const (
		local = "[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
		label = `[a-z0-9](?:[a-z0-9-]*[a-z0-9])?`
		octet = `25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?`
		round = `\(([^\s()<>]+|(\([^\s()<>]+\)))*\)`
	)
	mail := `(?:` + local + `(?:\.` + local + `)*|"(?:[\x01-\x08\x0b\x0c\x0e-\x1f\x21\x23-\x5b\x5d-\x7f]|\\[\x01-\x09\x0b\x0c\x0e-\x7f])*")` +
		`@(?:(?:` + label + `\.)+` + label + `|\[(?:(?:` + octet + `)\.){3}(?:` + octet + `|[a-z0-9-]*[a-z0-9]:(?:[\x01-\x08\x0b\x0c\x0e-\x1f\x21-\x5a\x53-\x7f]|\\[\x01-\x09\x0b\x0c\x0e-\x7f])+)\])`
	web := `(?i)\b((?:[a-z][\w-]+:(?:/{1,3}|[a-z0-9%])|www\d{0,3}[.]|[a-z0-9.\-]+[.][a-z]{2,4}/)` +
		`(?:[^\s()<>]+|` + round + `)+(?:` + round + "|[^\\s`!()\\[\\]{};:'\".,<>?«»“”‘’]))"
	return regexp.MustCompile(mail + `|` + web + `|@([a-zA-Z0-9_]){1,15}|#([a-zA-Z0-9_])+`)
})

func sameAsPattern(t *testing.T, text string) (matches int) {
	t.Helper()
	var got [][]int
	findWeb([]byte(text), func(start, end int) { got = append(got, []int{start, end}) })
	want := webPattern().FindAllStringIndex(text, -1)
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Fatalf("%q: found at %v, bleve's expression matches at %v", text, got, want)
	}
	return len(want)
}

// TestWeb compares findWeb with bleve's expression, on addresses and on their parts at random.
func TestWeb(t *testing.T) {
	for _, text := range []string{
		"", "a@b.c", "a.b@c-d.ef-.g", ".a@b.c", "a..b@c.d", "a@b", "a@b.c.", `"a b"@c.d`, `"a\ b"@c.d`, `"\"@c.d`, `"a"b"@c.d`,
		"x@[1.2.3.4]", "x@[1.2.3.256]", "x@[255.249.199.a-b:c]]d]", "x@[1.2.3.-:c]", "x@[1.2.3.a:]", `x@[1.2.3.a:\ ]`, "x@[01.002.3.4]",
		"http://a.b/c?d", "http:///x", "http:////", "http:x", "http:xy", "a:bc", "ab:c", "ab:cd", "ab:(c)d", "ab:%(c)", "ab:c(d)", "(ab:cd)",
		"www.a", "www1.ab", "www123.ab", "www1234.ab", "WWW.A/b", "foo.co/x", "foo.co/xy", ".co/xyz", "foo.c/xyz", "foo.infos/xyz",
		"foo.co/a(b)c", "foo.co/a(b(c)d)e", "foo.co/a(b(c(d)))e", "foo.co/a(b", "foo.co/x.,!", "foo.co/x«y»", "\u017foo.co/xy", "foo.\u212ao/xy",
		"@user", "@0123456789abcdefg", "@\u017f", "#tag", "#a#b", "#foo.co/xy", "#a@b.c", "##", "a#b", "mail:a@b.c", "x\xffy.co/ab\xff", "\xe2\x80",
	} {
		sameAsPattern(t, text)
	}
	parts := strings.Split("a|b|ab|w|www|0|25|256|.|.|.|@|@|#|:|:|/|/|//|-|_|(|)|(|)|<|>| |\"|\"|\\|\\ |[|]|,|!|com|.co/|http:|%|é|«|”|\u017f|\u212a|\t|\n|\v|\x00|\x7f|\xff|A|Z|'|=|x@[1.2.3.|a:", "|")
	rng := rand.New(rand.NewPCG(12, 16))
	matches, rounds := 0, 20_000
	if testing.Short() {
		rounds = 5_000
	}
	for range rounds {
		var b strings.Builder
		for range 1 + rng.IntN(24) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		matches += sameAsPattern(t, b.String())
	}
	if matches < rounds/4 {
		t.Errorf("only %d matches in %d texts", matches, rounds)
	}
}

// FuzzWeb is TestWeb for any text.
func FuzzWeb(f *testing.F) {
	f.Add("mail me@example.com or http://x.org/a(b)c now #Tag @you www.x.y")
	f.Add(`"a\ b"@[1.2.3.tag:x\]] #foo.co/xyz`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 1<<10 {
			sameAsPattern(t, text)
		}
	})
}

// BenchmarkWeb finds addresses in texts of a kilobyte: in words without any, and in texts that take
// bleve's expression quadratic time.
func BenchmarkWeb(b *testing.B) {
	for _, c := range []struct{ name, part string }{
		{"words", "the quick brown fox, "}, {"addresses", "mail me@example.com or see http://x.org/a(b)c "},
		{"tags", "#a"}, {"quotes", `\"a@b.c,`}, {"rounds", "a.co/(b(c)"}, {"hosts", "a.b-"},
	} {
		text := []byte(strings.Repeat(c.part, 1024/len(c.part)))
		for _, matcher := range []struct {
			name string
			find func(text []byte, found func(start, end int))
		}{
			{"tables", findWeb},
			{"regexp", func(text []byte, _ func(start, end int)) { webPattern().FindAllIndex(text, -1) }},
		} {
			b.Run("text="+c.name+"/by="+matcher.name, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					matcher.find(text, func(int, int) {})
				}
			})
		}
	}
}
