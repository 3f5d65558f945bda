package riffle

import (
	"context"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/live"
	"github.com/riffle-search/riffle/postings"
)

// A PostingsList describes the list of a term in a segment: its documents, in blocks of 128 that
// are decoded as a whole, or skipped if their bounds say that none of their documents can be among
// the best. 32 blocks are an extent, which has bounds of its own and is what a GPU caches.
type PostingsList struct {
	Segment     uint64 // number, as in SegmentStats; 0 in memory
	Base        uint32 // documents of the segments before: global numbers are local ones plus Base
	SegmentDocs uint32 // documents of the segment, deleted ones included

	Documents int // that have the term, deleted ones included
	Blocks    int
	Extents   int

	// Bytes is what the postings take as they are stored, without the directory of blocks. Of a
	// segment in memory it is what they take there. It is 0 if only reading them all would tell, as in
	// some old segments.
	Bytes int64

	// Bound is the most that the term adds to the score of a document of the segment: the score of a
	// Term query, without a static rank. It is exact unless the segment is in memory.
	Bound float64

	CachedBytes int64  // of the list in the cache of Options.CacheBytes; 0 if it is not there
	Visits      uint64 // see CachedList.Visits

	Ranges []PostingsRange // blocks, or extents, that PostingsOptions ask for
}

// A PostingsRange is a block or an extent of a list. Documents are numbered within the segment.
type PostingsRange struct {
	Number   int    // from 0
	First    uint32 // the lowest document that it can have: the one after the last of the range before
	Last     uint32 // last document
	Postings int

	// Bound is the most that the term adds to the score of a document here, and Frequency and Length
	// are those of the posting that attains it: how often the document has the term, and the number of
	// terms of its field, as coded in a byte.
	Bound     float64
	Frequency uint32
	Length    uint32

	// Encoding, of a block, says how documents and frequencies are written, such as "packed/7 tf/2":
	// in 7 and 2 bits each. See package postings.
	Encoding string

	// Bits is what the postings of a block take as they are stored, or 0 if its directory does not
	// say.
	Bits int
}

// PostingsOptions say which part of lists to describe. A nil one stands for the first blocks.
type PostingsOptions struct {
	Segment *uint64 // only lists of the segment with this number
	Extents bool    // Ranges are extents, not blocks
	From    int     // the first range of each list, by number
	Limit   int     // the most ranges of each list; 0 is DefaultRanges, and a negative one is none
}

// DefaultRanges is the default of PostingsOptions.Limit.
const DefaultRanges = 256

// Postings describes the lists of a term, segment by segment; those without the term are left out.
// The term is an exact one, as Terms yields it. A segment in memory may have two lists, one of its
// first documents and one of the others.
//
// It reads directories of lists and no postings, and changes nothing in the cache of lists.
func (e *Engine) Postings(ctx context.Context, field, term string, o *PostingsOptions) ([]PostingsList, error) {
	v, err := e.acquire()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.postings(ctx, field, term, o)
}

// Postings is Engine.Postings at the moment of the snapshot.
func (s *Snapshot) Postings(ctx context.Context, field, term string, o *PostingsOptions) ([]PostingsList, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.postings(ctx, field, term, o)
}

func (v view) postings(ctx context.Context, field, term string, o *PostingsOptions) ([]PostingsList, error) {
	if o == nil {
		o = &PostingsOptions{}
	}
	set, err := v.settings(nil)
	if err != nil {
		return nil, err
	}
	p := v.e.newPreparer()
	defer p.Forget(v.View)
	if err := p.Rewriter(v.View, &set.Settings).CheckTexts("Postings", field); err != nil {
		return nil, err
	}
	lists, err := v.View.TermLists(ctx, field, term)
	if err != nil || len(lists) == 0 {
		return nil, err
	}
	docs, table := v.View.Field(field, set.Sim)
	having := uint64(0)
	for i := range lists {
		having += uint64(lists[i].Count)
	}
	scores := newTermScores(table, set.Sim.IDF.Weight(docs, having))
	var all []PostingsList
	for i := range lists {
		l := &lists[i]
		if o.Segment != nil && *o.Segment != l.Number() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		of := PostingsList{
			Segment: l.Number(), Base: l.Base, SegmentDocs: l.Docs, Documents: l.Count, Blocks: l.Blocks(), Extents: len(l.ExtLast), Bytes: l.StoredBytes(),
			CachedBytes: l.Cached.Bytes, Visits: l.Cached.Visits,
		}
		_, of.Bound = scores.of(l.ListImpacts)
		if of.Ranges, err = rangesOf(l, o, scores); err != nil {
			return nil, err
		}
		all = append(all, of)
	}
	return all, nil
}

// termScores are what a term adds to scores.
type termScores struct {
	table  *blockmax.Table
	weight uint32
	scale  float64
}

func newTermScores(table *blockmax.Table, weight float64) *termScores {
	ints, scale := blockmax.Scale([]float64{weight})
	return &termScores{table, ints[0], scale}
}

// of returns the best of pairs, and the score of a document that has it.
func (s *termScores) of(pairs []postings.Impact) (postings.Impact, float64) {
	pair, impact := live.HighestPair(s.table, pairs)
	return pair, float64(blockmax.Contribution(s.weight, impact)) / s.scale
}

// rangesOf describes the blocks or extents that are wanted.
func rangesOf(l *live.TermList, o *PostingsOptions, scores *termScores) ([]PostingsRange, error) {
	n, limit := l.Blocks(), o.Limit
	if o.Extents {
		n = len(l.ExtLast)
	}
	if limit == 0 {
		limit = DefaultRanges
	}
	from := min(max(0, o.From), n)
	to := min(from+max(0, limit), n)
	ranges := make([]PostingsRange, 0, to-from)
	if o.Extents {
		for e := from; e < to; e++ {
			first := uint32(0)
			if e > 0 {
				first = l.ExtLast[e-1] + 1
			}
			block := e * postings.ExtentBlocks
			r := PostingsRange{Number: e, First: first, Last: l.ExtLast[e]}
			r.Postings = min(postings.ExtentBlocks*l.BlockSize, l.Count-block*l.BlockSize)
			r.setBound(scores, l.ExtImpacts.Of(e))
			ranges = append(ranges, r)
		}
		return ranges, nil
	}
	err := l.EachBlock(from, to, func(b int, best []postings.Impact) {
		r := PostingsRange{Number: b, First: l.First(b), Last: l.Last[b], Postings: l.BlockLen(b), Encoding: l.Enc[b].String(), Bits: l.StoredBits(b)}
		r.setBound(scores, best)
		ranges = append(ranges, r)
	})
	return ranges, err
}

func (r *PostingsRange) setBound(scores *termScores, best []postings.Impact) {
	var pair postings.Impact
	pair, r.Bound = scores.of(best)
	r.Frequency, r.Length = pair.TF, blockmax.CodeLength(pair.Len)
}
