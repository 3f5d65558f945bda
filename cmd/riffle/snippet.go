package main

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/riffle-search/riffle"
)

// snippetSize is how many characters of a text are shown: two lines of a terminal.
const snippetSize = 160

// A snippets picks what is shown below a hit.
type snippets struct {
	fields []string        // those that are searched, or the sources of a copy
	hidden map[string]bool // the title, which is shown anyway, and other fields of filters
	markup riffle.Markup
}

func newSnippets(schema *riffle.Schema, searched, filters []string, m riffle.Markup) *snippets {
	s := &snippets{hidden: map[string]bool{"title": true}, markup: m}
	for _, name := range searched {
		if from := schema.Fields[name].CopyFrom; len(from) > 0 {
			s.fields = append(s.fields, from...)
		} else {
			s.fields = append(s.fields, name)
		}
	}
	for _, name := range filters {
		if !slices.Contains(s.fields, name) {
			s.hidden[name] = true
		}
	}
	return s
}

// best returns the best fragment of a hit on one line, preferably of a field that is searched; empty if
// there is none.
func (s *snippets) best(fragments map[string][]riffle.Fragment) string {
	best := s.of(fragments, s.fields)
	if best == nil || best.Score == 0 {
		if other := s.of(fragments, slices.Sorted(maps.Keys(fragments))); other != nil && other.Score > 0 {
			best = other
		}
	}
	if best == nil {
		return ""
	}
	return strings.Join(strings.Fields(best.Format(s.markup)), " ")
}

// of returns the best fragment of some fields, the first of equal ones.
func (s *snippets) of(fragments map[string][]riffle.Fragment, fields []string) (best *riffle.Fragment) {
	for _, field := range fields {
		if s.hidden[field] {
			continue
		}
		for i := range fragments[field] {
			if f := &fragments[field][i]; best == nil || f.Score > best.Score {
				best = f
			}
		}
	}
	return best
}

// markup marks matches for a terminal.
func markup(terminal bool) riffle.Markup {
	if terminal {
		return riffle.ANSI("\x1b[1m", "\x1b[0m")
	}
	return riffle.ANSI("", "")
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
