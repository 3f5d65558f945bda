package proximity

import "math"

// Two words, of which the positions are at hand as 16 bits: whether they can be in one match, and the
// frequency of an expression that has no others.

// Distance bounds the distance between positions of two terms in a match, b minus those of a: at least lo
// and at most hi. It is not ok if there is no such bound, or one of the terms is no part.
func (e *Expr) Distance(a, b int) (lo, hi int, ok bool) {
	if e.Max > math.MaxUint16 {
		return 0, 0, false // positions of 16 bits are no further apart
	}
	firstA, lastA, firstB, lastB := math.MaxInt, -1, math.MaxInt, -1 // parts, or of a phrase their offsets
	for i := range e.Parts {
		p := &e.Parts[i]
		if p.Op != Word || len(p.Terms) != 1 {
			return 0, 0, false
		}
		at := i
		if e.Op == Phrase {
			at = int(e.Offsets[i])
		}
		if p.Terms[0] == a {
			firstA, lastA = min(firstA, at), max(lastA, at)
		}
		if p.Terms[0] == b {
			firstB, lastB = min(firstB, at), max(lastB, at)
		}
	}
	if lastA < 0 || lastB < 0 {
		return 0, 0, false
	}
	switch e.Op {
	case Phrase:
		return firstB - lastA - e.Max, lastB - firstA + e.Max, true
	case Ordered, Unordered:
		width := len(e.Parts) + e.Max // of an interval, at most
		return 1 - width, width - 1, true
	case Near:
		return -e.Max - 1, e.Max + 1, true
	}
	return 0, 0, false
}

// Within reports whether two words stand at a distance, positions of b minus those of a, of at least lo
// and at most hi.
func Within(a, b []uint16, lo, hi int) bool {
	j := 0
	for _, x := range a {
		for j < len(b) && int(b[j])-int(x) < lo {
			j++
		}
		if j == len(b) {
			return false
		}
		if int(b[j])-int(x) <= hi {
			return true
		}
	}
	return false
}

// IsPair reports whether PairFreq takes the expression: two different terms.
func (e *Expr) IsPair() bool {
	if len(e.Parts) != 2 || e.Op != Phrase && e.Op != Ordered && e.Op != Unordered && e.Op != Near {
		return false
	}
	a, b := &e.Parts[0], &e.Parts[1]
	return a.Op == Word && b.Op == Word && len(a.Terms) == 1 && len(b.Terms) == 1 && a.Terms[0] != b.Terms[0]
}

// PairFreq is Matcher.Freq for a pair that is not empty, given the positions of its parts.
func (e *Expr) PairFreq(a, b []uint16) uint64 {
	switch e.Op {
	case Phrase:
		return sumWindows(a, b, int(e.Offsets[0]), int(e.Offsets[1]), 0, e.Max)
	case Ordered:
		return sumSuccessions(a, b, e.Max)
	}
	return sumWindows(a, b, 0, 0, 1, e.Max)
}

// sumWindows adds up the shares of the minimal windows that hold a place of each word: its position less an
// offset. A window that reaches over more than free places has gaps.
func sumWindows(a, b []uint16, offsetA, offsetB, free, most int) (freq uint64) {
	i, j, last := 0, 0, math.MinInt
	hi := max(int(a[0])-offsetA, int(b[0])-offsetB)
	for {
		lo, next, more := int(a[i])-offsetA, 0, false
		if y := int(b[j]) - offsetB; y < lo {
			lo = y
			if j++; j < len(b) {
				next, more = int(b[j])-offsetB, true
			}
		} else if i++; i < len(a) {
			next, more = int(a[i])-offsetA, true
		}
		if more && next <= hi {
			continue // the window without lo is smaller
		}
		if lo > last {
			last = lo
			if gaps := max(0, hi-lo-free); gaps <= most {
				freq += Share(uint32(gaps))
			}
		}
		if !more {
			return freq
		}
		hi = next
	}
}

// sumSuccessions adds up the shares of the intervals from a position of a to the next one of b, in which no
// other of a stands.
func sumSuccessions(a, b []uint16, most int) (freq uint64) {
	j := 0
	for i, x := range a {
		for j < len(b) && b[j] <= x {
			j++
		}
		if j == len(b) {
			return freq
		}
		if i+1 < len(a) && a[i+1] < b[j] {
			continue
		}
		if gaps := int(b[j]) - int(x) - 1; gaps <= most {
			freq += Share(uint32(gaps))
		}
	}
	return freq
}
