package proximity

import "math"

// A few different words, of which the positions are at hand as 16 bits: the frequency of an expression that
// has no other parts, and does not ask for their order. Its matches are windows of places, as those of two
// words are.

// MostWords is the most words that WordsFreq takes.
const MostWords = 8

// AreWords reports whether WordsFreq takes the expression: different terms, at most MostWords.
func (e *Expr) AreWords() bool {
	if len(e.Parts) > MostWords || e.Op != Phrase && e.Op != Unordered && e.Op != Near {
		return false
	}
	for i := range e.Parts {
		p := &e.Parts[i]
		if p.Op != Word || len(p.Terms) != 1 {
			return false
		}
		for j := range e.Parts[:i] {
			if e.Parts[j].Terms[0] == p.Terms[0] {
				return false
			}
		}
	}
	return true
}

// WordsFreq is Matcher.Freq for such an expression, given the positions of its parts, of which each has
// some.
func (e *Expr) WordsFreq(parts [][]uint16) (freq uint64) {
	var offsets, places, at [MostWords]int
	n := len(parts)
	free, most := n-1, e.Max // places of a window that are no gaps, besides one, and the most by which its ends differ
	switch e.Op {
	case Phrase:
		free = 0
		for i, offset := range e.Offsets {
			offsets[i%MostWords] = int(offset)
		}
	case Unordered:
		most += n - 1
	case Near:
		most++
	}
	hi := math.MinInt
	for i, p := range parts {
		places[i%MostWords] = int(p[0]) - offsets[i%MostWords]
		hi = max(hi, places[i%MostWords])
	}
	for last := math.MinInt; ; {
		first, lo := 0, places[0]
		for i, place := range places[:n] {
			if place < lo {
				first, lo = i, place
			}
		}
		p := parts[first]
		at[first%MostWords]++
		next := at[first%MostWords]
		more := next < len(p)
		if more {
			places[first%MostWords] = int(p[next]) - offsets[first%MostWords]
			if places[first%MostWords] <= hi {
				continue // the window without lo is smaller
			}
		}
		if lo > last {
			last = lo
			if hi-lo <= most {
				freq += Share(uint32(max(0, hi-lo-free)))
			}
		}
		if !more {
			return freq
		}
		hi = places[first%MostWords]
	}
}
