package cpuexec

import "math/bits"

// In a tile, what a function of the whole plan leaves to the scores depends on the word of 64 documents:
// where its numbers are low, scores must be high. So each word has a need of its own, where bounds of
// numbers by word are known. They are found for tiles of which all matches would have to be scored otherwise.
//
// Algorithms compare sums of bounds with one need for all words: the greatest of them. What the need of a
// word lacks of it is its start in tileCursors.prefix, from which on bounds add up.

// A wordNeeds is what the documents of a tile need by word.
type wordNeeds struct {
	bounds *[64]uint32 // of the numbers; nil where those are not known
	needs  sums        // the least scores with which documents enter

	numbers *[tileDocs]uint32 // of all documents of a tile; nil where those are not known
	tile    uint32            // that tile of the current segment
}

// strongWords is how many words are scored at a time while all of their matches must be seen.
const strongWords = 4

// enterFunction looks for bounds by word, in the tile at lo, whose first document needs a final score of
// need. It returns false where there are none, or nothing changes scores by a function.
func (r *run) enterFunction(lo, need uint32) bool {
	w := &r.wordNeeds
	w.bounds, w.numbers = nil, nil
	if r.at.outer == nil || r.out.counting {
		return false
	}
	tile := lo / tileDocs
	w.bounds = r.at.numbers.Words(tile, r.at.under(need, lo, lo) == 0)
	if w.bounds == nil {
		return false
	}
	w.numbers, w.tile = r.at.numbers.Known(tile), tile
	return true
}

// eachFunctionWord offers those matches, in some words of the tile, that enter with any score. Score offers
// all matches of the words that it is given; words with the greatest numbers come first. It returns the
// words in which the others can enter, with what they need: of each word, less its start in prefix. Lists
// score at most most.
func (r *run) eachFunctionWord(words uint64, most uint32, score func(words uint64) error) (left uint64, need uint32, err error) {
	w := &r.wordNeeds
	for {
		free := uint64(0)
		left, need = 0, 0
		final := r.out.need(r.win.lo)
		for in := words; in != 0; in &= in - 1 {
			i := bits.TrailingZeros64(in) & 63
			switch n := r.at.outer.Under(final, w.bounds[i]); {
			case n == 0:
				free |= 1 << i
			case n <= most:
				left |= 1 << i
				w.needs[i] = n
				need = max(need, n)
			}
		}
		if free == 0 {
			break
		}
		some := uint64(0)
		for range min(strongWords, bits.OnesCount64(free)) {
			some |= 1 << strongest((*sums)(w.bounds), free&^some)
		}
		words = left | free&^some
		if err := score(some); err != nil {
			return 0, 0, err
		}
	}
	r.tiled.slack = 0
	for in := left; in != 0; in &= in - 1 {
		i := bits.TrailingZeros64(in) & 63
		start := need - w.needs[i]
		r.tiled.prefix[0][i] = start
		r.tiled.slack = max(r.tiled.slack, start)
	}
	return left, need, nil
}

// dropByNumbers drops the candidates that cannot enter given their numbers, where these are known. rest
// bounds what the remaining lists add to their scores, from the starts of their words on.
func (r *run) dropByNumbers(rest *sums) {
	w, cs := &r.wordNeeds, &r.cands
	if w.bounds == nil || w.numbers == nil || cs.n == 0 {
		return
	}
	final, n := r.out.need(cs.docs[0]), 0
	for p, doc := range cs.docs[:cs.n] {
		score, word := cs.score[p], doc/wordDocs%64
		cs.docs[n], cs.score[n] = doc, score
		if r.at.outer.Apply(score+rest[word]-r.tiled.prefix[0][word], w.numbers[doc%tileDocs]) >= final {
			n++
		}
	}
	cs.n = n
}
