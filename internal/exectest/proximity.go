package exectest

import (
	"cmp"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/proximity"
)

// The oracle of proximities: all ways to take a match of each part, those that the definition allows,
// and of these the ones that contain no other. It follows the comments on proximity.Op, and shares no
// code with proximity.Matcher.

// scoreProximity returns a document's score for a proximity, and whether it matches.
func (ix *Index) scoreProximity(p *Plan, segment int, doc uint32, x *blockmax.Proximity) (score uint32, ok bool) {
	positions := make([][]uint32, len(x.Terms))
	var term *blockmax.Term
	for i, t := range x.Terms {
		positions[i] = ix.Segments[segment].placesOf(t, doc)
		if term == nil || len(positions[i]) > 0 {
			term = &p.Segments[segment].Terms[t]
		}
	}
	freq := Frequency(x.Expr, positions)
	if freq == 0 {
		return 0, false
	}
	code, s := uint8(1), &ix.Segments[segment]
	if norms := s.Norms[s.Field[x.Terms[0]]]; norms != nil {
		code = norms[doc]
	}
	return blockmax.Contribution(x.Weight, term.Table.ImpactOf(freq, code)), true
}

// placesOf returns the positions of a term in a document.
func (s *Segment) placesOf(t int, doc uint32) []uint32 {
	if s.Places[t] == nil {
		return make([]uint32, s.Terms[t][doc])
	}
	return s.Places[t][doc]
}

// Frequency is the frequency of an expression in a document with these positions of its terms.
func Frequency(e *proximity.Expr, positions [][]uint32) (sum uint64) {
	for _, v := range Matches(e, positions) {
		sum += proximity.Share(v.Gaps)
	}
	return sum
}

// A way is a match of each part, and the span by which it is compared with others.
type way struct {
	parts      []proximity.Interval
	start, end int64 // another way is smaller if its span lies inside
	gaps       int64 // which Max limits; negative for none
}

// Matches are the matches of an expression. Those of a sloppy phrase have only gaps.
func Matches(e *proximity.Expr, positions [][]uint32) (out []proximity.Interval) {
	if e.Op == proximity.Word {
		for _, t := range e.Terms {
			for _, p := range positions[t] {
				out = append(out, proximity.Interval{Start: p, End: p})
			}
		}
		slices.SortFunc(out, byPlace)
		return slices.Compact(out)
	}
	var parts [][]proximity.Interval
	for i := range e.Parts {
		parts = append(parts, Matches(&e.Parts[i], positions))
	}
	switch e.Op {
	case proximity.Any:
		return anyOf(parts)
	case proximity.Containing, proximity.NotContaining, proximity.ContainedBy:
		for _, v := range parts[0] {
			related := slices.ContainsFunc(parts[1], func(o proximity.Interval) bool {
				if e.Op == proximity.ContainedBy {
					return o.Start <= v.Start && o.End >= v.End
				}
				return o.Start >= v.Start && o.End <= v.End
			})
			if related == (e.Op != proximity.NotContaining) {
				out = append(out, v)
			}
		}
		return out
	case proximity.First:
		for _, v := range parts[0] {
			if int(v.End) < e.Max {
				out = append(out, v)
			}
		}
		return out
	case proximity.Repeat:
		for i := range parts[0] {
			if i+e.Max <= len(parts[0]) {
				out = append(out, interval(e, way{parts: parts[0][i : i+e.Max]}))
			}
		}
		return out
	}
	ways := smallest(allWays(e, parts))
	for _, w := range ways {
		if w.gaps > int64(e.Max) {
			continue
		}
		v := interval(e, w)
		if e.Op == proximity.Phrase {
			v.Gaps = uint32(w.gaps)
		}
		out = append(out, v)
	}
	return out
}

func byPlace(a, b proximity.Interval) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.Gaps, b.Gaps))
}

// allWays returns all ways to match a Phrase, Ordered, Unordered or Near, in order of the matches of the
// first part, then of the second, and so on.
func allWays(e *proximity.Expr, parts [][]proximity.Interval) (ways []way) {
	var together [][]bool
	if e.Op == proximity.Phrase && e.Max > 0 {
		together = sharing(e)
	}
	ways = []way{{}}
	for i, p := range parts {
		var longer []way
		for _, w := range ways {
			for _, v := range p {
				if i > 0 && e.Op == proximity.Ordered && v.Start <= w.parts[i-1].End {
					continue
				}
				if i > 0 && e.Op == proximity.Phrase && e.Max == 0 && v.Start-w.parts[0].Start != e.Offsets[i] {
					continue
				}
				if together != nil && taken(together[i], w.parts, v) {
					continue
				}
				longer = append(longer, way{parts: append(slices.Clip(w.parts), v)})
			}
		}
		ways = longer
	}
	for i := range ways {
		ways[i].measure(e)
	}
	return ways
}

// sharing says for each part of a phrase which parts share terms with it, perhaps through others.
func sharing(e *proximity.Expr) [][]bool {
	together := make([][]bool, len(e.Parts))
	for i := range together {
		together[i] = make([]bool, len(e.Parts))
		together[i][i] = true
		for range e.Parts {
			for j := range e.Parts {
				for k := range e.Parts {
					if together[i][k] && slices.ContainsFunc(e.Parts[j].Terms, func(t int) bool { return slices.Contains(e.Parts[k].Terms, t) }) {
						together[i][j] = true
					}
				}
			}
		}
	}
	return together
}

// taken reports whether a part of those that share terms has the position of v.
func taken(together []bool, parts []proximity.Interval, v proximity.Interval) bool {
	for j, other := range parts {
		if together[j] && other.Start == v.Start {
			return true
		}
	}
	return false
}

// measure sets the span and the gaps of a way.
func (w *way) measure(e *proximity.Expr) {
	w.start, w.end = 1<<40, -1<<40
	words := int64(0)
	for i, v := range w.parts {
		words += wordsOf(e, i, v)
		switch {
		case e.Op == proximity.Phrase:
			place := int64(v.Start) - int64(e.Offsets[i])
			w.start, w.end = min(w.start, place), max(w.end, place)
		case e.Op == proximity.Near:
			w.start, w.end = min(w.start, int64(v.End)), max(w.end, int64(v.Start))
		default:
			w.start, w.end = min(w.start, int64(v.Start)), max(w.end, int64(v.End))
		}
	}
	switch e.Op {
	case proximity.Phrase:
		w.gaps = w.end - w.start
	case proximity.Near:
		w.gaps = w.end - w.start - 1
	default:
		w.gaps = w.end - w.start + 1 - words
	}
}

// wordsOf returns how many positions of a match of part i are not gaps of the expression.
func wordsOf(e *proximity.Expr, i int, v proximity.Interval) int64 {
	width := int64(v.End) - int64(v.Start) + 1
	if e.Op == proximity.Unordered && e.Parts[i].Op == proximity.Repeat {
		return max(0, width-int64(v.Gaps))
	}
	return width
}

// smallest returns the ways whose span contains no other one. Of those with the same span, the first
// counts.
func smallest(ways []way) (out []way) {
	seen := map[[2]int64]bool{}
	var spans [][2]int64
	for _, w := range ways {
		if s := [2]int64{w.start, w.end}; !seen[s] {
			seen[s] = true
			spans = append(spans, s)
		}
	}
	done := map[[2]int64]bool{}
	for _, w := range ways {
		s := [2]int64{w.start, w.end}
		if done[s] {
			continue
		}
		done[s] = true
		if !slices.ContainsFunc(spans, func(o [2]int64) bool { return o != s && o[0] >= s[0] && o[1] <= s[1] }) {
			out = append(out, w)
		}
	}
	slices.SortFunc(out, func(a, b way) int { return cmp.Compare(a.start, b.start) })
	return out
}

// interval returns the interval of the matches of a way.
func interval(e *proximity.Expr, w way) proximity.Interval {
	v := proximity.Interval{Start: ^uint32(0)}
	words, inner := int64(0), int64(0)
	for i, p := range w.parts {
		v.Start, v.End = min(v.Start, p.Start), max(v.End, p.End)
		words += wordsOf(e, i, p)
		if e.Op != proximity.Unordered || e.Parts[i].Op != proximity.Repeat {
			inner += int64(p.Gaps)
		}
	}
	v.Gaps = uint32(max(0, int64(v.End)-int64(v.Start)+1-words) + inner)
	return v
}

// anyOf returns the matches of all parts that contain no other.
func anyOf(parts [][]proximity.Interval) (out []proximity.Interval) {
	all := slices.Concat(parts...)
	slices.SortFunc(all, byPlace)
	for i, v := range all {
		if i > 0 && all[i-1].Start == v.Start && all[i-1].End == v.End {
			continue
		}
		smaller := func(o proximity.Interval) bool {
			return (o.Start != v.Start || o.End != v.End) && o.Start >= v.Start && o.End <= v.End
		}
		if !slices.ContainsFunc(all, smaller) {
			out = append(out, v)
		}
	}
	return out
}

// A Word is a term at a position.
type Word struct {
	Term     int
	Position uint32
}

// Words are the words of all ways to make a match of an expression.
func Words(e *proximity.Expr, positions [][]uint32) map[Word]bool {
	words := map[Word]bool{}
	switch {
	case e.Op == proximity.Near || e.Op == proximity.Phrase:
		for _, w := range waysOf(e, positions) {
			for i, v := range w.parts {
				addWords(words, &e.Parts[i], positions, v)
			}
		}
	default:
		for _, v := range Matches(e, positions) {
			addWords(words, e, positions, v)
		}
	}
	return words
}

// waysOf returns all ways to make a match that counts, those with the same span included.
func waysOf(e *proximity.Expr, positions [][]uint32) (out []way) {
	var parts [][]proximity.Interval
	for i := range e.Parts {
		parts = append(parts, Matches(&e.Parts[i], positions))
	}
	ways := allWays(e, parts)
	for _, s := range smallest(ways) {
		for _, w := range ways {
			if s.gaps <= int64(e.Max) && w.start == s.start && w.end == s.end {
				out = append(out, w)
			}
		}
	}
	return out
}

// addWords adds the words of all ways to make match v of an expression.
func addWords(words map[Word]bool, e *proximity.Expr, positions [][]uint32, v proximity.Interval) {
	part := func(i int, inside bool) {
		for _, p := range Matches(&e.Parts[i], positions) {
			if p.Start == v.Start && p.End == v.End || inside && p.Start >= v.Start && p.End <= v.End {
				addWords(words, &e.Parts[i], positions, p)
			}
		}
	}
	switch e.Op {
	case proximity.Word:
		for _, t := range e.Terms {
			if slices.Contains(positions[t], v.Start) {
				words[Word{t, v.Start}] = true
			}
		}
	case proximity.Phrase, proximity.Ordered, proximity.Unordered:
		for _, w := range waysOf(e, positions) {
			if m := interval(e, w); m.Start != v.Start || m.End != v.End {
				continue
			}
			for i, p := range w.parts {
				addWords(words, &e.Parts[i], positions, p)
			}
		}
	case proximity.Any:
		for i := range e.Parts {
			part(i, false)
		}
	case proximity.Containing:
		part(0, false)
		part(1, true)
	case proximity.Repeat:
		part(0, true)
	default:
		part(0, false)
	}
}
