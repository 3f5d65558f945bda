package segment

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/riffle-search/riffle/postings"
)

// runReaderSpace is room for unpacked postings.
type runReaderSpace struct {
	docs, tfs [runBatch]uint32
	codes     [runBatch]uint8
	byDoc     []uint8 // length codes of a chunk's documents
}

// OnePartition is the Partitions for chunks that are added to a Memory.
var OnePartition = newPartitions(new([prefixes]uint64))

// AddChunk appends the documents of a chunk that was grouped with OnePartition, and returns the
// number of the first. Later views show them. An id that already exists gets a second document: the
// caller deletes the first, which LookupBelow finds.
//
// Readers of views wait for at most some microseconds: AddChunk adds a few postings at a time, for
// documents that no view shows yet.
func (m *Memory) AddChunk(c *Chunk) (first uint32) {
	m.writer.Lock()
	defer m.writer.Unlock()
	first = m.Docs()
	if uint64(first)+uint64(c.docs) > maxDocs {
		panic(fmt.Sprintf("BUG: segment: %d documents behind %d, want below %d", c.docs, first, maxDocs))
	}
	for _, f := range c.fields {
		if len(f.docs) > 0 {
			m.addChunkField(f, first, c.docs)
		}
	}
	ids, stored := string(c.ids), append([]byte(nil), c.stored...) // the documents share them
	grown := int64(cap(stored))
	idAt, storedAt := uint32(0), 0
	m.mu.Lock()
	defer m.mu.Unlock()
	for doc := range c.docs {
		if doc%lockedRecords == lockedRecords-1 {
			m.mu.Unlock() // no view begins before AddChunk ends, so none has some of the documents
			runtime.Gosched()
			m.mu.Lock()
		}
		grown += m.addID(ids[idAt:c.idEnds[doc]])
		rank := uint16(0)
		if len(c.ranks) > 0 {
			rank = c.ranks[doc]
		}
		end := c.storedEnds[doc]
		m.addColumns(first+doc, stored[storedAt:end:end], rank)
		idAt, storedAt = c.idEnds[doc], end
	}
	m.bytes.Add(grown + m.columnsGrown())
	return first
}

// addChunkField adds the postings of one field of a chunk's documents.
func (m *Memory) addChunkField(c *chunkField, first, docs uint32) {
	f := m.addChunkDocs(c, first, docs)
	var batch recordBatch
	for records := c.runs; len(records) > 0; {
		m.mu.Lock()
		var grown int64
		for n := 0; n < lockedRecords && len(records) > 0; n += batch.n {
			records = batch.read(records)
			f.fetch(&batch)
			for i := range batch.n {
				grown += m.addRecord(f, &batch.records[i], first)
			}
		}
		m.bytes.Add(grown + f.grown())
		m.mu.Unlock()
		runtime.Gosched() // to readers, and rather here than with the lock in hand
	}
}

// lockedRecords is how many terms are added under one lock: some 20 µs.
const lockedRecords = 64

// addChunkDocs adds the per-document data of a field and returns the field.
func (m *Memory) addChunkDocs(c *chunkField, first, docs uint32) *memoryField {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, grown := m.field(c.name)
	m.changed(f)
	s := &m.chunk
	s.byDoc = slices.Grow(s.byDoc[:0], int(docs))[:docs] // read only for documents that have the field
	for _, d := range c.docs {
		f.addLength(first+d.doc, d.code, c.norms)
		s.byDoc[d.doc] = d.code
		if d.best > 0 {
			f.info.Docs++
		}
	}
	f.info.Postings += c.counted
	f.info.Tokens += c.tokens
	m.bytes.Add(grown)
	return f
}

// fetch touches the memory that the terms of some records refer to; see recordBatch.
func (f *memoryField) fetch(b *recordBatch) {
	b.fetch(&f.table)
	for _, n := range b.numbers[:b.n] {
		if n > 0 {
			b.touched += f.term(n - 1).first
		}
	}
}

// addRecord adds the postings of a chunk's record. It returns the growth in memory.
func (m *Memory) addRecord(f *memoryField, r *runRecord, first uint32) (grown int64) {
	s := &m.chunk
	t := f.findOrAdd(r.key, r.term, first+r.first)
	blocks := t.list.Len() / postings.BlockSize
	run := runReader{data: r.rest, doc: first + r.first}
	s.docs[0], s.tfs[0] = run.doc, r.tf
	for n := 1 + run.read(s.docs[1:], s.tfs[1:]); n > 0; n = run.read(s.docs[:], s.tfs[:]) {
		for i, doc := range s.docs[:n] {
			s.codes[i] = s.byDoc[doc-first]
		}
		t.list.AddAll(s.docs[:n], s.tfs[:n], s.codes[:n])
	}
	if blocks > 0 && t.list.Len()/postings.BlockSize == blocks {
		return 0 // what its tail has grown counts with the next block: looking would be a cache miss
	}
	return t.grown()
}
