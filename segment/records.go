package segment

import (
	"encoding/binary"

	"github.com/riffle-search/riffle/postings"
)

// A runRecord is a chunk's record of one term; see Chunk.Group.
type runRecord struct {
	term      []byte
	key       uint64 // termKey of it
	n         uint32
	first, tf uint32
	span      uint32
	rest      []byte
	places    []byte // positions of all postings; nil in a field without
}

// readRecord reads a record of appendRecord, or in a field with positions of appendPlaces as well. It
// returns the bytes after it.
func readRecord(b []byte, placed bool) (r runRecord, next []byte) {
	n, b := varint(b)
	r.term, b = b[:n], b[n:]
	r.n, b = varint(b)
	r.first, b = varint(b)
	r.tf, b = varint(b)
	r.span, b = varint(b)
	n, b = varint(b)
	r.rest, b = b[:n], b[n:]
	if placed {
		n, b = varint(b)
		r.places, b = b[:n], b[n:]
	}
	return r, b
}

// convertRecords copies records into the form of a field with positions from that of one without, or
// the other way round.
func convertRecords(records []byte, placed bool) []byte {
	var out []byte
	for len(records) > 0 {
		r, next := readRecord(records, !placed)
		record := records[:len(records)-len(next)]
		if placed {
			places := r.positions()
			out = binary.AppendUvarint(append(out, record...), uint64(len(places)))
			out = append(out, places...)
		} else {
			length := binary.AppendUvarint(nil, uint64(len(r.places)))
			out = append(out, record[:len(record)-len(r.places)-len(length)]...)
		}
		records = next
	}
	return out
}

// A recordBatch is some records that are added together, so that their cache misses overlap.
//
// Nearly all memory that a term of a large dictionary refers to is outside the near caches. Looked
// up one after the other, each term waits for its slot, then for its bytes, then for its list, and
// mispredicted branches stop the core from looking ahead. fetch goes over the terms once for each
// of these, with independent loads and no unpredictable branches. That halves the time of adding.
type recordBatch struct {
	records [16]runRecord
	numbers [16]uint32 // of the terms, plus one; 0 for a term that is new or not in its first slot
	long    [16]uint32 // those of long terms
	n       int
	touched uint32 // keeps the compiler from removing the loads
}

// read reads the next records and returns the bytes after them.
func (b *recordBatch) read(records []byte, placed bool) []byte {
	for b.n = 0; b.n < len(b.records) && len(records) > 0; b.n++ {
		r := &b.records[b.n]
		*r, records = readRecord(records, placed)
		r.key = termKey(r.term)
	}
	return records
}

// fetch finds the numbers of the terms that are in their first slot, and touches their bytes.
func (b *recordBatch) fetch(t *termTable) {
	b.numbers = [16]uint32{}
	if len(t.ends) < smallTable {
		return
	}
	mask := uint64(len(t.slots) - 1)
	long := 0
	for i := range b.n {
		key := b.records[i].key
		n := t.slots[key*hashOdd>>t.shift&mask].number
		b.numbers[i] = n
		b.long[long&15] = n
		if key >= longTerm && n > 0 {
			long++
		}
	}
	touched := uint32(0)
	for _, n := range b.long[:long] { // the key of a short term is all of it
		touched += t.ends[n-1]
	}
	for _, n := range b.long[:long] {
		touched += uint32(t.arena[max(t.ends[n-1], 1)-1])
	}
	b.touched += touched
}

// smallTable is a table that stays in a near cache.
const smallTable = 1024

// positions returns the positions of all postings. Those of a record without are 0.
func (r *runRecord) positions() []byte {
	if r.places != nil {
		return r.places
	}
	sum := uint64(r.tf)
	run := runReader{data: r.rest}
	for {
		var docs, tfs [postings.BlockSize]uint32
		n := run.read(docs[:], tfs[:])
		if n == 0 {
			return make([]byte, sum)
		}
		for _, tf := range tfs[:n] {
			sum += uint64(tf)
		}
	}
}
