package bleve

import (
	"cmp"
	"html"
	"slices"
	"strings"
	"unicode/utf8"
)

// fragmentSize is how many characters a fragment has at most.
const fragmentSize = 200

// A style says how matches are marked.
type style struct {
	before, after string
	escape        func(string) string
}

var styles = map[string]style{
	"html": {"<mark>", "</mark>", html.EscapeString},
	"ansi": {"\x1b[43m", "\x1b[0m", func(s string) string { return s }},
}

// A span is a place that is marked.
type span struct {
	places     []uint64
	start, end int
}

// A fragment is a part of a text, with places that are marked.
type fragment struct {
	value      *value
	start, end int
	score      int // different terms in it
}

// fragmentOf returns the best fragment of a field, marked, as bleve's highlighter makes it: the one with
// the most different terms of the query, with as much text before the first as behind the last. Without
// matches it is the beginning of the first value. A field without stored texts has none.
func (d *located) fragmentOf(field string, terms map[string][]Location, how style) (_ string, ok bool) {
	var spans []span
	for _, locations := range terms {
		for _, l := range locations {
			spans = append(spans, span{l.ArrayPositions, l.Start, l.End})
		}
	}
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(slices.Compare(a.places, b.places), cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	var found fragmentHeap
	for _, v := range d.values {
		if v.field != field || v.kind != textValue || !v.stored {
			continue
		}
		var here []span
		for _, s := range spans {
			if slices.Equal(s.places, v.places) {
				here = append(here, s)
			}
		}
		for _, f := range fragments(v.text, here) {
			f.value = v
			for _, locations := range terms {
				if slices.ContainsFunc(locations, func(l Location) bool {
					return slices.Equal(l.ArrayPositions, v.places) && l.Start >= f.start && l.End <= f.end
				}) {
					f.score++
				}
			}
			found.push(f)
		}
	}
	if len(found) == 0 {
		return "", false
	}
	return found.best().marked(merged(spans), how), true
}

// fragments returns a fragment for each place, each with the text around it, and the beginning of a
// text without places.
func fragments(text string, spans []span) (out []fragment) {
	if len(spans) == 0 {
		end, used := 0, 0
		for end < len(text) && used < fragmentSize {
			r, size := utf8.DecodeRuneInString(text[end:])
			if r == utf8.RuneError {
				break
			}
			end, used = end+size, used+1
		}
		return []fragment{{end: end}}
	}
	least := 0 // where fragments begin at the earliest: behind the place before
	for i, s := range spans {
		if f, ok := around(text, spans[i:], least); ok {
			out = append(out, f)
			least = s.end
		}
	}
	return out
}

// around returns the fragment that begins with the first of some places, moved so that these are in
// its middle.
func around(text string, spans []span, least int) (f fragment, ok bool) {
	start, end, used := spans[0].start, spans[0].start, 0
	if start > len(text) {
		return f, false
	}
	for end < len(text) && used < fragmentSize {
		r, size := utf8.DecodeRuneInString(text[end:])
		if r == utf8.RuneError {
			return f, false
		}
		end, used = end+size, used+1
	}
	for start > 0 && used < fragmentSize {
		r, size := utf8.DecodeLastRuneInString(text[:start])
		if r == utf8.RuneError {
			return f, false
		}
		if start-size < least {
			break
		}
		start, used = start-size, used+1
	}
	last := end // the end of the last place in the fragment
	for _, s := range spans {
		if s.end > end {
			break
		}
		last = s.end
	}
	room := 0
	if last <= end {
		room = utf8.RuneCountInString(text[last:end])
	}
	if start >= least {
		room = min(room, utf8.RuneCountInString(text[least:start]))
	} else {
		room = 0
	}
	for range room / 2 {
		r, size := utf8.DecodeLastRuneInString(text[:start])
		if r == utf8.RuneError {
			return f, false
		}
		start -= size
		if r, size = utf8.DecodeLastRuneInString(text[:end]); r == utf8.RuneError {
			return f, false
		}
		end -= size
	}
	return fragment{start: start, end: end}, true
}

// merged joins places that overlap.
func merged(spans []span) (out []span) {
	for _, s := range spans {
		if n := len(out); n > 0 && slices.Equal(out[n-1].places, s.places) && s.start < out[n-1].end {
			out[n-1].end = s.end
			continue
		}
		out = append(out, s)
	}
	return out
}

// marked returns a fragment with its places marked, and dots where it is cut.
func (f fragment) marked(spans []span, how style) string {
	var b strings.Builder
	if f.start != 0 {
		b.WriteString("…")
	}
	text, at := f.value.text, f.start
	for _, s := range spans {
		if !slices.Equal(s.places, f.value.places) || s.start < at {
			continue
		}
		if s.end > f.end {
			break
		}
		b.WriteString(how.escape(text[at:s.start]))
		b.WriteString(how.before + how.escape(text[s.start:s.end]) + how.after)
		at = s.end
	}
	b.WriteString(how.escape(text[at:f.end]))
	if f.end != len(text) {
		b.WriteString("…")
	}
	return b.String()
}

// A fragmentHeap finds the best of its fragments. Of several with the best score it finds the one that
// bleve finds: that depends on how the standard library's container/heap moves them.
type fragmentHeap []fragment

func (h *fragmentHeap) push(f fragment) {
	*h = append(*h, f)
	for i := len(*h) - 1; i > 0; {
		parent := (i - 1) / 2
		if (*h)[i].score <= (*h)[parent].score {
			break
		}
		(*h)[i], (*h)[parent] = (*h)[parent], (*h)[i]
		i = parent
	}
}

func (h fragmentHeap) best() fragment { return h[0] }
