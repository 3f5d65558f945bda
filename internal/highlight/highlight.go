package highlight

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"
)

// A Mark is a place where a word of the query is: bytes Start to End of a text. Words of the same group
// count as one word.
type Mark struct{ Start, End, Group int }

// A Text is a value of a field, with its marks by ascending Start.
type Text struct {
	Text  string
	Marks []Mark
}

// Options say how texts are cut.
type Options struct {
	Fragments int  // most fragments
	Size      int  // characters of a fragment; Whole for whole texts
	BySize    bool // not by sentences
}

// Whole is a Size: fragments are whole texts.
const Whole = -1

// A Fragment is text[Start:End] of a text. It is longer than Options.Size only if a mark is, or marks
// that overlap.
type Fragment struct {
	Text       int // number
	Start, End int
	Marked     []Range // bytes of the text that marks cover: ascending, without overlap
	Score      float64
}

// A Range is text[Start:End].
type Range struct{ Start, End int }

// Best returns the best fragments of texts that have a mark, the best first. Of equal ones the first
// comes first. Fragments do not overlap, begin and end between characters and outside of marks, and are
// never empty.
func Best(texts []Text, o Options) []Fragment {
	f := newFragmenter(texts, o)
	return f.best()
}

// Lead returns the beginning of the first text that is not blank, cut as a fragment is.
func Lead(texts []Text, o Options) (lead Fragment, ok bool) {
	for i := range texts {
		s := scanner{text: texts[i].Text}
		start := s.skipSpace(0)
		if start == len(s.text) {
			continue
		}
		if o.Size == Whole {
			return Fragment{Text: i, End: len(s.text)}, true
		}
		end, whole := s.end(start, o.Size)
		if whole && !o.BySize {
			_, end = extend(&s, o.Size, start, end, start, len(s.text))
		} else {
			end = s.wordEnd(s.forward(start, len(s.text), o.Size), s.forward(start, len(s.text), 1))
		}
		return Fragment{Text: i, Start: start, End: end}, true
	}
	return Fragment{}, false
}

// A fragmenter cuts texts.
type fragmenter struct {
	o      Options
	texts  []Text
	shares []int64 // of groups: what a word counts, were it to occur infinitely often
	cuts   []cuts  // of each text
	counts []int   // of groups; all 0 but in slide
	work   int     // bytes and marks that scanners and windows have read
}

// A unit is a part of a text that is not cut: a sentence with marks, or what of it fits a fragment; by
// size, a mark, or several that overlap.
type unit struct {
	start, end  int
	first, last int // marks: first <= number < last
	at, length  int // characters before it since the first unit, and in it
}

// A window is the successive units from one on that fit a fragment, and that no chosen fragment has.
type window struct {
	last  int // the unit behind them
	score int64
	taken bool // a chosen fragment has its first unit
}

// A choice is a window that is a fragment.
type choice struct {
	first, last int // units: first <= number < last
	start, end  int // bytes of the fragment
}

// The cuts of a text are its units, the window from each of them, and the choices in order.
type cuts struct {
	units   []unit
	windows []window
	tops    []int // of each tile of windows, the first of the best that is not taken; -1 if all are
	chosen  []choice
}

// tile is how many windows have a top. A choice looks at all tops, and at few tiles.
const tile = 256

// rank sets the tops of the tiles that have some windows.
func (c *cuts) rank(from, to int) {
	for t := from / tile; t*tile < to; t++ {
		top := -1
		for i := t * tile; i < min(t*tile+tile, len(c.windows)); i++ {
			if w := &c.windows[i]; !w.taken && (top < 0 || w.score > c.windows[top].score) {
				top = i
			}
		}
		c.tops[t] = top
	}
}

// pivot is the length of a usual sentence, in bytes: texts count as so many documents.
const pivot = 87

// One in the scores of words, and how fast a word's frequency saturates.
const (
	shareOne  = 1 << 12
	frequency = 1 << 16
	k1        = 1.2
)

func newFragmenter(texts []Text, o Options) *fragmenter {
	f := &fragmenter{o: o, texts: texts}
	var counts []int
	size := 0
	for i := range texts {
		size += len(texts[i].Text)
		for _, m := range texts[i].Marks {
			for m.Group >= len(counts) {
				counts = append(counts, 0)
			}
			counts[m.Group]++
		}
	}
	passages := 1 + float64(size)/pivot
	f.shares = make([]int64, len(counts))
	for g, n := range counts {
		f.shares[g] = int64(math.Round(shareOne * math.Log(1+(passages+0.5)/(float64(n)+0.5))))
	}
	f.counts = make([]int, len(counts))
	return f
}

// score is what a word counts that occurs n times.
func (f *fragmenter) score(group, n int) int64 {
	return f.shares[group] * int64(math.Round(frequency*float64(n)/(float64(n)+k1)))
}

func (f *fragmenter) public(score int64) float64 { return float64(score) / (shareOne * frequency) }

// best chooses windows by their score.
func (f *fragmenter) best() []Fragment {
	f.cuts = make([]cuts, len(f.texts))
	for i := range f.texts {
		t, c := &f.texts[i], &f.cuts[i]
		if t.Marks = sound(t.Text, t.Marks); len(t.Marks) == 0 {
			continue
		}
		c.units = f.units(t)
		c.windows, c.tops = make([]window, len(c.units)), make([]int, (len(c.units)+tile-1)/tile)
		f.slide(i, 0, len(c.units))
		c.rank(0, len(c.units))
	}
	var out []Fragment
	for len(out) < f.o.Fragments {
		text, first, most := 0, -1, int64(-1)
		for i := range f.cuts {
			c := &f.cuts[i]
			for _, top := range c.tops {
				if top >= 0 && c.windows[top].score > most {
					text, first, most = i, top, c.windows[top].score
				}
			}
			f.work += len(c.tops)
		}
		if first < 0 {
			break
		}
		out = append(out, f.choose(text, first))
	}
	slices.SortStableFunc(out, func(a, b Fragment) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Text, b.Text), cmp.Compare(a.Start, b.Start))
	})
	return out
}

// choose makes the fragment of a window, and shortens the windows before it that reach into it.
func (f *fragmenter) choose(text, first int) Fragment {
	c := &f.cuts[text]
	x, score := choice{first: first, last: c.windows[first].last}, c.windows[first].score
	at, _ := slices.BinarySearchFunc(c.chosen, x, func(a, b choice) int { return cmp.Compare(a.first, b.first) })
	low, from, high, to := 0, 0, len(c.units), len(f.texts[text].Text) // units and bytes that are free
	if at > 0 {
		low, from = c.chosen[at-1].last, c.chosen[at-1].end
	}
	if at < len(c.chosen) {
		high, to = c.chosen[at].first, c.chosen[at].start
	}
	if first > low {
		from = c.units[first-1].end
	}
	if x.last < high {
		to = c.units[x.last].start
	}
	x.start, x.end = f.cut(text, x, from, to)
	c.chosen = slices.Insert(c.chosen, at, x)
	for i := first; i < x.last; i++ {
		c.windows[i].taken = true
	}
	shorter := first
	for shorter > low && c.windows[shorter-1].last > first {
		shorter--
	}
	f.slide(text, shorter, first)
	c.rank(shorter, x.last)
	return Fragment{text, x.start, x.end, f.marked(text, x), f.public(score)}
}

// marked returns what the marks of a choice cover. Marks that touch become one.
func (f *fragmenter) marked(text int, x choice) (out []Range) {
	for _, u := range f.cuts[text].units[x.first:x.last] {
		for _, m := range f.texts[text].Marks[u.first:u.last] {
			if n := len(out); n > 0 && m.Start <= out[n-1].End {
				out[n-1].End = max(out[n-1].End, m.End)
			} else {
				out = append(out, Range{m.Start, m.End})
			}
		}
	}
	return out
}

// sound returns marks that are inside a text, begin and end between characters, and ascend.
func sound(text string, marks []Mark) []Mark {
	out := make([]Mark, 0, len(marks))
	for _, m := range marks {
		m.Start, m.End = boundary(text, max(m.Start, 0)), boundary(text, min(m.End, len(text)))
		if m.Start < m.End {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b Mark) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
	return out
}

// boundary returns the beginning of the character that a place is in, or the place if it is in none.
func boundary(text string, at int) int {
	for n := 1; n < utf8.UTFMax && n <= at && at < len(text); n++ {
		if utf8.RuneStart(text[at-n]) {
			if _, size := utf8.DecodeRuneInString(text[at-n:]); size > n {
				return at - n
			}
			break
		}
	}
	return at
}

// slide makes the windows from each of some units, which end before the last of these.
func (f *fragmenter) slide(text, from, to int) {
	c, marks := &f.cuts[text], f.texts[text].Marks
	score := int64(0)
	count := func(u *unit, by int) {
		f.work += u.last - u.first
		for _, m := range marks[u.first:u.last] {
			score -= f.score(m.Group, f.counts[m.Group])
			f.counts[m.Group] += by
			score += f.score(m.Group, f.counts[m.Group])
		}
	}
	last := from
	for first := from; first < to; first++ {
		for last < to && (last == first || f.fits(&c.units[first], &c.units[last])) {
			count(&c.units[last], 1)
			last++
		}
		c.windows[first].last, c.windows[first].score = last, score
		count(&c.units[first], -1)
	}
}

// fits reports whether a fragment can have two units and what is between them.
func (f *fragmenter) fits(first, last *unit) bool {
	return f.o.Size == Whole || last.at+last.length-first.at <= f.o.Size
}

// units returns the units of a text.
func (f *fragmenter) units(t *Text) (units []unit) {
	s := scanner{text: t.Text}
	end, marked := 0, 0 // of the last unit, and of its marks
	for i, m := range t.Marks {
		if n := len(units); n > 0 && m.Start < end {
			u := &units[n-1]
			if m.Start < marked || m.End <= end || utf8.RuneCountInString(t.Text[u.start:m.End]) <= f.o.Size {
				end, marked = max(end, m.End), max(marked, m.End)
				u.end, u.last = end, i+1
				continue
			}
			// A mark that goes on in the next sentence, and does not fit: the unit ends before it.
			end = s.skipSpaceBack(m.Start, marked)
			u.end = end
		}
		u := unit{start: m.Start, end: m.End, first: i, last: i + 1}
		switch {
		case f.o.Size == Whole:
			u.start, u.end = 0, len(t.Text)
		case !f.o.BySize:
			u.start, u.end = f.sentence(&s, m, end)
		}
		units = append(units, u)
		end, marked = u.end, m.End
	}
	for i := range units {
		u := &units[i]
		u.length = utf8.RuneCountInString(t.Text[u.start:u.end])
		f.work += u.end - u.start
		if i > 0 {
			before := &units[i-1]
			u.at = before.at + before.length + utf8.RuneCountInString(t.Text[before.end:u.start])
			f.work += u.start - before.end
		}
	}
	f.work += s.work
	return units
}

// sentence returns the sentence of a mark, or what of it fits a fragment. It begins at low or later.
func (f *fragmenter) sentence(s *scanner, m Mark, low int) (start, end int) {
	size := f.o.Size
	start, found := s.start(m.Start, low, size)
	if found || start <= low {
		start = min(s.skipSpace(max(start, low)), m.Start)
		left := size - utf8.RuneCountInString(s.text[start:m.End])
		if end, whole := s.end(m.End, left); whole && left >= 0 {
			return start, end
		}
	}
	// The sentence is too long. What is shown begins shortly before the mark, unless it fits from where
	// the sentence begins.
	if before := utf8.RuneCountInString(s.text[start:m.Start]); !found || before > size/2 {
		start = s.wordStart(s.back(m.Start, start, size/4), m.Start)
	}
	left := size - utf8.RuneCountInString(s.text[start:m.End])
	if end, whole := s.end(m.End, left); whole && left >= 0 {
		return start, end
	}
	return start, s.wordEnd(s.forward(m.End, len(s.text), left), m.End)
}

// cut returns the bytes of a choice: its units, and what else fits between two places.
func (f *fragmenter) cut(text int, x choice, from, to int) (start, end int) {
	units := f.cuts[text].units
	start, end = units[x.first].start, units[x.last-1].end
	if f.o.Size == Whole {
		return start, end
	}
	s := scanner{text: f.texts[text].Text}
	if f.o.BySize {
		start, end = fill(&s, f.o.Size, start, end, from, to)
	} else {
		start, end = extend(&s, f.o.Size, start, end, from, to)
	}
	f.work += s.work
	return start, end
}

// fill adds characters on both sides, as many as fit.
func fill(s *scanner, size, start, end, from, to int) (int, int) {
	left := size - utf8.RuneCountInString(s.text[start:end])
	if left <= 0 {
		return start, end
	}
	before := s.wordStart(s.back(start, from, left/2), start)
	left -= utf8.RuneCountInString(s.text[before:start])
	after := s.wordEnd(s.forward(end, to, left), end)
	if left -= utf8.RuneCountInString(s.text[end:after]); after == s.skipSpaceBack(to, end) {
		before = s.wordStart(s.back(before, from, left), before)
	}
	return before, after
}

// extend adds whole sentences, first those after the fragment, then those before it.
func extend(s *scanner, size, start, end, from, to int) (int, int) {
	left := size - utf8.RuneCountInString(s.text[start:end])
	for {
		next := s.skipSpace(end)
		if next >= to || !s.begins(next) {
			break
		}
		after, whole := s.end(next, left-utf8.RuneCountInString(s.text[end:next]))
		if !whole || after > to {
			break
		}
		left -= utf8.RuneCountInString(s.text[end:after])
		end = after
	}
	for start > from && s.begins(start) {
		last := s.skipSpaceBack(start, from)
		if last == from {
			break
		}
		_, n := utf8.DecodeLastRuneInString(s.text[:last])
		before, found := s.start(last-n, from, left)
		if !found && before > from {
			break
		}
		before = s.skipSpace(before)
		n = utf8.RuneCountInString(s.text[before:start])
		if n > left {
			break
		}
		left -= n
		start = before
	}
	return start, end
}
