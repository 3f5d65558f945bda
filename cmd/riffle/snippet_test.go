package main

import (
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/riffle-search/riffle"
)

func TestSnippets(t *testing.T) {
	schema := &riffle.Schema{Fields: map[string]riffle.Field{"body": {CopyFrom: []string{"title", "notes", "text"}}}}
	found := []riffle.Fragment{{Text: "a white\r\n\x1b[31m whale", Matches: []riffle.ByteRange{{Start: 15, End: 20}}, Score: 1, After: true}}
	lead := []riffle.Fragment{{Text: "nothing"}}
	other := []riffle.Fragment{{Text: "best", Score: 9}}
	for _, c := range []struct {
		fragments map[string][]riffle.Fragment
		terminal  bool
		want      string
	}{
		{map[string][]riffle.Fragment{"notes": lead, "text": found, "tag": other, "title": other}, false, "a white [31m whale…"},
		{map[string][]riffle.Fragment{"text": found}, true, "a white [31m \x1b[1mwhale\x1b[0m…"},
		{map[string][]riffle.Fragment{"text": lead, "tag": other, "lang": other}, false, "best"},
		{map[string][]riffle.Fragment{"text": lead, "lang": other, "title": other}, false, "nothing"},
		{map[string][]riffle.Fragment{"title": other}, false, ""},
		{nil, false, ""},
	} {
		s := newSnippets(schema, []string{"body"}, []string{"lang", "text"}, markup(c.terminal))
		if got := s.best(c.fragments); got != c.want {
			t.Errorf("%v: %q, want %q", c.fragments, got, c.want)
		}
	}
}

// FuzzOneLine: any text gives valid UTF-8 on one line of bounded length.
func FuzzOneLine(f *testing.F) {
	f.Add("the \x1b[31mwhite\r\nwhale", 3)
	f.Add("日本", 100)
	f.Add("\u00e9\u00e9\u00e9", 5)
	f.Fuzz(func(t *testing.T, text string, most int) {
		if most < 0 || most >= 1<<20 {
			t.Skip()
		}
		line := oneLine(text, most)
		for _, r := range line {
			if unicode.IsControl(r) {
				t.Errorf("control characters in %q", line)
			}
		}
		if utf8.ValidString(text) && !utf8.ValidString(line) {
			t.Errorf("%q is cut within a character", line)
		}
		if len(line) > most+len(" …") {
			t.Errorf("%d bytes, %d asked for", len(line), most)
		}
	})
}
