package cpuexec

import (
	"math/bits"

	"github.com/riffle-search/riffle/blockmax"
)

// What comes behind a score: the static rank of a document, or a function of the whole plan
// (blockmax.Plan.Outer). Algorithms know nothing of it. They look for documents whose scores reach need,
// and under turns the need of the plan into that of the scores, by a bound on the ranks or numbers of the
// documents in question. So all of them prune, in all modes of a function. Values are looked up last, of
// documents that can still enter.
//
// A function of a node is applied where the node is evaluated, and to its bounds: see eval.go and
// treebound.go.

// final is the score of a document with all that comes behind it.
func (at *part) final(doc, score uint32) uint32 {
	switch {
	case at.outer != nil:
		return at.outer.Apply(score, at.numbers.Of(doc))
	case at.seg.Rank != nil:
		return score + blockmax.Contribution(at.rankWeight, at.seg.Rank[doc])
	}
	return score
}

// over bounds final for documents lo to hi that score at most score.
func (at *part) over(score, lo, hi uint32) uint32 {
	if at.outer != nil {
		return at.outer.Apply(score, at.numberBound(lo, hi))
	}
	return score + at.rankBound(lo, hi)
}

// highest is over for all documents of the segment.
func (at *part) highest(score uint32) uint32 {
	if at.outer != nil {
		return at.outer.Apply(score, at.numberMax)
	}
	return score + at.rankMax
}

// under is the least score with which one of the documents lo to hi can reach need.
func (at *part) under(need, lo, hi uint32) uint32 {
	switch {
	case need == 0:
		return 0
	case at.outer != nil:
		return at.outer.Under(need, at.numberBound(lo, hi))
	case at.rankMax == 0:
		return need
	}
	return saturatingSub(need, at.rankBound(lo, hi))
}

// underAny is under for all documents of the segment.
func (at *part) underAny(need uint32) uint32 {
	if at.outer != nil {
		return at.outer.Under(need, at.numberMax)
	}
	return saturatingSub(need, at.rankMax)
}

// underOne is under for one document. It looks up ranks, but no numbers.
func (at *part) underOne(need, doc uint32) uint32 {
	if at.outer == nil && at.seg.Rank != nil {
		return saturatingSub(need, blockmax.Contribution(at.rankWeight, at.seg.Rank[doc]))
	}
	return at.under(need, doc, doc)
}

// overOne is over for one document. It looks up ranks, but no numbers.
func (at *part) overOne(score, doc uint32) uint32 {
	if at.outer == nil && at.seg.Rank != nil {
		return at.final(doc, score)
	}
	return at.over(score, doc, doc)
}

// changes reports whether anything comes behind scores.
func (at *part) changes() bool { return at.outer != nil || at.rankMax > 0 }

// fewBounds is how many bounds of tiles are looked at. A longer search costs more than it saves.
const fewBounds = 8

// rankBound bounds what the rank adds to documents lo to hi.
func (at *part) rankBound(lo, hi uint32) uint32 {
	if at.rankMax == 0 {
		return 0
	}
	first, last := lo/tileDocs, hi/tileDocs
	if last-first >= fewBounds {
		return at.rankMax
	}
	highest := uint16(0)
	for _, m := range at.seg.RankTile[first : last+1] {
		highest = max(highest, m)
	}
	return blockmax.Contribution(at.rankWeight, highest)
}

// numberBound bounds the numbers of documents lo to hi.
func (at *part) numberBound(lo, hi uint32) (highest uint32) {
	first, last := lo/tileDocs, hi/tileDocs
	if last-first >= fewBounds {
		return at.numberMax
	}
	for t := first; t <= last; t++ {
		highest = max(highest, at.numbers.Bound(t))
	}
	return highest
}

// A nodeFunction is the function of a node on the current segment.
type nodeFunction struct {
	*blockmax.Function
	numbers blockmax.Numbers
}

// functionOf returns the function of a node, or nil.
func (r *run) functionOf(n *blockmax.Node) *nodeFunction {
	if n.Function == nil {
		return nil
	}
	return &nodeFunction{n.Function, r.at.seg.Functions[n.Function.Number]}
}

// apply changes the scores of the documents in set, of the tile at base.
func (f *nodeFunction) apply(set *bitset, base uint32, to *scores) {
	set.each(func(d uint32) { to[d] = f.Apply(to[d], f.numbers.Of(base+d)) })
}

// boundWords changes the bounds of the words of the tile at lo.
func (f *nodeFunction) boundWords(lo uint32, to *sums) {
	most := f.numbers.Bound(lo / tileDocs)
	for i, b := range to {
		to[i] = f.Apply(b, most)
	}
}

// boundTiles changes the bounds of those tiles of the sheet at lo that are in.
func (f *nodeFunction) boundTiles(lo uint32, in uint64, to *sums) {
	for ; in != 0; in &= in - 1 {
		i := uint32(bits.TrailingZeros64(in)) & 63
		to[i] = f.Apply(to[i], f.numbers.Bound(lo/tileDocs+i))
	}
}

// functionErr returns the first error of a function that read a column.
func functionErr(p *blockmax.Plan) error {
	for i := range p.Segments {
		for _, f := range p.Segments[i].Functions {
			if err := f.Err(); err != nil {
				return &ColumnError{i, err}
			}
		}
	}
	return nil
}
