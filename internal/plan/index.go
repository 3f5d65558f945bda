// Package plan turns a query into what executors answer. A Rewriter analyses texts and brings the query
// into clauses (rewrite.go, clause.go); a planner finds their flat core or keeps a tree, looks their terms
// up, weighs them, and scales the weights to integers (planner.go). A Compiled query explains its scores
// (explain.go). The words of one field, which most queries are, take a short cut (Preparer.Words).
//
// It knows the rules of documents, and sees what is searched through Index and Segment alone. It must
// not know how an index changes or where its bytes lie, who runs a plan, nor the types of queries that
// callers write.
package plan

import (
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// An Index is what is searched: some segments that do not change, and statistics over all of them.
type Index interface {
	Segments() int
	Segment(i int) Segment

	// Field returns how many documents have a field, and its impact table under a similarity.
	Field(name string, sim blockmax.BM25) (docs uint64, table *blockmax.Table)

	// Table returns the impact table of a field under a similarity, as if average were its average length.
	Table(name string, sim blockmax.BM25, average float64) *blockmax.Table

	// Totals returns how many documents have a field, and how many tokens these have in it, or 0 where it
	// keeps no lengths.
	Totals(name string) (docs, tokens uint64)

	// List opens the list of a term in a segment. List.Postings is nil where the term does not occur.
	List(segment int, field, term string) (*cache.List, error)

	// Norms returns the length codes of a field by document, or nil when it keeps none.
	Norms(segment int, field string) ([]uint8, error)

	// Settle is told of the lists that a query has used.
	Settle(lists []*cache.List)
}

// A Segment is a part of an Index.
type Segment interface {
	Reader() segment.Reader
	Base() uint32                // global number of its first document
	Accept() []uint64            // bitset of the documents that are not deleted; nil for all
	Key(l *postings.List) uint64 // names a list, for blockmax.Term.Key
	ByScore() bool               // documents are in order of global score
	At(err error) error          // names the segment in an error
}
