package cpuexec

import "slices"

// A wordFilter is what is known of a list for any document without a lookup: a bound for its word,
// and whether the list holds it. Assembly uses it as 7 words of 8 bytes, in this order.
type wordFilter struct {
	words  []uint8  // Ranges.Word, or nil
	bitmap []uint64 // or nil
	unit   uint64   // contribution per unit of a bound
}

// A prefilter filters candidates by bounds and bitmaps of lists before they are looked up.
type prefilter struct {
	filters []wordFilter // of lists in which AND looks candidates up
	rests   []uint32     // see makeFilters
	hopes   []hope       // of lists and branches in which OR looks candidates up
	held    []*bitset    // what the branches of hopes may match
}

// forget drops references to the caller's data.
func (g *prefilter) forget() {
	clear(g.filters[:cap(g.filters)])
	clear(g.hopes[:cap(g.hopes)])
}

// makeFilters makes filters of lists, the last first, which is the order of lookups. For each list,
// rests has what others can add to the word bounds of it and of the preceding list: rest, the lists
// before these two, and those of the two without word bounds.
func (g *prefilter) makeFilters(lists []*tileCursor, rest uint32) {
	g.filters, g.rests = g.filters[:0], g.rests[:0]
	for _, c := range slices.Backward(lists) {
		f := wordFilter{bitmap: c.bitmap}
		if c.ranges != nil {
			f.words, f.unit = c.ranges.Word, uint64(c.unit)
		}
		g.filters = append(g.filters, f)
	}
	for i, c := range lists {
		sum := rest
		if c.ranges == nil {
			sum += c.max
		}
		if i > 0 {
			before := lists[i-1]
			if before.ranges == nil {
				sum += before.max
			}
			rest += before.max
		}
		g.rests = append(g.rests, sum)
	}
}

// filterPortable is filter in Go.
func filterPortable(cs *candidates, lists []wordFilter, rest, need uint32) {
	kept := 0
	for i := range cs.n {
		doc, score := cs.docs[i], cs.score[i]
		cs.docs[kept], cs.score[kept] = doc, score
		bound, held := boundAll(lists, doc)
		if held && score+rest+bound >= need {
			kept++
		}
	}
	cs.n = kept
}

// boundAll bounds the contributions of lists to a document, and reports whether all may hold it.
func boundAll(lists []wordFilter, doc uint32) (bound uint32, held bool) {
	for i := range lists {
		f := &lists[i]
		if f.bitmap != nil && f.bitmap[doc/64]>>(doc%64)&1 == 0 {
			return 0, false
		}
		if f.words == nil {
			continue
		}
		w := int(doc / wordDocs)
		if w >= len(f.words) || f.words[w] == 0 {
			return 0, false
		}
		bound += uint32(f.unit) * uint32(f.words[w])
	}
	return bound, true
}
