package main

import (
	"strings"

	"github.com/riffle-search/riffle/analysis"
)

// A style marks parts of the output.
type style struct{ bold, underlined, dim, off string }

var (
	plain = style{}
	ansi  = style{bold: "\x1b[1m", underlined: "\x1b[1;33m", dim: "\x1b[2m", off: "\x1b[0m"}
)

func (s style) title(text string) string { return s.bold + text + s.off }
func (s style) place(text string) string { return s.dim + text + s.off }
func (s style) match(text string) string { return s.underlined + text + s.off }

// snippetLines is how many lines of a text are shown.
const snippetLines = 3

// snippets extracts the most relevant lines of texts.
type snippets struct {
	style    style
	doc, src map[string]bool // the query's terms, as each field's analyzer makes them
}

func newSnippets(query string, st style) *snippets {
	terms := func(a analysis.Analyzer) map[string]bool {
		set := map[string]bool{}
		for t := range analysis.Tokens(a, query) {
			set[string(t.Term)] = true
		}
		return set
	}
	return &snippets{style: st, doc: terms(analysis.English()), src: terms(goAnalyzer)}
}

// of returns the lines with the most different words of the query: of the documentation if it has
// any of them, otherwise of the source. Without any word it returns the beginning.
func (s *snippets) of(doc, source string) []string {
	lines, found := s.best(doc, analysis.English(), s.doc)
	if found == 0 {
		if l, n := s.best(source, goAnalyzer, s.src); n > 0 || len(lines) == 0 {
			lines = l
		}
	}
	return lines
}

// A line is a line of a text, with the query's words in it.
type line struct {
	text  string
	spans [][2]int // of matching tokens, in bytes of text, none touching, ascending
	terms map[string]bool
}

// best returns the run of lines that has the most different terms, the earliest
// of equals, and how many terms that is.
func (s *snippets) best(text string, a analysis.Analyzer, terms map[string]bool) ([]string, int) {
	lines := split(text, a, terms)
	first, most := 0, 0
	for i := range lines {
		seen := map[string]bool{}
		for _, l := range lines[i:min(i+snippetLines, len(lines))] {
			for t := range l.terms {
				seen[t] = true
			}
		}
		if len(seen) > most {
			first, most = i, len(seen)
		}
	}
	var out []string
	for _, l := range lines[first:min(first+snippetLines, len(lines))] {
		out = append(out, s.mark(l))
	}
	return out, most
}

// split cuts a text into its lines that are not blank and finds the terms in them.
// Token offsets are those of the whole text; they are made relative to the line.
func split(text string, a analysis.Analyzer, terms map[string]bool) []line {
	var lines []line
	var starts []int
	at := 0
	for t := range strings.Lines(text) {
		if body := strings.TrimRight(t, " \t\r\n"); body != "" {
			lines = append(lines, line{text: body, terms: map[string]bool{}})
			starts = append(starts, at)
		}
		at += len(t)
	}
	n := 0
	for t := range analysis.Tokens(a, text) {
		if !terms[string(t.Term)] {
			continue
		}
		for n+1 < len(lines) && starts[n+1] <= t.Start {
			n++
		}
		l := &lines[n]
		l.terms[string(t.Term)] = true
		from, to := t.Start-starts[n], t.End-starts[n]
		if last := len(l.spans) - 1; last >= 0 && from <= l.spans[last][1] {
			l.spans[last][1] = max(l.spans[last][1], to) // words of one identifier
		} else {
			l.spans = append(l.spans, [2]int{from, to})
		}
	}
	return lines
}

// mark returns a line with its matches marked and its tabs narrowed.
func (s *snippets) mark(l line) string {
	var b strings.Builder
	at := 0
	for _, sp := range l.spans {
		b.WriteString(l.text[at:sp[0]])
		b.WriteString(s.style.match(l.text[sp[0]:sp[1]]))
		at = sp[1]
	}
	b.WriteString(l.text[at:])
	return strings.ReplaceAll(b.String(), "\t", "    ")
}
