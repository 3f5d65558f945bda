package proximity

import (
	"cmp"
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
		at := seek(p, lo+int64(e.Offsets[i]))
		v.Start, v.End = min(v.Start, p[at].Start), max(v.End, p[at].Start)
	}
	return v
}

// appendRepeated is appendSloppy for a phrase whose parts share terms. Whether a window has a match,
// with a position of its own for each part that shares terms, depends on all of them together. So
// windows are tried, from the lowest end up; each begins as late as it can, and none so early that it
// has more moves than there may be.
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
		for hi-places[lo] > int64(e.Max) {
			lo++
		}
		if !m.fits(e, parts, places[lo], hi) {
			continue
		}
		for lo < i && m.fits(e, parts, places[lo+1], hi) {
			lo++
		}
		out = append(out, sloppyFrom(e, parts, places[lo], hi))
		m.trace(places[lo], hi)
		if lo++; lo == len(places) {
			return out
		}
	}
	return out
}

// fits reports whether all parts have positions in a window of places, different ones where they share
// terms.
func (m *Matcher) fits(e *Expr, parts [][]Interval, lo, hi int64) bool {
	for i, p := range parts {
		if at := seek(p, lo+int64(e.Offsets[i])); at == len(p) || int64(p[at].Start)-int64(e.Offsets[i]) > hi {
			return false
		}
	}
	// A slot is a position for the parts of a group.
	slots := m.slots[:0]
	for i, g := range m.group {
		if g < 0 {
			continue
		}
		for _, v := range parts[i][seek(parts[i], lo+int64(e.Offsets[i])):] {
			if int64(v.Start)-int64(e.Offsets[i]) > hi {
				break
			}
			slots = append(slots, slot{at: v.Start, group: g, part: i})
		}
	}
	m.slots = slots
	slices.SortFunc(slots, func(a, b slot) int { return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.at, b.at)) })
	m.owners, m.tried = m.owners[:0], m.tried[:0]
	for len(m.choices) < len(parts) {
		m.choices = append(m.choices, nil)
	}
	for i := range parts {
		m.choices[i] = m.choices[i][:0]
	}
	for i, s := range slots {
		if i == 0 || s.at != slots[i-1].at || s.group != slots[i-1].group {
			m.owners, m.tried = append(m.owners, -1), append(m.tried, -1)
		}
		m.choices[s.part] = append(m.choices[s.part], len(m.owners)-1)
	}
	for i, g := range m.group {
		if g >= 0 && !m.assign(i, i) {
			return false
		}
	}
	return true
}

// A slot is a position that a part of a group may have.
type slot struct {
	at          uint32
	group, part int
}

// seek returns the first interval that begins at a position or later.
func seek(p []Interval, position int64) int {
	at, _ := slices.BinarySearchFunc(p, position, func(v Interval, want int64) int { return cmp.Compare(int64(v.Start), want) })
	return at
}

// assign gives part i a position that no other part of its group has. It moves others if it must: that
// is an augmenting path of a bipartite matching, which the given part seeks.
func (m *Matcher) assign(i, seeker int) bool {
	for _, at := range m.choices[i] {
		if m.tried[at] == seeker {
			continue
		}
		m.tried[at] = seeker
		if other := m.owners[at]; other < 0 || m.assign(other, seeker) {
			m.owners[at] = i
			return true
		}
	}
	return false
}
