package function

import (
	"sync/atomic"

	"github.com/riffle-search/riffle/columns"
)

// A Table keeps the numbers of a segment that have been computed, and bounds on them. Segments of one
// function, one exponent and one state of the columns can share a table, so that searches that ask for the
// same function again find its numbers. It is safe for concurrent use.
type Table struct {
	docs  uint32
	tiles []tableTile
}

type tableTile struct {
	bound atomic.Uint64 // of all numbers, plus 1; 0 for one that is not known yet
	asked atomic.Uint32 // documents asked for
	words atomic.Pointer[[columns.TileDocs / 64]uint32]
	all   atomic.Pointer[[columns.TileDocs]uint32]
}

// NewTable returns a table of a segment of docs documents, without numbers.
func NewTable(docs uint32) *Table {
	return &Table{docs: docs, tiles: make([]tableTile, (uint64(docs)+columns.TileDocs-1)/columns.TileDocs)}
}

// Docs is the number of documents of the segment.
func (t *Table) Docs() uint32 { return t.docs }

// Bytes is the memory of a table that has all numbers.
func (t *Table) Bytes() int { return len(t.tiles) * (4*columns.TileDocs + 4*columns.TileDocs/64 + 32) }

// keep adds the numbers of a whole tile.
func (t *tableTile) keep(numbers *[columns.TileDocs]uint32) {
	words := new([columns.TileDocs / 64]uint32)
	for d, n := range numbers {
		words[d/64] = max(words[d/64], n)
	}
	t.words.Store(words)
	t.all.Store(numbers)
}
