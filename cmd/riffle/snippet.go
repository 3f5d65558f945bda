package main

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/analysis"
)

// snippetBytes is about how much of a text is shown: two lines of a terminal.
const snippetBytes = 160

// snippets picks, from the stored text of a hit, the part that has most of the query's words. It
// analyses the text again, as indexing did.
type snippets struct {
	fields   []string // fields with the shown text: the searched field, or the sources of its copy
	analyzer analysis.Analyzer
	words    map[string]bool
}

// newSnippets returns the snippets of fields of a schema. The analyzer is that of the first field:
// one is enough for a snippet. Without one a text is shown from its start.
func newSnippets(schema *riffle.Schema, a analysis.Analyzer, fields []string, query string) *snippets {
	s := &snippets{analyzer: a, words: map[string]bool{}}
	for _, field := range fields {
		if from := schema.Fields[field].CopyFrom; len(from) > 0 {
			s.fields = append(s.fields, from...)
		} else {
			s.fields = append(s.fields, field)
		}
	}
	if a == nil {
		return s
	}
	analysis.AnalyzeString(a, query, func(batch []analysis.Token) {
		for _, t := range batch {
			s.words[string(t.Term)] = true
		}
	})
	return s
}

// best returns the best part of a hit's stored text on one line; empty if no text is stored.
func (s *snippets) best(fields map[string]any) string {
	var best string
	most := -1
	for _, name := range s.fields {
		if name == "title" { // titles are shown anyway
			continue
		}
		for _, text := range texts(fields[name]) {
			if start, found := s.window(text); found > most {
				best, most = cut(text, start), found
			}
		}
	}
	return best
}

// texts returns the strings of a stored field, which has one value or several.
func texts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				all = append(all, s)
			}
		}
		return all
	}
	return nil
}

// A place is the position of a query word in a text.
type place struct {
	start, end int
	word       string
}

// window returns the start of the earliest part of the text that has most different words of the
// query, and the number of these words.
func (s *snippets) window(text string) (start, most int) {
	if s.analyzer == nil {
		return 0, 0
	}
	var places []place
	analysis.AnalyzeString(s.analyzer, text, func(batch []analysis.Token) {
		for _, t := range batch {
			if s.words[string(t.Term)] {
				places = append(places, place{t.Start, t.End, string(t.Term)})
			}
		}
	})
	count := map[string]int{}
	last := 0
	for _, p := range places {
		for last < len(places) && places[last].end <= p.start+snippetBytes {
			count[places[last].word]++
			last++
		}
		if len(count) > most {
			start, most = p.start, len(count)
		}
		if count[p.word]--; count[p.word] <= 0 {
			delete(count, p.word)
		}
	}
	return start, most
}

// cut returns about snippetBytes of a text, from some words before start.
func cut(text string, start int) string {
	from := max(0, start-snippetBytes/8)
	if from > 0 {
		if space := strings.IndexAny(text[from:start], " \t\r\n"); space >= 0 {
			from += space
		} else {
			from = start
		}
	}
	out := oneLine(text[from:], snippetBytes)
	if from > 0 {
		out = "… " + out
	}
	return out
}

// oneLine returns the text on one line, with a maximum of bytes, cut between words where possible.
func oneLine(text string, most int) string {
	short := len(text) > most
	if short {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		if space := strings.LastIndexAny(text[:most], " \t\r\n"); space > most/2 {
			most = space
		}
		text = text[:most]
	}
	// Control characters are removed too, because they would garble a terminal.
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	text = strings.Join(words, " ")
	if short {
		text += " …"
	}
	return text
}
