package main

import (
	"slices"
	"strings"

	"github.com/riffle-search/riffle"
)

// A style marks parts of the output.
type style struct{ bold, underlined, dim, off string }

var (
	plain = style{}
	ansi  = style{bold: "\x1b[1m", underlined: "\x1b[1;33m", dim: "\x1b[2m", off: "\x1b[0m"}
)

func (s style) title(text string) string { return s.bold + text + s.off }
func (s style) place(text string) string { return s.dim + text + s.off }

// snippetLines is how many lines of a text are shown.
const snippetLines = 3

// highlights asks for what a hit shows: the best part of the documentation and of the source, or their
// beginnings.
var highlights = &riffle.HighlightOptions{Fields: []string{"doc", "source"}, Lead: true}

// snippet returns the lines of the documentation with words of the query, or else of the source. Without
// any word it returns the beginning.
func snippet(fragments map[string][]riffle.Fragment, st style) (lines []string) {
	shown := slices.Concat(fragments["doc"], fragments["source"])
	for i, f := range shown {
		if f.Score > 0 {
			shown = shown[i:]
			break
		}
	}
	if len(shown) == 0 {
		return nil
	}
	text := shown[0].Format(riffle.Markup{Open: st.underlined, Close: st.off, Cut: "…"})
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" && len(lines) < snippetLines {
			lines = append(lines, strings.ReplaceAll(line, "\t", "    "))
		}
	}
	return lines
}
