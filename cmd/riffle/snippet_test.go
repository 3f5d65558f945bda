package main

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/analysis"
)

func TestSnippetHoldsTheWords(t *testing.T) {
	padding := strings.Repeat("nothing to see here ", 40)
	text := padding + "whale, alone. " + padding + "the white whale swims before me\nas the monomaniac. " + padding
	s := newSnippets(new(riffle.Schema), analysis.English(), []string{"text"}, "white whales swimming")
	got := s.best(map[string]any{"text": text})
	if !strings.Contains(got, "white whale swims before me as") {
		t.Errorf("not the best part: %s", got)
	}
	if !strings.HasPrefix(got, "… ") || !strings.HasSuffix(got, " …") || len(got) > snippetBytes+2*len("… ") {
		t.Errorf("a bad cut: %s", got)
	}
}

func TestSnippetOfACopy(t *testing.T) {
	schema := &riffle.Schema{Fields: map[string]riffle.Field{"body": {CopyFrom: []string{"title", "text", "notes"}}}}
	s := newSnippets(schema, analysis.Standard(), []string{"body"}, "whale")
	if got := s.best(map[string]any{"title": "whale", "text": "nothing", "notes": "a whale"}); got != "a whale" {
		t.Errorf("got %q", got)
	}
	if got := s.best(map[string]any{"title": "whale", "n": int64(1)}); got != "" {
		t.Errorf("got %q where no text is stored", got)
	}
}

// FuzzSnippet: any text gives valid UTF-8 on one line of bounded length.
func FuzzSnippet(f *testing.F) {
	f.Add("white whale", "the \x1b[31mwhite\r\nwhale", 3)
	f.Add("日本", strings.Repeat("日本語 ", 100), 100)
	f.Add("x", strings.Repeat("\u00e9", 200), 199)
	f.Fuzz(func(t *testing.T, query, text string, most int) {
		s := newSnippets(new(riffle.Schema), analysis.Standard(), []string{"text"}, query)
		checkLine(t, s.best(map[string]any{"text": text}), text, snippetBytes)
		if most >= 0 && most < 1<<20 {
			checkLine(t, oneLine(text, most), text, most)
		}
	})
}

func checkLine(t *testing.T, line, text string, most int) {
	if strings.ContainsFunc(line, unicode.IsControl) {
		t.Errorf("control characters in %q", line)
	}
	if utf8.ValidString(text) && !utf8.ValidString(line) {
		t.Errorf("%q is cut within a character", line)
	}
	if len(line) > most+2*len("… ") {
		t.Errorf("%d bytes, %d asked for", len(line), most)
	}
}
