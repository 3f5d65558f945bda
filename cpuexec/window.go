package cpuexec

import "math/bits"

// A bitset has a bit for each document of a tile.
type bitset [64]uint64

// scores has a score for each document of a tile: 16 KiB, half of a first-level cache. All are zero
// between uses.
type scores [tileDocs]uint32

// A window is the current tile of documents: which of them match, and their scores so far.
type window struct {
	base    uint32 // first document of the tile, a multiple of tileDocs: position 0
	lo, hi  uint32 // the current range is documents [lo, hi)
	all     bitset // the documents of the tile in that range
	matches bitset // empty between uses, like the scores
	scores  scores
	list    []uint16 // room for the numbers of matches
	marks   marks    // documents to be added to a set
	torn    bool     // an error may have left matches and scores
}

// place makes the tile of doc, clipped to documents [from, to), the window. It does not update all.
func (w *window) place(doc, from, to uint32) {
	w.base = doc &^ (tileDocs - 1)
	w.lo, w.hi = max(w.base, from), min(w.base+tileDocs, to)
}

// everything is a whole tile.
var everything = func() (b bitset) {
	for i := range b {
		b[i] = ^uint64(0)
	}
	return b
}()

// fill sets all to the documents of the range.
func (w *window) fill() {
	w.all = everything
	if lo := w.lo - w.base; lo > 0 {
		clear(w.all[:lo/64])
		w.all[lo/64] &= ^uint64(0) << (lo % 64)
	}
	if hi := w.hi - w.base; hi < tileDocs {
		clear(w.all[hi/64+1:])
		w.all[hi/64] &= 1<<(hi%64) - 1
	}
}

// size returns the number of documents in the set.
func (b *bitset) size() (n int) {
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}

// empty reports whether no document is in the set.
func (b *bitset) empty() bool {
	union := uint64(0)
	for _, word := range b {
		union |= word
	}
	return union == 0
}
