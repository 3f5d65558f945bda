package blockmax

import "github.com/riffle-search/riffle/postings"

// A Mode says which documents match the terms of a flat plan.
type Mode uint8

const (
	Or    Mode = iota // at least one term
	And               // every term
	AndOr             // And; and when fewer than K accepted documents match, Or
)

// TileDocs is the number of documents in a tile: the unit of windows, of rank
// maxima and of early termination.
const TileDocs = 4096

// A Plan is a query ready to run: lists, integer weights, mode and k. This package never reads the
// lists; executors do.
//
// A document's score is the sum over its terms of Contribution(Weights[t], impact), plus
// Contribution(RankWeight, rank) when RankWeight is not zero. Outer changes it. The caller has scaled the weights
// (Scale), so that no sum reaches 1<<31.
type Plan struct {
	Segments []Segment // in ascending order of Base
	Weights  []uint32  // W_t per term; a zero weight still matches
	Mode     Mode      // ignored when Tree is set
	Tree     *Node     // a boolean tree over the terms, or nil for a flat plan
	Else     *Node     // with Tree: answers instead when fewer than K accepted documents match Tree; or nil
	K        int       // 1 to 10,000

	RankWeight uint32 // weight of the static rank; 0 for none

	// Outer changes the scores of the whole plan, or is nil. With RankWeight there is none.
	Outer *Function

	After     *Hit // return only documents that rank after this hit; nil for all. Total ignores it
	CountAll  bool // TopK.Total must be exact
	OnlyTotal bool // with CountAll: nothing else is wanted, so executors may return no hits

	Profile *Profile // records what is done with each block of the lists; nil for no record

	// Least is a score that K documents are known to reach. They need not be of this plan, if it covers
	// a part of the documents. Executors may leave out documents of an OR, or of a Tree, below it.
	Least uint32

	// Undivided is set if a GPU must not leave segments to the CPU because they are small: the number
	// of documents that match decides what is searched next. CPUs ignore it.
	Undivided bool
}

// A Segment is the part of a plan for one segment.
type Segment struct {
	Base   uint32    // global number of local document 0
	Docs   uint32    // local documents are numbered 0 to Docs-1
	Skip   uint32    // the first Skip documents are not of the plan, and their postings mean nothing; only GPUs take such plans
	Terms  []Term    // one per weight; a term the segment lacks has Bounds == nil
	Sets   []Set     // those that nodes of the tree name; the same number in all segments
	Fields []Lengths // those that a Combined of the tree names; the same number in all segments

	Functions []Numbers // those that Outer and nodes of the tree name; the same number in all segments

	Accept []uint64 // bit d is set when document d may be returned; nil for all documents

	// Few lists the documents of Accept in ascending order, when there are few. Otherwise it is nil.
	// Executors may lead with these documents instead of testing those of the terms against Accept.
	Few []uint32

	// Subset, if there is one, has all documents of Accept. Bit i of Alive is set if document i of the
	// Subset is in Accept; nil if all are.
	Subset *Subset
	Alive  []uint64

	Rank     []uint16 // static rank of each document as a 16-bit fraction; nil for all zero
	RankTile []uint16 // highest rank in each tile of TileDocs documents; nil with Rank

	// Tail[i] bounds the score of every document in tile i or any later one of this segment. It is
	// nil when the order of documents gives no such bound.
	Tail []uint32
}

// A Term is one posting list of one segment with the data for scoring it.
type Term struct {
	List   *postings.List
	Norms  []uint8    // length code of each document's field; nil when the field keeps none (code 1 for all)
	Lazy   *LazyNorms // tiles of Norms to ask for before their codes are read; nil when all may be
	Table  *Table     // impacts for the query's similarity
	Bounds *Bounds    // highest impacts; nil when the segment lacks the term

	// Key identifies the list among all that this process will ever see in plans of the same index.
	// Caches outside main memory use it, because the list may have been opened anew. It is 0 for a
	// list that may still change (of a segment in memory), or that is too short for a key.
	Key uint64
}

// A Set is the documents of a segment that match a clause without a score: one of many terms, such as
// all words with a prefix, or one over a column, such as a range. Its documents never change.
type Set struct {
	Bits  []uint64 // bit d is set when document d matches; nil when none does, or with Tiles
	Count int      // of documents; with Tiles an estimate
	Tiles TileSet  // makes the documents when they are needed, in place of Bits; or nil
}

// A TileSet makes the documents of a set tile by tile. It is safe for concurrent use, and always makes
// the same ones.
type TileSet interface {
	// Within returns the tiles of a sheet of 64 tiles that may have documents of the set, without
	// making them.
	Within(sheet int) uint64

	// Tile replaces set by the documents of a tile, and returns how many these are.
	Tile(tile int, set *[64]uint64) (int, error)
}

// A KnownSet is what a TileSet is, too, if it may know its documents without making tiles.
type KnownSet interface {
	// Known returns all documents, in any order.
	Known() (docs []uint32, ok bool)
}

// Known returns all documents of a set, in any order, if a TileSet knows them.
func (s *Set) Known() (docs []uint32, ok bool) {
	if k, is := s.Tiles.(KnownSet); is {
		return k.Known()
	}
	return nil, false
}

// knownShare: a known document is set one by one if they are at most one in so many. Of more, making tiles
// takes less time.
const knownShare = 16

// Whole returns the set with Bits, for docs documents. It makes those of all tiles.
func (s Set) Whole(docs uint32) (Set, error) {
	if s.Tiles == nil {
		return s, nil
	}
	bits := make([]uint64, (int(docs)+63)/64)
	n, err := s.Fill(bits)
	if n == 0 || err != nil {
		return Set{}, err
	}
	return Set{Bits: bits, Count: n}, nil
}

// Fill replaces bits by the documents of the set, and returns how many these are.
func (s Set) Fill(bits []uint64) (count int, err error) {
	if s.Tiles == nil {
		clear(bits[copy(bits, s.Bits):])
		return s.Count, nil
	}
	if docs, ok := s.Known(); ok && len(docs)*knownShare <= 64*len(bits) {
		clear(bits)
		for _, doc := range docs {
			bits[doc/64] |= 1 << (doc % 64)
		}
		return len(docs), nil
	}
	const words = TileDocs / 64
	var within uint64
	for t := 0; t*words < len(bits); t++ {
		if t%64 == 0 {
			within = s.Tiles.Within(t / 64)
		}
		to := bits[t*words : min((t+1)*words, len(bits))]
		if within>>(t%64)&1 == 0 {
			clear(to)
			continue
		}
		n := 0
		if len(to) == words {
			n, err = s.Tiles.Tile(t, (*[words]uint64)(to))
		} else {
			var tile [words]uint64
			n, err = s.Tiles.Tile(t, &tile)
			copy(to, tile[:])
		}
		if err != nil {
			return 0, err
		}
		count += n
	}
	return count, nil
}

// Has reports whether a document is in the set.
func (s Set) Has(doc uint32) (bool, error) {
	if s.Tiles == nil {
		return s.Bits != nil && s.Bits[doc/64]>>(doc%64)&1 == 1, nil
	}
	t := int(doc / TileDocs)
	if s.Tiles.Within(t/64)>>(t%64)&1 == 0 {
		return false, nil
	}
	var tile [64]uint64
	_, err := s.Tiles.Tile(t, &tile)
	return err == nil && tile[doc%TileDocs/64]>>(doc%64)&1 == 1, err
}

// Empty reports whether the set is known to have no documents.
func (s *Set) Empty() bool { return s.Bits == nil && s.Tiles == nil }

// A Node is one clause of a boolean tree. It is either a Leaf, a Set, All, or made of the boolean
// lists.
//
// A document matches a boolean node when it matches every Must and Filter node, at least MinShould
// of the Should nodes and none of the Not nodes. A node with neither Must nor Filter needs at least
// one Should, so one of only Not nodes (or of nothing) matches no document. Its score is the sum
// over the Must and Should nodes that match; Filter and Not never score. A term named by two leaves
// counts twice. With Best, the Should nodes add BestOf of their scores.
type Node struct {
	Leaf      bool // a term: matches the documents of Term
	Term      int  // index into Plan.Weights
	Set       bool // matches the documents of a set, with score 0
	Number    int  // of a Set: index into Segment.Sets
	All       bool // matches every document
	Must      []Node
	Should    []Node
	Filter    []Node
	Not       []Node
	MinShould int

	// Either says that the Should nodes exclude one another: in each segment at most one of them can match.
	Either bool

	Best bool   // of the Should nodes the best counts in full, and of the others a share
	Tie  uint32 // with Best: the share, 0 to TieOne

	// Proximity is a further condition, on positions, or nil. The node then scores as that says, and its
	// children do not score. NewProximity makes such a node.
	Proximity *Proximity

	// Combined replaces the score of a node, or is nil. The node is an OR of lists, whose own scores do not
	// count. NewCombined makes such a node.
	Combined *Combined

	// Function changes the score of a node with clauses, or is nil. It comes before Constant.
	Function *Function

	Constant bool   // the node scores Score for every document it matches, regardless of its children
	Score    uint32 // at the plan's scale
}

// TieOne is the Tie with which the other nodes count in full.
const TieOne = 1 << 16

// BestOf is the score of nodes under a tie-breaker, given the best of their scores and the sum of
// all. It never falls when one of their scores rises.
func BestOf(best, sum, tie uint32) uint32 {
	return best + uint32(uint64(sum-best)*uint64(tie)>>16)
}

// A Hit is one document of an answer.
type Hit struct {
	Doc   uint32 // global number
	Score uint32 // integer score; the public score is Score divided by the plan's scale
}

// TopK is the answer to a plan: at most K hits by descending score, ties by
// ascending document.
type TopK struct {
	Hits  []Hit
	Total int  // accepted documents that match: exact if Exact, else a lower bound
	Exact bool // Total is exact
	Work  Work
}

// Work counts what an executor did. Tests assert these numbers, because they show whether pruning
// skips work.
type Work struct {
	// BlocksDecoded is how many posting blocks had their documents decoded. If a device reads the
	// postings of a list in another form, each 128 of them count as a block. If it reads the list as
	// bits of documents, for a plan of OnlyTotal, all blocks of the list count, each time that the plan
	// names it: a device does not tell which of the bits it has skipped.
	BlocksDecoded int64

	BlocksSkipped int64 // posting blocks of the query's lists that ranking never decoded
	DocsScored    int64 // documents for which a score was computed, fully or partly
	BytesMoved    int64 // bytes copied to a device (0 on the CPU)
	Tasks         int64 // tasks of queries that several goroutines shared; 0 for a query that one ran
}

// Add adds o to w.
func (w *Work) Add(o Work) {
	w.BlocksDecoded += o.BlocksDecoded
	w.BlocksSkipped += o.BlocksSkipped
	w.DocsScored += o.DocsScored
	w.BytesMoved += o.BytesMoved
	w.Tasks += o.Tasks
}
