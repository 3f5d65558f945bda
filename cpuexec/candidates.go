package cpuexec

import "math/bits"

// candidates are documents in ascending order with their scores so far. A window or a lead block
// makes them, and every further list drops those that cannot enter.
type candidates struct {
	n     int
	docs  [tileDocs + 16]uint32 // assembly stores 16 at a time
	score [tileDocs + 16]uint32
}

// collect makes candidates of the accepted matches in some words of the window that score at least
// floor. It counts all accepted matches and empties the words.
func (r *run) collect(words uint64, floor uint32) {
	w, cs := &r.win, &r.cands
	for left := words; left != 0; left &= left - 1 {
		i := bits.TrailingZeros64(left) & 63
		r.out.work.DocsScored += int64(bits.OnesCount64(w.matches[i]))
		w.matches[i] &= r.at.accepted(r.win.base, i)
		r.out.total += bits.OnesCount64(w.matches[i])
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

// keepOnly drops candidates that are not in the set.
func (cs *candidates) keepOnly(set *bitset) {
	n := 0
	for p, doc := range cs.docs[:cs.n] {
		cs.docs[n], cs.score[n] = doc, cs.score[p]
		n += int(set[doc/wordDocs%64] >> (doc % wordDocs) & 1)
	}
	cs.n = n
}

// cut drops candidates outside the current range, in a segment of docs documents.
func (cs *candidates) cut(w *window, docs uint32) {
	if w.lo == w.base && w.hi == min(w.base+tileDocs, docs) {
		return
	}
	from, to := search(cs.docs[:cs.n], w.lo), search(cs.docs[:cs.n], w.hi)
	copy(cs.docs[:], cs.docs[from:to])
	copy(cs.score[:], cs.score[from:to])
	cs.n = to - from
}

// accept drops candidates that are not in a segment's accept bitmap.
func (cs *candidates) accept(bitmap []uint64) {
	if bitmap == nil {
		return
	}
	kept := 0
	for p := range cs.n {
		doc := cs.docs[p]
		cs.docs[kept], cs.score[kept] = doc, cs.score[p]
		if bitmap[doc/64]>>(doc%64)&1 == 1 {
			kept++
		}
	}
	cs.n = kept
}
