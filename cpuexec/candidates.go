package cpuexec

import "math/bits"

// candidates are documents in ascending order with what they score so far. A
// window or a lead block makes them, and every further list drops those that
// cannot get in.
type candidates struct {
	n     int
	docs  [windowDocs + 16]uint32 // assembly stores 16 at a time
	score [windowDocs + 16]uint32
}

// collect makes candidates of the accepted documents of the window that score at
// least floor, counts all accepted ones, and leaves the window empty.
func (r *run) collect(floor uint32) {
	w, cs := &r.win, &r.cands
	n := 0
	for i, word := range w.matches {
		if word == 0 {
			continue
		}
		r.work.DocsScored += int64(bits.OnesCount64(word))
		accept := r.accepted(i)
		for out := word &^ accept; out != 0; out &= out - 1 {
			w.scores[(i*64+bits.TrailingZeros64(out))%windowDocs] = 0
		}
		word &= accept
		r.total += bits.OnesCount64(word)
		for ; word != 0; word &= word - 1 {
			d := uint32(i*64+bits.TrailingZeros64(word)) % windowDocs
			s := w.scores[d]
			w.scores[d] = 0
			cs.docs[n%windowDocs], cs.score[n%windowDocs] = w.base+d, s
			if s >= floor {
				n++
			}
		}
		w.matches[i] = 0
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
	for p := range cs.n {
		r.offer(cs.docs[p], cs.score[p])
	}
}
