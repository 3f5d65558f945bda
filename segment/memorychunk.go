package segment

import (
	"fmt"
	"runtime"
	"sync"
)

// runReaderSpace is room for unpacked postings.
type runReaderSpace struct {
	docs, tfs [runBatch]uint32
	places    []byte
	codes     [runBatch]uint8
}

// onePartition is made when it is first needed: that takes half a megabyte, and most of the time of
// this package at the start of a program.
var onePartition = sync.OnceValue(func() *Partitions { return newPartitions(new([prefixes]uint64)) })

// OnePartition returns the Partitions for chunks that are added to a Memory.
func OnePartition() *Partitions { return onePartition() }

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
			m.addChunkField(f, first)
		}
	}
	m.addValues(c, first)
	stored := append([]byte(nil), c.stored...) // the documents share it
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
		grown += m.addID(c.ids[idAt:c.idEnds[doc]])
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
func (m *Memory) addChunkField(c *chunkField, first uint32) {
	f := m.addChunkDocs(c, first)
	var batch recordBatch
	for records := c.runs; len(records) > 0; {
		m.mu.Lock()
		var grown int64
		for n := 0; n < lockedRecords && len(records) > 0; n += batch.n {
			records = batch.read(records, c.placed)
			f.fetch(&batch)
			for i := range batch.n {
				r := &batch.records[i]
				t, number := f.findOrAdd(r.key, r.term, first+r.first)
				grown += f.add(t, number, r, first, &m.chunk)
			}
		}
		m.bytes.Add(grown + f.grown() + m.columnsGrown())
		m.mu.Unlock()
		runtime.Gosched() // to readers, and rather here than with the lock in hand
	}
}

// lockedRecords is how many terms are added under one lock: some 20 µs.
const lockedRecords = 64

// addChunkDocs adds the per-document data of a field and returns the field.
func (m *Memory) addChunkDocs(c *chunkField, first uint32) *memoryField {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, grown := m.field(c.name, c.placed)
	m.changed(f)
	f.keepPairs(c.pairs)
	for _, d := range c.docs {
		f.addLength(first+d.doc, d.code, c.norms)
		if d.best > 0 {
			f.info.Docs++
		}
	}
	f.info.Postings += c.counted
	f.info.Tokens += c.tokens
	m.bytes.Add(grown)
	return f
}

// keepPairs notes that documents have the pairs of some words. Once others have those of other words,
// or none, the field has none.
func (f *memoryField) keepPairs(words string) {
	if f.paired && words != f.info.Pairs {
		words = ""
	}
	f.info.Pairs, f.paired = words, true
}

// fetch touches the memory that the terms of some records refer to; see recordBatch.
func (f *memoryField) fetch(b *recordBatch) {
	if f.table.taken < smallTable {
		return
	}
	for i := range b.n {
		hash := b.records[i].key * hashOdd
		p := f.table.page(hash)
		b.numbers[i] = p.slots[p.first(hash)].number
	}
	touched := uint32(0)
	for _, n := range b.numbers[:b.n] {
		if n > 0 {
			touched += f.term(n - 1).room
		}
	}
	for i, n := range b.numbers[:b.n] {
		if n > 0 {
			t := f.term(n - 1)
			room := f.arena.at(t.room)
			touched += uint32(room[min(int(t.used), len(room)-1)])
			if b.records[i].key >= longTerm {
				touched += uint32(f.arena.at(t.name)[0])
			}
		}
	}
	b.touched += touched
}
