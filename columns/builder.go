package columns

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"slices"
)

// A Builder encodes a column. Its memory is bounded by a chunk, unless it keeps the parts for View.
// After an error, only that error can be expected of it.
type Builder struct {
	kind  Kind
	emit  func(part uint32, data []byte) error
	terms *dictionaryBuilder

	pending pending
	next    uint32 // the lowest document that may be added
	tiles   []tile
	chunk   []byte // of the payload, without its guard
	chunks  []int  // sizes of those that are full
	sums    []uint32
	kept    [][]byte
	keys    uint64 // limit of keys
	begun   bool   // a document was added
	places  bool   // some value may be a place
	err     error
}

// NewBuilder returns a builder of an empty column. It gives parts to emit in ascending order, which
// may keep them. A nil emit leaves parts in memory, for View.
func NewBuilder(kind Kind, emit func(part uint32, data []byte) error) *Builder {
	b := &Builder{kind: kind, emit: emit, keys: ^uint64(0)}
	switch kind {
	case Bool:
		b.keys = 1
	case Terms:
		b.terms = newDictionaryBuilder(b.give)
	case Place:
		b.places = true
	}
	return b
}

func (b *Builder) give(part uint32, data []byte) error {
	if b.emit == nil {
		if part < PayloadParts {
			b.terms.kept = append(b.terms.kept, data)
		} else {
			b.kept = append(b.kept, data)
		}
		return nil
	}
	return b.emit(part, data)
}

// Term adds a term to the dictionary of a column of kind Terms. Terms come in ascending order, all
// before the first document. The first has key 0.
func (b *Builder) Term(term []byte) error {
	if b.terms == nil || b.begun {
		panic("BUG: columns: a term for a column of kind " + b.kind.String() + ", or behind documents")
	}
	b.places = b.places || bytes.HasPrefix(term, []byte(placePrefix))
	if b.err == nil {
		b.err = b.terms.add(term)
	}
	return b.err
}

// HasPlaces reports whether the column has places, or terms of places: readers must know these.
func (b *Builder) HasPlaces() bool { return b.places && len(b.tiles) > 0 }

// begin ends the dictionary.
func (b *Builder) begin() {
	if b.begun {
		return
	}
	b.begun = true
	if b.terms != nil && b.err == nil {
		b.keys = uint64(b.terms.index.n) - 1
		b.err = b.terms.end()
	}
}

// Add adds a document with its keys, in any order. Documents come in ascending order; those without
// a key may be left out.
func (b *Builder) Add(doc uint32, keys ...uint64) error {
	if b.err != nil || len(keys) == 0 {
		return b.err
	}
	if doc < b.next || doc >= MaxDocs {
		panic(fmt.Sprintf("BUG: columns: document %d behind %d", doc, int64(b.next)-1))
	}
	b.begin()
	for _, k := range keys {
		if k > b.keys || b.terms != nil && b.terms.index.n == 0 {
			panic(fmt.Sprintf("BUG: columns: key %d in a column of kind %s, at most %d", k, b.kind, b.keys))
		}
	}
	b.next = doc + 1
	if number := doc / TileDocs; number != b.pending.number {
		if b.err == nil && len(b.pending.docs) > 0 {
			b.err = b.endTile(TileDocs)
		}
		b.pending.number = number
	}
	if b.err == nil && len(b.pending.keys)+len(keys) > maxValues-TileDocs {
		b.err = fmt.Errorf("columns: documents %d to %d have more than %d values", doc/TileDocs*TileDocs, doc, maxValues-TileDocs)
	}
	if b.err != nil {
		return b.err
	}
	b.pending.add(uint16(doc%TileDocs), keys)
	return nil
}

// endTile encodes the pending tile, and ends a chunk that has become full.
func (b *Builder) endTile(length int) error {
	var t tile
	at := len(b.chunk)
	t, b.chunk = b.pending.encode(b.chunk, length)
	t.chunk, t.at = uint32(len(b.chunks)), uint32(at)
	b.tiles = append(b.tiles, t)
	b.pending.reset()
	if len(b.chunk) < chunkBytes {
		return nil
	}
	return b.endChunk()
}

func (b *Builder) endChunk() error {
	part := guarded(b.chunk)
	b.chunks = append(b.chunks, len(part))
	b.sums = append(b.sums, crc32.Checksum(part, castagnoli))
	b.chunk = b.chunk[:0]
	return b.give(PayloadParts+uint32(len(b.chunks)-1), part)
}

// guarded returns a copy of a chunk with its guard.
func guarded(chunk []byte) []byte {
	return append(make([]byte, 0, len(chunk)+guardBytes), chunk...)[:len(chunk)+guardBytes]
}

// Finish ends a column of a segment of that many documents, and emits the rest of it, the directory
// last. A column without a value has no parts.
func (b *Builder) Finish(docs uint32) error {
	d, err := b.end(docs)
	if err != nil || d == nil {
		return err
	}
	if b.err = b.give(DirectoryPart, appendDirectory(nil, d)); b.err == nil {
		b.err = errFinished
	}
	if b.err == errFinished {
		return nil
	}
	return b.err
}

var errFinished = fmt.Errorf("columns: the column is finished")

// end encodes what is pending, and returns the directory, or nil without a value.
func (b *Builder) end(docs uint32) (*directory, error) {
	if docs < b.next || docs > MaxDocs {
		panic(fmt.Sprintf("BUG: columns: a segment of %d documents has document %d", docs, int64(b.next)-1))
	}
	if b.err == nil && len(b.pending.docs) > 0 {
		length := min(TileDocs, int64(docs)-int64(b.pending.number)*TileDocs)
		b.err = b.endTile(int(length))
	}
	if b.err != nil || len(b.tiles) == 0 {
		return nil, b.err
	}
	d := &directory{kind: b.kind, docs: docs, tiles: b.tiles}
	if len(b.chunks) == 0 && len(b.chunk) <= inline {
		d.inlined = guarded(b.chunk)
		b.chunks = append(b.chunks, len(d.inlined))
	} else if len(b.chunk) > 0 || int(b.tiles[len(b.tiles)-1].chunk) == len(b.chunks) {
		b.err = b.endChunk()
	}
	d.chunks, d.sums = b.chunks, b.sums
	if b.terms != nil {
		d.terms = &b.terms.index
	}
	return d, b.err
}

// View returns the column of what was added so far, as one of a segment of that many documents. Only
// a builder without emit has views. It shares the memory of full tiles with later views; a view
// costs as much as encoding one tile and copying a chunk.
func (b *Builder) View(docs uint32) (*Column, error) {
	if b.emit != nil {
		panic("BUG: columns: View of a builder that emits parts")
	}
	b.begin()
	if b.err != nil {
		return nil, b.err
	}
	if docs < b.next || docs > MaxDocs {
		panic(fmt.Sprintf("BUG: columns: a view of %d documents has document %d", docs, int64(b.next)-1))
	}
	d := &directory{kind: b.kind, docs: docs, tiles: slices.Clone(b.tiles), chunks: slices.Clone(b.chunks)}
	chunks := slices.Clone(b.kept)
	last := slices.Clone(b.chunk)
	if len(b.pending.docs) > 0 {
		length := int(min(TileDocs, int64(docs)-int64(b.pending.number)*TileDocs))
		at := len(last)
		var t tile
		t, last = b.pending.encode(last, length)
		t.chunk, t.at = uint32(len(b.chunks)), uint32(at)
		d.tiles = append(d.tiles, t)
	}
	if n := len(d.tiles); n > 0 && int(d.tiles[n-1].chunk) == len(chunks) {
		chunks = append(chunks, guarded(last))
		d.chunks = append(d.chunks, len(chunks[len(chunks)-1]))
	}
	if b.terms != nil {
		d.terms = &b.terms.index
	}
	d.sumUp()
	c := newColumn(d, nil)
	for i := range chunks {
		c.chunks[i].Store(&chunks[i])
	}
	if b.terms != nil {
		for i := range b.terms.kept {
			c.dictionary.parts[i].Store(&b.terms.kept[i])
		}
	}
	return c, nil
}
