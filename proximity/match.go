package proximity

import (
	"cmp"
	"slices"
)

// One is a frequency of 1.
const One = 1 << 16

// Share is what a match with some gaps counts, in units of 1/One: 1/(1+gaps), rounded, and at least
// one unit.
func Share(gaps uint32) uint64 {
	d := 1 + uint64(gaps)
	return max(1, (One+d/2)/d)
}

// An Interval is a match: positions Start to End of a document, both included.
type Interval struct {
	Start, End uint32
	Gaps       uint32
}

func (v Interval) width() uint32 { return v.End - v.Start + 1 }

// A Matcher finds the matches of an expression in one document after the other. It reuses its memory.
// One goroutine at a time uses it.
type Matcher struct {
	expr  *Expr
	nodes []node // by order of a walk through the expression
	at    int    // next node of the walk
	group []int  // Expr.groups of a sloppy phrase

	cur    []int // scratch: the current match of each part
	places []int64

	// Of appendRepeated.
	slots   []slot
	choices [][]int // of each part: the different positions that it may have
	owners  []int   // of each such position: the part that has it, or -1
	tried   []int   // the last part that sought it, or -1

	tracing bool     // Words needs windows
	windows []window // of the matches, if the expression is a sloppy phrase or Near
}

// A node holds the matches of one part of the expression.
type node struct {
	matches []Interval
	wanted  []bool // those that take part in a match of the expression, for Words
}

// Reset makes the matcher one of an expression, which must be valid (Expr.Check).
func (m *Matcher) Reset(e *Expr) {
	m.expr, m.group = e, nil
	if e.Op == Phrase && e.Max > 0 {
		m.group = e.groups()
	}
}

// Forget drops references to the expression.
func (m *Matcher) Forget() { m.expr = nil }

// Freq returns the frequency of the expression in a document, in units of 1/One, given the positions of
// each term, rising. Equal positions of a term count once. It is 0 if nothing matches.
func (m *Matcher) Freq(positions [][]uint32) (freq uint64) {
	for _, v := range m.Matches(positions) {
		freq += Share(v.Gaps)
	}
	return freq
}

// Matches returns the matches of the expression in a document, rising in both Start and End; those of a
// sloppy phrase or of Near rise in another order. They are valid until the next call.
func (m *Matcher) Matches(positions [][]uint32) []Interval {
	m.at = 0
	return m.eval(m.expr, positions)
}

func (m *Matcher) eval(e *Expr, positions [][]uint32) []Interval {
	own := m.at
	if m.at++; own == len(m.nodes) {
		m.nodes = append(m.nodes, node{})
	}
	out := m.nodes[own].matches[:0]
	if e.Op == Word {
		out = appendWord(out, e.Terms, positions)
		m.nodes[own].matches = out
		return out
	}
	parts := make([][]Interval, 0, 8)
	for i := range e.Parts {
		parts = append(parts, m.eval(&e.Parts[i], positions))
	}
	switch e.Op {
	case Phrase:
		if e.Max == 0 {
			out = appendPhrase(out, e.Offsets, parts)
		} else {
			out = m.appendSloppy(out, e, parts)
		}
	case Ordered:
		out = m.appendOrdered(out, parts, e.Max)
	case Unordered:
		out = m.appendUnordered(out, e, parts)
	case Near:
		out = m.appendNear(out, parts, e.Max)
	case Any:
		out = appendAny(out, parts)
	case Repeat:
		out = appendRepeat(out, parts[0], e.Max)
	case Containing, NotContaining:
		out = appendContaining(out, parts[0], parts[1], e.Op == Containing)
	case ContainedBy:
		out = appendContained(out, parts[0], parts[1])
	case First:
		for _, v := range parts[0] {
			if int(v.End) < e.Max {
				out = append(out, v)
			}
		}
	}
	m.nodes[own].matches = out
	return out
}

func appendWord(out []Interval, terms []int, positions [][]uint32) []Interval {
	for _, t := range terms {
		for _, p := range positions[t] {
			out = append(out, Interval{Start: p, End: p})
		}
	}
	if len(terms) > 1 {
		slices.SortFunc(out, func(a, b Interval) int { return cmp.Compare(a.Start, b.Start) })
	}
	return slices.Compact(out)
}

// appendPhrase appends the places at which all parts stand at their offsets.
func appendPhrase(out []Interval, offsets []uint32, parts [][]Interval) []Interval {
	length := offsets[len(offsets)-1]
next:
	for _, v := range parts[0] {
		for i, p := range parts[1:] {
			want := v.Start + offsets[i+1]
			j := 0
			for j < len(p) && p[j].Start < want {
				j++
			}
			parts[i+1] = p[j:]
			if j == len(p) {
				return out
			}
			if p[j].Start != want {
				continue next
			}
		}
		out = append(out, Interval{Start: v.Start, End: v.Start + length})
	}
	return out
}

// appendOrdered appends the minimal intervals of the parts in order. For each match of the first part,
// the others follow as early as possible. If a later match of the first leads to the same end, the
// earlier one is not minimal.
func (m *Matcher) appendOrdered(out []Interval, parts [][]Interval, most int) []Interval {
	cur := m.begin(len(parts))
	last := Interval{}
	some := false
	ownGaps := 0
	flush := func() {
		if some && ownGaps <= most {
			out = append(out, last)
		}
	}
	for _, first := range parts[0] {
		end, words, inner := first.End, first.width(), first.Gaps
		for i, p := range parts[1:] {
			at := &cur[i+1]
			for *at < len(p) && p[*at].Start <= end {
				*at++
			}
			if *at == len(p) {
				flush()
				return out
			}
			v := p[*at]
			end, words, inner = v.End, words+v.width(), inner+v.Gaps
		}
		if some && end != last.End {
			flush()
		}
		own := end - first.Start + 1 - words
		last, some, ownGaps = Interval{first.Start, end, own + inner}, true, int(own)
	}
	flush()
	return out
}

// begin returns scratch for the current match of each part.
func (m *Matcher) begin(parts int) []int {
	m.cur = slices.Grow(m.cur[:0], parts)[:parts]
	clear(m.cur)
	return m.cur
}

// appendUnordered appends the minimal intervals that contain a match of each part.
func (m *Matcher) appendUnordered(out []Interval, e *Expr, parts [][]Interval) []Interval {
	cur := m.begin(len(parts))
	end := uint32(0)
	for _, p := range parts {
		if len(p) == 0 {
			return out
		}
		end = max(end, p[0].End)
	}
	for from := uint32(0); ; { // no earlier interval begins at from or later
		first := 0
		for i, p := range parts {
			if p[cur[i]].Start < parts[first][cur[first]].Start {
				first = i
			}
		}
		start := parts[first][cur[first]].Start
		cur[first]++
		more := cur[first] < len(parts[first])
		if more && parts[first][cur[first]].End <= end {
			continue // the interval without this match is smaller
		}
		if start >= from {
			from = start + 1
			v, own := unorderedFrom(e, parts, cur, start, end)
			if own <= e.Max {
				out = append(out, v)
			}
		}
		if !more {
			return out
		}
		end = parts[first][cur[first]].End
	}
}

// unorderedFrom returns the interval from start to end of the first matches of all parts in it, and
// its own gaps. These matches are at cur or before. The gaps of a Repeat are its own as well: it stands
// for equal parts.
func unorderedFrom(e *Expr, parts [][]Interval, cur []int, start, end uint32) (v Interval, own int) {
	words, inner := uint32(0), uint32(0)
	for i, p := range parts {
		at := min(cur[i], len(p)-1)
		for at > 0 && p[at-1].Start >= start {
			at--
		}
		if e.Parts[i].Op == Repeat {
			words += p[at].width() - min(p[at].width(), p[at].Gaps)
			continue
		}
		words += p[at].width()
		inner += p[at].Gaps
	}
	gaps := end - start + 1
	gaps -= min(gaps, words)
	return Interval{start, end, gaps + inner}, int(gaps)
}

// appendNear appends the windows of Near. A window reaches from the first end of a part to the last
// beginning of one, and no other one lies inside it.
func (m *Matcher) appendNear(out []Interval, parts [][]Interval, most int) []Interval {
	cur := m.begin(len(parts))
	last := uint32(0)
	for _, p := range parts {
		if len(p) == 0 {
			return out
		}
		last = max(last, p[0].Start)
	}
	for from := uint32(0); ; {
		first := 0
		for i, p := range parts {
			if p[cur[i]].End < parts[first][cur[first]].End {
				first = i
			}
		}
		end := parts[first][cur[first]].End
		cur[first]++
		more := cur[first] < len(parts[first])
		if more && parts[first][cur[first]].Start <= last {
			continue
		}
		if end >= from {
			from = end + 1
			if int64(last)-int64(end)-1 <= int64(most) {
				out = append(out, nearFrom(parts, cur, end))
				m.trace(int64(end), int64(last))
			}
		}
		if !more {
			return out
		}
		last = parts[first][cur[first]].Start
	}
}

// nearFrom returns the interval of the first matches of all parts that end at end or later. They are at
// cur or before.
func nearFrom(parts [][]Interval, cur []int, end uint32) Interval {
	v, words := Interval{Start: ^uint32(0)}, uint32(0)
	for i, p := range parts {
		at := min(cur[i], len(p)-1)
		for at > 0 && p[at-1].End >= end {
			at--
		}
		v.Start, v.End = min(v.Start, p[at].Start), max(v.End, p[at].End)
		words += p[at].width()
	}
	v.Gaps = v.width() - min(v.width(), words)
	return v
}

// appendAny appends the matches of all parts that contain no other one. Of equal ones, that with the
// fewest gaps counts.
func appendAny(out []Interval, parts [][]Interval) []Interval {
	for _, p := range parts {
		out = append(out, p...)
	}
	slices.SortFunc(out, func(a, b Interval) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), cmp.Compare(b.Gaps, a.Gaps))
	})
	kept := len(out)
	for i := len(out) - 1; i >= 0; i-- {
		if kept == len(out) || out[i].End < out[kept].End {
			kept--
			out[kept] = out[i]
		}
	}
	return append(out[:0], out[kept:]...)
}

// appendRepeat appends the intervals of n successive matches.
func appendRepeat(out, part []Interval, n int) []Interval {
	for i := 0; i+n <= len(part); i++ {
		v := Interval{Start: part[i].Start, End: part[i+n-1].End}
		words, inner := uint32(0), uint32(0)
		for _, p := range part[i : i+n] {
			words, inner = words+p.width(), inner+p.Gaps
		}
		v.Gaps = v.width() - min(v.width(), words) + inner
		out = append(out, v)
	}
	return out
}

// appendContaining appends the matches of big that contain a match of small, or those that do not.
func appendContaining(out, big, small []Interval, wanted bool) []Interval {
	at := 0
	for _, v := range big {
		for at < len(small) && small[at].Start < v.Start {
			at++
		}
		if (at < len(small) && small[at].End <= v.End) == wanted {
			out = append(out, v)
		}
	}
	return out
}

// appendContained appends the matches of small that a match of big contains.
func appendContained(out, small, big []Interval) []Interval {
	at := 0
	for _, v := range small {
		for at < len(big) && big[at].End < v.End {
			at++
		}
		if at < len(big) && big[at].Start <= v.Start {
			out = append(out, v)
		}
	}
	return out
}
