package segment

import (
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/postings"
)

// A Reader is one segment, in memory (*MemoryView) or sealed (*Disk). Documents are numbered 0 to
// Docs()-1. What a method returns belongs to the segment: callers may keep it but must not change
// it.
//
// All methods are safe for concurrent use. Damaged bytes come back as a
// *corrupt.Error that names the key; a document number that is out of range is
// the caller's bug and panics.
type Reader interface {
	// Docs is the number of documents, deleted ones included: deletions are
	// kept outside the segment.
	Docs() uint32

	// Order returns the order of the documents.
	Order() Order

	// Fields lists the indexed fields by ascending name, without those of pairs (PairField).
	Fields() []FieldInfo

	// Field returns the FieldInfo of a field, and whether the segment has it.
	Field(name string) (FieldInfo, bool)

	// List opens the posting list of a term, or returns nil when no document of the segment has it.
	// Opening reads the directory of the list and no payload; A list stays valid as long as the
	// segment.
	List(field string, term []byte) (*postings.List, error)

	// Norms returns the length codes of a field's documents. They are the zero
	// Norms when the field keeps no lengths; then every document counts as code 1.
	Norms(field string) (Norms, error)

	// Rank returns the static rank of each document as a 16-bit fraction, or
	// nil when all are zero.
	Rank() ([]uint16, error)

	// RankTiles returns the highest rank of each tile of blockmax.TileDocs
	// documents, or nil when all are zero.
	RankTiles() ([]uint16, error)

	// Tiles returns the bounds of a field's scores: the tiles in which a document has the field,
	// ascending. A segment in memory has no tiles and returns nil.
	Tiles(field string) ([]Tile, error)

	// Columns lists the fields that have a column of values, by ascending name.
	Columns() []string

	// Column opens the column of values of a field, or returns nil when no document of the segment has
	// one. Opening reads its directory; the column reads more when it is needed, and is valid as long
	// as the segment. Callers keep it: the next call opens it anew, unless the segment is in memory.
	Column(field string) (*columns.Column, error)

	// ID returns the id of a document.
	ID(doc uint32) (string, error)

	// AppendID appends the id to dst, for callers that need many.
	AppendID(dst []byte, doc uint32) ([]byte, error)

	// Lookup finds the document of an id. Of several in a segment in memory it returns the last; a
	// sealed segment has only one.
	Lookup(id string) (doc uint32, ok bool, err error)

	// Stored returns the stored bytes of a document, nil when it has none.
	Stored(doc uint32) ([]byte, error)

	// Terms iterates over the terms >= from of a field, in ascending byte order.
	Terms(field string, from []byte) (TermIterator, error)

	// IDs iterates over the ids >= from, in ascending byte order. An id that was added twice in
	// memory occurs twice.
	IDs(from string) (IDIterator, error)
}

// FieldInfo describes one field of a segment. The numbers include documents deleted since the
// segment was written.
type FieldInfo struct {
	Name     string
	Norms    bool   // lengths are kept, see Reader.Norms: some documents have words in the field
	Docs     uint32 // documents with at least one term in the field
	Terms    uint64 // distinct terms
	Postings uint64 // sum of the lengths of all lists
	Tokens   uint64 // sum of all term frequencies; Tokens / Docs is the average length

	// Positions says that lists have positions. Those of a sealed segment only do if there are words
	// in the field: exact terms are all at position 0.
	Positions bool

	// Pairs are the words of which the segment has lists of pairs: ascending, with a zero byte between
	// them. They are empty if there are no such lists. See PairField.
	Pairs string
}

// LacksPositions reports whether the field has words without positions. A segment has all of a
// field's or none: a merge drops them if one of its inputs lacks them.
func (f FieldInfo) LacksPositions() bool { return f.Norms && !f.Positions }

// A Tile bounds every score that a document of the tile can reach in one field, for any query: a
// document's best posting has its highest term frequency, at its length.
type Tile struct {
	number uint32            // of the tile: its first document divided by blockmax.TileDocs
	best   []postings.Impact // Pareto-best (highest frequency, length code) pairs
}

// A TermIterator walks the terms of one field. It starts before the first term. Term is valid until
// the next call of Next.
type TermIterator interface {
	Next() bool
	Term() []byte
	List() (*postings.List, error) // opens the list of the term; it outlives the iterator
	Err() error
	Close() error
}

// An IDIterator walks ids in ascending order. It starts before the first one. ID is valid until the
// next call of Next.
type IDIterator interface {
	Next() bool
	ID() []byte
	Doc() uint32
	Err() error
	Close() error
}
