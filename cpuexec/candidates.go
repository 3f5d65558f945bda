package cpuexec

import "math/bits"

// candidates are documents in ascending order with what they score so far. A
// window or a lead block makes them, and every further list drops those that
// cannot get in.
type candidates struct {
	n     int
	docs  [tileDocs + 16]uint32 // assembly stores 16 at a time
	score [tileDocs + 16]uint32
}

// collect makes candidates of the accepted matches in some words of the window that
// score at least floor, counts all accepted ones, and leaves the words empty.
func (r *run) collect(words uint64, floor uint32) {
	w, cs := &r.win, &r.cands
	for left := words; left != 0; left &= left - 1 {
		i := bits.TrailingZeros64(left) & 63
		r.work.DocsScored += int64(bits.OnesCount64(w.matches[i]))
		w.matches[i] &= r.accepted(i)
		r.total += bits.OnesCount64(w.matches[i])
	}
	if floor == 0 {
		cs.list(&w.matches, w.base, words)
		for p, doc := range cs.docs[:cs.n] {
			cs.score[p] = w.scores[doc%tileDocs]
		}
	} else {
		var nothing sums
		sift(cs, &w.scores, w.base, words, &nothing, floor)
		cs.keepOnly(&w.matches)
	}
	for ; words != 0; words &= words - 1 {
		i := bits.TrailingZeros64(words) & 63
		w.matches[i] = 0
		if floor == 0 {
			clear(w.scores[wordDocs*i:][:wordDocs])
		}
	}
}

// keepOnly drops what is not in the set.
func (cs *candidates) keepOnly(set *bitset) {
	n := 0
	for p, doc := range cs.docs[:cs.n] {
		cs.docs[n], cs.score[n] = doc, cs.score[p]
		n += int(set[doc/wordDocs%64] >> (doc % wordDocs) & 1)
	}
	cs.n = n
}

// cutCandidates drops those that lie outside of the range at work.
func (r *run) cutCandidates() {
	cs, w := &r.cands, &r.win
	if w.lo == w.base && w.hi == min(w.base+tileDocs, r.seg.Docs) {
		return
	}
	from, to := search(cs.docs[:cs.n], w.lo), search(cs.docs[:cs.n], w.hi)
	copy(cs.docs[:], cs.docs[from:to])
	copy(cs.score[:], cs.score[from:to])
	cs.n = to - from
}

// acceptCandidates drops those that may not be returned.
func (r *run) acceptCandidates() {
	if r.seg.Accept == nil {
		return
	}
	cs := &r.cands
	kept := 0
	for p := range cs.n {
		doc := cs.docs[p]
		cs.docs[kept], cs.score[kept] = doc, cs.score[p]
		if r.accepts(doc) {
			kept++
		}
	}
	cs.n = kept
}

// acceptedWords returns the words of the tile that have documents that may be
// returned.
func (r *run) acceptedWords() (words uint64) {
	for i := range 64 {
		if r.accepted(i) != 0 {
			words |= 1 << i
		}
	}
	return words
}

// offerCandidates hands all candidates to the collector.
func (r *run) offerCandidates() {
	cs := &r.cands
	if r.counting {
		return
	}
	for p := range cs.n {
		r.offer(cs.docs[p], cs.score[p])
	}
}
