package dictionary

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"
)

// A Wildcard is a pattern in which * stands for any characters, also none, and ? for one. A
// backslash takes the special meaning from the character after it. The zero value matches the empty
// term.
type Wildcard struct {
	runs []run // what stands between the stars
}

// A run is a part of a pattern without stars: literals, each followed by some question marks.
type run []piece

// A piece is a literal, which may be empty, and the number of question marks after it.
type piece struct {
	literal []byte
	any     int
}

// ErrTrailingBackslash is the error of a wildcard whose last character is a backslash that escapes
// nothing.
var ErrTrailingBackslash = errors.New("a backslash at the end escapes nothing")

// ParseWildcard reads a pattern.
func ParseWildcard(pattern string) (*Wildcard, error) {
	w := &Wildcard{}
	var r run
	var literal []byte
	flush := func(any int) {
		switch n := len(r); {
		case len(literal) > 0 || n == 0 && any > 0:
			r = append(r, piece{literal, any})
		case n > 0:
			r[n-1].any += any
		}
		literal = nil
	}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			flush(0)
			w.runs = append(w.runs, r)
			r = nil
		case '?':
			flush(1)
		case '\\':
			if i++; i == len(pattern) {
				return nil, ErrTrailingBackslash
			}
			literal = append(literal, pattern[i])
		default:
			literal = append(literal, c)
		}
	}
	flush(0)
	w.runs = append(w.runs, r)
	return w, nil
}

// Map replaces each literal between stars and question marks.
func (w *Wildcard) Map(replace func(literal string) string) {
	for _, r := range w.runs {
		for i := range r {
			r[i].literal = []byte(replace(string(r[i].literal)))
		}
	}
}

// String returns the pattern.
func (w *Wildcard) String() string {
	var b strings.Builder
	for i, r := range w.runs {
		if i > 0 {
			b.WriteByte('*')
		}
		for _, p := range r {
			for _, c := range p.literal {
				if c == '*' || c == '?' || c == '\\' {
					b.WriteByte('\\')
				}
				b.WriteByte(c)
			}
			b.WriteString(strings.Repeat("?", p.any))
		}
	}
	return b.String()
}

// Prefix returns the literal that all matching terms begin with.
func (w *Wildcard) Prefix() []byte {
	if len(w.runs) > 0 && len(w.runs[0]) > 0 {
		return w.runs[0][0].literal
	}
	return nil
}

// Match reports whether the pattern matches a whole term.
func (w *Wildcard) Match(term []byte) bool {
	if len(w.runs) == 0 {
		return len(term) == 0
	}
	n := w.runs[0].at(term)
	if n < 0 {
		return false
	}
	if len(w.runs) == 1 {
		return n == len(term)
	}
	term = term[n:]
	last := len(w.runs) - 1
	if n = w.runs[last].atEnd(term); n < 0 {
		return false
	}
	term = term[:n]
	// The first place for each run leaves most room for those after it.
	for _, r := range w.runs[1:last] {
		if n = r.in(term); n < 0 {
			return false
		}
		term = term[n:]
	}
	return true
}

// at returns how many bytes of a text the run matches at its beginning, or -1.
func (r run) at(text []byte) int {
	n := 0
	for _, p := range r {
		if !bytes.HasPrefix(text[n:], p.literal) {
			return -1
		}
		n += len(p.literal)
		for range p.any {
			_, size := utf8.DecodeRune(text[n:])
			if size == 0 {
				return -1
			}
			n += size
		}
	}
	return n
}

// atEnd returns where the run begins that ends a text, or -1.
func (r run) atEnd(text []byte) int {
	n := len(text)
	for i := len(r) - 1; i >= 0; i-- {
		for range r[i].any {
			_, size := utf8.DecodeLastRune(text[:n])
			if size == 0 {
				return -1
			}
			n -= size
		}
		if !bytes.HasSuffix(text[:n], r[i].literal) {
			return -1
		}
		n -= len(r[i].literal)
	}
	return n
}

// in returns where the first place of the run in a text ends, or -1.
func (r run) in(text []byte) int {
	if len(r) == 0 {
		return 0
	}
	for from := 0; ; {
		next := bytes.Index(text[from:], r[0].literal) // 0 for an empty literal
		if next < 0 {
			return -1
		}
		from += next
		if n := r.at(text[from:]); n >= 0 {
			return from + n
		}
		_, size := utf8.DecodeRune(text[from:])
		if size == 0 {
			return -1
		}
		from += size
	}
}

// Find yields the numbers of the terms that match, in ascending order, until yield returns false.
//
// A pattern with a literal prefix costs its range of the dictionary. Any other one costs a scan of
// all terms: of their text for its longest literal, or else term by term (see BenchmarkFind). Where
// there are trigram indexes and a literal has three bytes, only blocks that have its trigrams are
// scanned.
func (w *Wildcard) Find(d *Dictionary, yield func(i int) bool) {
	from, to := 0, d.Len()
	prefix := w.Prefix()
	if len(prefix) > 0 {
		from, to = d.Prefix(prefix)
	}
	literal, grams := w.longest(), w.grams()
	find := func(p *page, from, to int) bool {
		if len(prefix) == 0 && len(literal) > 0 {
			return p.findLiteral(literal, from, to, func(i int) bool { return !w.Match(p.term(i)) || yield(p.first+i) })
		}
		if end := w.suffix(); end != nil {
			return p.findSuffix(end, from, to, yield)
		}
		for i := from; i < to; i++ {
			if w.Match(p.term(i)) && !yield(p.first+i) {
				return false
			}
		}
		return true
	}
	d.spans(from, to, func(p *page, from, to int) bool {
		return d.narrowed(p, grams, from, to, func(from, to int) bool { return find(p, from, to) })
	})
}

// grams is what the trigrams of a matching term are.
func (w *Wildcard) grams() *gramQuery {
	var q gramQuery
	for _, r := range w.runs {
		for _, p := range r {
			q.hasAll(p.literal)
		}
	}
	return &q
}

// suffix returns the literal of a pattern of a star and a literal, else nil.
func (w *Wildcard) suffix() []byte {
	if len(w.runs) != 2 || len(w.runs[0]) > 0 || len(w.runs[1]) != 1 || w.runs[1][0].any > 0 {
		return nil
	}
	return w.runs[1][0].literal
}

// findSuffix yields the terms of a page that end in a literal, until yield returns false, and reports
// whether it never did.
func (p *page) findSuffix(literal []byte, from, to int, yield func(i int) bool) bool {
	n, last := uint32(len(literal)), literal[len(literal)-1]
	start := p.start(from)
	for i, end := range p.ends[from:to] {
		if end-start >= n && p.text[end-1] == last && string(p.text[end-n:end]) == string(literal) && !yield(p.first+from+i) {
			return false
		}
		start = end
	}
	return true
}

// longest returns the longest literal of the pattern, unless all terms are likely to have it or it
// stands where a term ends: that is tested faster term by term.
func (w *Wildcard) longest() []byte {
	var best []byte
	for i, r := range w.runs {
		for _, p := range r {
			if i < len(w.runs)-1 && len(p.literal) > max(len(best), 1) {
				best = p.literal
			}
		}
	}
	return best
}

// findLiteral yields the places of the terms that have a literal, until yield returns false, and
// reports whether it never did.
func (p *page) findLiteral(literal []byte, from, to int, yield func(i int) bool) bool {
	at, end := int(p.start(from)), int(p.ends[to-1])
	for i := from; ; {
		next := bytes.Index(p.text[at:end], literal)
		if next < 0 {
			return true
		}
		at += next
		i = p.holding(at, i, to)
		if at+len(literal) > int(p.ends[i]) { // it begins in one term and ends in the next
			at++
			continue
		}
		if !yield(i) {
			return false
		}
		at = int(p.ends[i])
	}
}

// holding returns the place, from a known one on, of the term that holds an offset of the text.
func (p *page) holding(at, from, to int) int {
	step := 1
	for from+step < to && int(p.ends[from+step-1]) <= at {
		from += step
		step *= 2
	}
	to = min(from+step, to-1)
	for from < to {
		if mid := (from + to) / 2; int(p.ends[mid]) <= at {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return from
}
