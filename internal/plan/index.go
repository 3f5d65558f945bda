// Package plan turns a query into what executors answer. A Rewriter analyses texts and turns the
// query into clauses (rewrite.go, clause.go). A planner finds their flat core or keeps a tree,
// looks up the terms, weighs them, and scales the weights to integers (planner.go). A Compiled
// query explains its scores (explain.go). Most queries are the words of one field; they take a
// shortcut (Preparer.Words).
//
// The package knows the rules of documents, and sees the index only through Index and Segment. It
// must not know how an index changes, where its bytes are, who runs a plan, or the types of queries
// that callers write.
package plan

import (
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// An Index is a list of immutable segments, with statistics over all of them.
type Index interface {
	Segments() int
	Segment(i int) Segment

	// Field returns how many documents have a field, and its impact table under a similarity.
	Field(name string, sim blockmax.BM25) (docs uint64, table *blockmax.Table)

	// Table returns the impact table of a field under a similarity, with average as its average
	// length.
	Table(name string, sim blockmax.BM25, average float64) *blockmax.Table

	// LengthTable is Table for a field of which lengths are kept, perhaps in other indexes alone.
	LengthTable(sim blockmax.BM25, average float64) *blockmax.Table

	// Totals returns how many documents have a field, and how many tokens these have in it, or 0 if
	// it keeps no lengths.
	Totals(name string) (docs, tokens uint64)

	// Tokens returns how many tokens the documents have in a field, also if it keeps no lengths of them.
	Tokens(name string) uint64

	// List opens the list of a term in a segment. List.Postings is nil if the term does not occur.
	List(segment int, field, term string) (*cache.List, error)

	// Cached returns the list of a term of a sealed segment if it is open, else nil.
	Cached(segment int, field string, term []byte) *cache.List

	// Lists opens the lists of a term in all segments: into[i*step] becomes that of segment i. With
	// later it may leave out that of the last segment. It then returns how many postings that has.
	Lists(field, term string, into []*cache.List, step int, later bool) (postings int, err error)

	// LastHasAll reports whether a document of the last segment may have all terms of a field, of
	// which the rarest comes first.
	LastHasAll(field string, terms []string) bool

	// Filter returns the documents of a segment that pass a filter, or nil if they are not cached. The
	// text describes the filter. KeepFilter receives those that were made since, and may cache them.
	// UseFilter counts a use of a filter that there are other ways to evaluate, and reports whether it
	// is, or would be, cached, or its segment so small that this does not matter.
	Filter(segment int, filter string) *cache.Filter
	KeepFilter(segment int, filter string, f *cache.Filter)
	UseFilter(segment int, filter string) bool

	// Norms returns the length codes of a field by document, or nil if it keeps none, and which of
	// them must be asked for first (blockmax.Term.Lazy).
	Norms(segment int, field string) ([]uint8, *blockmax.LazyNorms, error)

	// Column returns the column of values of a field in a segment, or nil if no document of the segment
	// has one: then the segment has the field's values in its terms alone, if it has any. The errors of
	// the column's methods need Segment.At.
	Column(segment int, field string) (*columns.Column, error)

	// Matching calls visit with each term of a field in a segment that a pattern picks, in no
	// particular order. Terms that no document of the segment has may be among them.
	Matching(segment int, field string, p segment.Pattern, visit func(*segment.Match) error) error

	// Frequent returns those n terms of a field that most documents of a segment have, of the terms that
	// a pattern picks, in the order of segment.MoreFrequent, or all of them if there are fewer.
	Frequent(segment int, field string, p segment.Pattern, n int) ([]segment.TermCount, error)

	// Lookup finds the document of an id in a segment. It may be deleted.
	Lookup(segment int, id string) (doc uint32, ok bool, err error)

	// Stored returns stored fields of the document of an id that is not deleted, and whether there is
	// one. A field has a value, or several as []any.
	Stored(id string, names []string) (fields map[string]any, ok bool, err error)

	// Settle receives the lists that a query has used in the segments of the numbers from <= n < to:
	// those of all terms in the first of them, then of as many in the second, and so on.
	Settle(from, to int, lists []*cache.List)
}

// A Reader is what plans read of a segment, apart from its lists and norms.
type Reader interface {
	Docs() uint32
	Fields() []segment.FieldInfo
	Field(name string) (segment.FieldInfo, bool)
	Rank() ([]uint16, error)
	RankTiles() ([]uint16, error)
	Tiles(field string) ([]segment.Tile, error)
	AppendID(dst []byte, doc uint32) ([]byte, error)
}

// A Segment is a part of an Index.
type Segment interface {
	Reader() Reader
	StoreNumber() uint64         // its number in the store; 0 in memory
	Base() uint32                // global number of its first document
	Accept() []uint64            // bitset of the documents that are not deleted; nil for all
	Key(l *postings.List) uint64 // names a list, for blockmax.Term.Key
	ByScore() bool               // documents are in order of global score
	At(err error) error          // names the segment in an error
}
