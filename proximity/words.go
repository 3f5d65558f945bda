package proximity

import (
	"cmp"
	"slices"
)

// A window is what matches of a sloppy phrase or of Near are compared by: the lowest and the highest
// place of a word, or the first end and the last beginning of a part.
type window struct{ lo, hi int64 }

// trace keeps the window of a match that was just appended.
func (m *Matcher) trace(lo, hi int64) {
	if m.tracing {
		m.windows = append(m.windows, window{lo, hi})
	}
}

// Words calls visit with the words that take part in a match of the expression in a document: those
// of all ways to make such a match from matches of its parts. Of Containing, these are the words of
// both parts; of ContainedBy and NotContaining, only those of the first. A word is a term at a position,
// and the same one may come several times.
//
// It takes time linear in the positions, times a logarithm.
func (m *Matcher) Words(positions [][]uint32, visit func(term int, position uint32)) {
	m.tracing, m.windows = true, m.windows[:0]
	m.Matches(positions)
	m.tracing = false
	for i := range m.nodes[:m.at] {
		n := &m.nodes[i]
		n.wanted = slices.Grow(n.wanted[:0], len(n.matches))[:len(n.matches)]
		clear(n.wanted)
	}
	root := &m.nodes[0]
	for i := range root.wanted {
		root.wanted[i] = true
	}
	m.visitWords(m.expr, 0, positions, visit)
}

// visitWords visits the words of the matches of a part that are wanted, and returns the number of the
// node after those of the part.
func (m *Matcher) visitWords(e *Expr, own int, positions [][]uint32, visit func(term int, position uint32)) (next int) {
	n := &m.nodes[own]
	if e.Op == Word {
		for i, v := range n.matches {
			if !n.wanted[i] {
				continue
			}
			for _, t := range e.Terms {
				if _, ok := slices.BinarySearch(positions[t], v.Start); ok {
					visit(t, v.Start)
				}
			}
		}
		return own + 1
	}
	parts := make([]*node, len(e.Parts))
	next = own + 1
	for i := range e.Parts {
		parts[i] = &m.nodes[next]
		next += e.Parts[i].nodes()
	}
	for i, v := range n.matches {
		if n.wanted[i] {
			m.wantParts(e, parts, i, v)
		}
	}
	at := own + 1
	for i := range e.Parts {
		at = m.visitWords(&e.Parts[i], at, positions, visit)
	}
	return next
}

// nodes is the number of parts of an expression, with their parts and itself.
func (e *Expr) nodes() int {
	n := 1
	for i := range e.Parts {
		n += e.Parts[i].nodes()
	}
	return n
}

// wantParts marks the matches of parts from which match v, the one with a number, can be made.
func (m *Matcher) wantParts(e *Expr, parts []*node, number int, v Interval) {
	switch e.Op {
	case Phrase:
		if e.Max > 0 && m.group != nil {
			m.wantRepeated(e, parts, m.windows[number])
			return
		}
		for i, p := range parts {
			lo, hi := int64(v.Start), int64(v.Start)
			if e.Max > 0 {
				lo, hi = m.windows[number].lo, m.windows[number].hi
			}
			p.wantWithin(lo+int64(e.Offsets[i]), hi+int64(e.Offsets[i]))
		}
	case Ordered:
		wantOrdered(parts, v)
	case Near:
		w := m.windows[number]
		for _, p := range parts {
			at, _ := slices.BinarySearchFunc(p.matches, w.lo, func(v Interval, end int64) int { return cmp.Compare(int64(v.End), end) })
			for ; at < len(p.matches) && int64(p.matches[at].Start) <= w.hi; at++ {
				p.wanted[at] = true
			}
		}
	case Unordered, Repeat:
		for _, p := range parts {
			p.wantWithin(int64(v.Start), int64(v.End))
		}
	case Any:
		for _, p := range parts {
			p.want(v)
		}
	case Containing:
		parts[0].want(v)
		parts[1].wantWithin(int64(v.Start), int64(v.End))
	case ContainedBy, NotContaining, First:
		parts[0].want(v)
	}
}

// wantRepeated is wantParts for a sloppy phrase whose parts share terms: a position counts if the
// other parts have positions in the window beside it.
func (m *Matcher) wantRepeated(e *Expr, parts []*node, w window) {
	all := make([][]Interval, len(parts))
	for i, p := range parts {
		all[i] = p.matches
	}
	for i, p := range parts {
		offset := int64(e.Offsets[i])
		for at := p.from(w.lo + offset); at < len(p.matches) && int64(p.matches[at].Start) <= w.hi+offset; at++ {
			all[i] = p.matches[at : at+1]
			if m.group[i] < 0 || m.fits(e, all, w.lo, w.hi) {
				p.wanted[at] = true
			}
		}
		all[i] = p.matches
	}
}

// from returns the number of the first match that begins at a position or later.
func (n *node) from(position int64) int {
	at, _ := slices.BinarySearchFunc(n.matches, position, func(v Interval, want int64) int { return cmp.Compare(int64(v.Start), want) })
	return at
}

// want marks the match with the ends of v, if there is one.
func (n *node) want(v Interval) {
	if at := n.from(int64(v.Start)); at < len(n.matches) && n.matches[at].Start == v.Start && n.matches[at].End == v.End {
		n.wanted[at] = true
	}
}

// wantWithin marks the matches from position lo to position hi.
func (n *node) wantWithin(lo, hi int64) {
	for at := n.from(lo); at < len(n.matches) && int64(n.matches[at].End) <= hi; at++ {
		n.wanted[at] = true
	}
}

// wantOrdered marks the matches in v that have one of each part before them, and one of each part after
// them, in order.
func wantOrdered(parts []*node, v Interval) {
	begin := make([]int64, len(parts)) // where a match of the part may begin, with all parts before it
	at := int64(v.Start)
	for i, p := range parts {
		begin[i] = at
		at = int64(p.matches[p.from(at)].End) + 1
	}
	end := int64(v.End) // where it may end, with all parts after it
	for i, p := range slices.Backward(parts) {
		p.wantWithin(begin[i], end)
		last, found := slices.BinarySearchFunc(p.matches, end, func(v Interval, want int64) int { return cmp.Compare(int64(v.End), want) })
		if !found {
			last--
		}
		end = int64(p.matches[last].Start) - 1
	}
}
