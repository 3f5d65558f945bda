package segment

import (
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// Bounds is blockmax.NewBounds with the bounds of all blocks, for a list that can be read.
func Bounds(l *postings.List, t *blockmax.Table) *blockmax.Bounds {
	b, err := blockmax.NewBounds(l, t)
	if err == nil {
		err = l.Complete()
	}
	if err != nil {
		panic("BUG: segment: bounds of a list that cannot be read: " + err.Error())
	}
	b.Need(0, l.Blocks())
	return b
}

// A TailField describes the terms of a query in one field.
type TailField struct {
	Tiles  []Tile          // of the field, from Reader.Tiles
	Table  *blockmax.Table // impacts of the field under the query's similarity
	Weight uint32          // sum of the integer weights of the query's terms in the field
}

// Tail bounds, for each tile of a segment, the score that any document there or
// in a later tile can reach: the form of blockmax.Segment.Tail. docs is the segment's
// number of documents, ranks are its RankTiles.
//
// No posting of a document has an impact above that of its best pair m, so terms
// of weights w1, w2, ... in one field add at most
//
//	w1*m>>16 + w2*m>>16 + ... <= (w1+w2+...)*m >> 16
//
// and the sum of that over the fields, with the rank's share, bounds the document. It holds for any
// similarity and any query whose terms and weights are all in fields. The caller must add constant
// scores.
//
// Tail returns nil, which bounds nothing, when a field has no tiles or when there is nothing to add
// up.
func Tail(docs uint32, ranks []uint16, rankWeight uint32, fields []TailField) []uint32 {
	if len(ranks)+len(fields) == 0 {
		return nil
	}
	tail := make([]uint32, chunksOf(docs, blockmax.TileDocs))
	for i, rank := range ranks {
		tail[i] = blockmax.Contribution(rankWeight, rank)
	}
	for _, f := range fields {
		if f.Tiles == nil {
			return nil
		}
		for _, t := range f.Tiles {
			tail[t.number] += blockmax.Contribution(f.Weight, f.Table.Highest(t.best))
		}
	}
	return blockmax.SuffixMax(tail)
}

// Extend returns the ranges of a list under a table. r are its ranges from when it had only had
// postings. norms are the length codes of its field by document, or nil.
func Extend(r *blockmax.Ranges, l *postings.List, had int, t *blockmax.Table, norms []uint8) (*blockmax.Ranges, error) {
	first, last := had/l.BlockSize, l.Blocks()-1
	before, tiles := len(r.Word)/64, blockmax.Tiles(l.Last[last]+1)
	x := &blockmax.Ranges{
		Word:  append(make([]uint8, 0, 64*tiles), r.Word...)[:64*tiles],
		Tile:  append(make([]uint8, 0, (tiles+63)&^63), r.Tile...)[:(tiles+63)&^63],
		First: append(make([]uint32, 0, tiles+1), r.First[:before]...)[:tiles+1],
		Best:  r.Best,
		Peaks: slices.Clone(r.Peaks),
	}
	for b, tile := first, before; tile <= tiles; tile++ {
		b = l.Seek(b, uint32(tile)*blockmax.TileDocs)
		x.First[tile] = uint32(b)
	}
	var docs, freqs [postings.BlockSize]uint32
	for b := first; b <= last; b++ {
		n, err := l.Docs(b, &docs)
		if err == nil {
			_, err = l.Freqs(b, &freqs)
		}
		if err != nil {
			return nil, err
		}
		for i := max(0, had-b*l.BlockSize); i < n; i++ {
			doc, code := docs[i], uint8(1)
			if norms != nil {
				code = norms[doc]
			}
			x.Add(doc, t.Impact(freqs[i], code))
		}
	}
	return x, nil
}
