package proximity

import (
	"slices"
)

// A sloppy phrase matches in windows of places. The place of a word is where the phrase would begin if
// that word stood right.

// appendSloppy appends the matches of a phrase with moves.
func (m *Matcher) appendSloppy(out []Interval, e *Expr, parts [][]Interval) []Interval {
	for _, p := range parts {
		if len(p) == 0 {
			return out
		}
	}
	if m.group != nil {
		return m.appendRepeated(out, e, parts)
	}
	cur := m.begin(len(parts))
	place := func(i int) int64 { return int64(parts[i][cur[i]].Start) - int64(e.Offsets[i]) }
	hi := place(0)
	for i := range parts {
		hi = max(hi, place(i))
	}
	from, some := int64(0), false // windows begin after from
	for {
		first := 0
		for i := range parts {
			if place(i) < place(first) {
				first = i
			}
		}
		lo := place(first)
		cur[first]++
		more := cur[first] < len(parts[first])
		if more && place(first) <= hi {
			continue
		}
		if !some || lo > from {
			from, some = lo, true
			if hi-lo <= int64(e.Max) {
				out = append(out, sloppyFrom(e, parts, lo, hi))
				m.trace(lo, hi)
			}
		}
		if !more {
			return out
		}
		hi = place(first)
	}
}

// sloppyFrom returns the interval of the first position of each part in a window of places.
func sloppyFrom(e *Expr, parts [][]Interval, lo, hi int64) Interval {
	v := Interval{Start: ^uint32(0), Gaps: uint32(hi - lo)}
	for i, p := range parts {
		at, _ := slices.BinarySearchFunc(p, lo+int64(e.Offsets[i]), func(v Interval, want int64) int { return int(int64(v.Start) - want) })
		v.Start, v.End = min(v.Start, p[at].Start), max(v.End, p[at].Start)
	}
	return v
}

// appendRepeated is appendSloppy for a phrase whose parts share terms. Whether a window has a match,
// with a position of its own for each part that shares terms, depends on all of them together. So
// windows are tried, from the lowest end up; each begins as late as it can.
func (m *Matcher) appendRepeated(out []Interval, e *Expr, parts [][]Interval) []Interval {
	m.places = m.places[:0]
	for i, p := range parts {
		for _, v := range p {
			m.places = append(m.places, int64(v.Start)-int64(e.Offsets[i]))
		}
	}
	slices.Sort(m.places)
	places := slices.Compact(m.places)
	lo := 0
	for i, hi := range places {
		if !m.fits(e, parts, places[lo], hi) {
			continue
		}
		for lo < i && m.fits(e, parts, places[lo+1], hi) {
			lo++
		}
		if hi-places[lo] <= int64(e.Max) {
			out = append(out, sloppyFrom(e, parts, places[lo], hi))
			m.trace(places[lo], hi)
		}
		if lo++; lo == len(places) {
			return out
		}
	}
	return out
}

// fits reports whether all parts have positions in a window of places, different ones where they share
// terms.
func (m *Matcher) fits(e *Expr, parts [][]Interval, lo, hi int64) bool {
	if m.owner == nil {
		m.owner = map[int64]int{}
	}
	clear(m.owner)
	for len(m.slots) < len(parts) {
		m.slots = append(m.slots, nil)
	}
	for i, p := range parts {
		s := m.slots[i][:0]
		for _, v := range p {
			if place := int64(v.Start) - int64(e.Offsets[i]); place >= lo && place <= hi {
				s = append(s, int64(v.Start))
			}
		}
		if m.slots[i] = s; len(s) == 0 {
			return false
		}
	}
	for i, g := range m.group {
		if g >= 0 && !m.assign(i, map[int64]bool{}) {
			return false
		}
	}
	return true
}

// assign gives part i a position that no other part of its group has. It moves others if it must: that
// is an augmenting path of a bipartite matching.
func (m *Matcher) assign(i int, tried map[int64]bool) bool {
	for _, p := range m.slots[i] {
		key := p*MaxParts + int64(m.group[i])
		if tried[key] {
			continue
		}
		tried[key] = true
		if other, ok := m.owner[key]; !ok || m.assign(other, tried) {
			m.owner[key] = i
			return true
		}
	}
	return false
}
