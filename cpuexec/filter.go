package cpuexec

import "slices"

// A wordFilter is what is known of a list for any document at a glance: a bound for its word,
// and whether the list holds it. Assembly knows it as 7 words of 8 bytes, in this order.
type wordFilter struct {
	words  []uint8  // Ranges.Word, or nil
	bitmap []uint64 // or nil
	unit   uint64   // a bound contributes so many times as much
}

// A prefilter is what lists say of candidates at a glance, before they are looked up.
type prefilter struct {
	filters []wordFilter // of lists that AND looks candidates up in
	rests   []uint32     // see makeFilters
	hopes   []hope       // of lists that OR looks candidates up in
}

// forget drops what belongs to the caller of the run.
func (g *prefilter) forget() {
	clear(g.filters[:cap(g.filters)])
	clear(g.hopes[:cap(g.hopes)])
}

// makeFilters makes filters of lists, the last first, as they are asked. rests has, by list,
// what others can add to the bounds of its words and of those of the list before: rest, the lists
// before these two, and those of the two that have no bounds of words.
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

// boundAll bounds what lists contribute to a document, and reports whether all may hold it.
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
