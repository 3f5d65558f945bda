package segment

import (
	"sync"
	"unsafe"
)

// A Bulk gathers chunks in memory and writes them as one sealed segment. Unlike a Memory it cannot
// be searched, so it keeps postings as bytes that it does not decode until they are written.
//
// Its dictionary is in partitions with separate tables and arenas, so that several indexers add a
// chunk at once without contention (Wei 2011). The output depends only on the chunks and their
// order.
//
// A Bulk is for one goroutine at a time.
type Bulk struct {
	parts  *Partitions
	shares [][]int // partitions of each indexer, without those of a Sorter

	docs   uint32
	ids    []byte
	idEnds []uint32 // of each document, in ids
	ranks  []uint16 // of each document; nil when all are zero
	stored bool     // at least one document has stored bytes

	fields []*bulkField // in the order in which they first occurred
	byName map[string]*bulkField

	values       []*gatheredValues // in the order in which they first occurred
	valuesByName map[string]*gatheredValues

	off *offload // nil without a Sorter
}

// A bulkField is one field.
type bulkField struct {
	number int       // in Bulk.fields
	info   FieldInfo // without Terms
	docs   []fieldDoc
	parts  []*bulkPart // nil for a partition without terms: a field of a few documents has few
}

// A fieldDoc is a document that has a field.
type fieldDoc struct {
	doc, best uint32 // best: highest frequency
	code      uint8  // length code
}

// A bulkPart is the terms of one field in one partition.
type bulkPart struct {
	terms  termTable
	lists  []runList // by number of the term
	places []runList // positions of the same, in a field with positions
	arena  []byte    // holds their bytes
}

// NewBulk returns an empty Bulk for the given number of indexers.
func NewBulk(parts *Partitions, indexers int) *Bulk {
	return &Bulk{parts: parts, shares: parts.share(max(indexers, 1)), byName: make(map[string]*bulkField)}
}

// bulkLimit is the limit of 32-bit offsets, with some room.
const bulkLimit = 1 << 31

// Full reports whether the Bulk takes at least budget bytes of memory, or as much as a segment can
// hold. It must then be written.
func (b *Bulk) Full(budget int64) bool {
	full := len(b.ids) > bulkLimit/2 || b.docs > maxDocs/2
	for _, f := range b.fields {
		for i := range f.parts {
			p := f.parts[i]
			full = full || p != nil && (len(p.arena) > bulkLimit/2 || len(p.terms.arena) > bulkLimit/2)
		}
	}
	for _, g := range b.values {
		full = full || g.full()
	}
	return full || b.bytes() >= budget
}

// bulkFieldOverhead is roughly the memory of a field besides its documents and terms.
const bulkFieldOverhead = 256

// bytes is roughly the memory that the Bulk takes.
func (b *Bulk) bytes() int64 {
	n := int64(cap(b.ids)) + 4*int64(cap(b.idEnds)) + 2*int64(cap(b.ranks))
	for _, f := range b.fields {
		n += bulkFieldOverhead + 12*int64(cap(f.docs)) + 8*int64(len(f.parts))
		for _, p := range f.parts {
			if p == nil {
				continue
			}
			n += int64(unsafe.Sizeof(*p)) + p.terms.bytes() + runListBytes*int64(cap(p.lists)+cap(p.places)) + int64(cap(p.arena))
		}
	}
	for _, g := range b.values {
		n += g.bytes()
	}
	if b.off != nil {
		n += b.off.held()
	}
	return n
}

// Add appends the documents of a chunk. The chunk must have been grouped with the Partitions of
// this Bulk. Add does not keep it.
func (b *Bulk) Add(c *Chunk) {
	base := b.docs
	at := uint32(len(b.ids))
	b.ids = append(b.ids, c.ids...)
	for _, end := range c.idEnds {
		b.idEnds = append(b.idEnds, at+end)
	}
	if len(c.ranks) > 0 && b.ranks == nil {
		b.ranks = make([]uint16, base, base+c.docs)
	}
	if b.ranks != nil {
		b.ranks = append(b.ranks, c.ranks...)
		b.ranks = append(b.ranks, make([]uint16, c.docs-uint32(len(c.ranks)))...)
	}
	b.stored = b.stored || len(c.stored) > 0
	b.docs += c.docs
	var into []*bulkField
	for _, f := range c.fields {
		into = append(into, b.addDocs(f, base))
	}
	values := b.valuesFor(c)
	shares := b.shares // those of this chunk, even when keep gives partitions back
	kept := b.keep(c, into, base)
	index := func(share int) {
		for i, f := range c.fields {
			if into[i] == nil {
				continue
			}
			for _, p := range shares[share] {
				into[i].add(p, f.partition(p), f.placed, base)
			}
		}
		kept.copy(share, len(shares))
		addValues(c, values, share, len(shares), base)
	}
	var wg sync.WaitGroup
	for i := range shares[1:] {
		wg.Go(func() { index(i + 1) })
	}
	index(0)
	wg.Wait()
}

// addDocs adds the per-document data of a field. It returns nil for a field that no document of the
// chunk has.
func (b *Bulk) addDocs(c *chunkField, base uint32) *bulkField {
	if len(c.docs) == 0 {
		return nil
	}
	f := b.byName[c.name]
	if f == nil {
		f = &bulkField{number: len(b.fields), info: FieldInfo{Name: c.name, Positions: c.placed, Pairs: c.pairs}, parts: make([]*bulkPart, b.parts.n)}
		b.byName[c.name] = f
		b.fields = append(b.fields, f)
	}
	for _, d := range c.docs {
		f.docs = append(f.docs, fieldDoc{base + d.doc, d.best, d.code})
		if d.best > 0 {
			f.info.Docs++
		}
	}
	if f.info.Pairs != c.pairs {
		f.info.Pairs = ""
	}
	f.info.Norms = f.info.Norms || c.norms
	f.info.Postings += c.counted
	f.info.Tokens += c.tokens
	return f
}

// partition returns the records of a partition.
func (f *chunkField) partition(p int) []byte {
	start := 0
	if p > 0 {
		start = f.ends[p-1]
	}
	return f.runs[start:f.ends[p]]
}

// add adds the records of a partition of a chunk whose first document is base. Different partitions
// may be added concurrently.
func (f *bulkField) add(part int, records []byte, placed bool, base uint32) {
	if len(records) == 0 {
		return
	}
	if f.parts[part] == nil {
		f.parts[part] = new(bulkPart)
	}
	f.parts[part].add(records, placed, f.info.Positions, base)
}

// add adds the records of a partition of a chunk whose first document is base. placed says whether
// they have positions, and keep whether the field has.
func (p *bulkPart) add(records []byte, placed, keep bool, base uint32) {
	var batch recordBatch
	for len(records) > 0 {
		records = batch.read(records, placed)
		p.fetch(&batch)
		for i := range batch.n {
			n := p.addRecord(&batch.records[i], base)
			if keep {
				p.addPlaces(&batch.records[i], n)
			}
		}
	}
}

// addPlaces adds the positions of a record of a term.
func (p *bulkPart) addPlaces(r *runRecord, term uint32) {
	if int(term) == len(p.places) {
		p.places = append(p.places, runList{})
	}
	p.arena = p.places[term].append(p.arena, r.positions())
}

// fetch touches the memory that the terms of some records refer to; see recordBatch.
func (p *bulkPart) fetch(b *recordBatch) {
	b.fetch(&p.terms)
	touched := uint32(0)
	for _, n := range b.numbers[:b.n] {
		if n > 0 {
			touched += p.lists[n-1].n
		}
	}
	for _, n := range b.numbers[:b.n] {
		if n > 0 {
			touched += uint32(p.arena[p.lists[n-1].at-1])
		}
	}
	if len(p.places) > 0 {
		for _, n := range b.numbers[:b.n] {
			if n > 0 {
				touched += p.places[n-1].at
			}
		}
		for _, n := range b.numbers[:b.n] {
			if n > 0 {
				touched += uint32(p.arena[p.places[n-1].at-1])
			}
		}
	}
	b.touched += touched
}

// addRecord adds the postings of a record and returns the number of the term.
func (p *bulkPart) addRecord(r *runRecord, base uint32) (term uint32) {
	s := p.terms.keyed(r.key, r.term)
	if int(s.number) > len(p.lists) {
		p.lists = append(p.lists, runList{last: noDoc})
	}
	l := &p.lists[s.number-1]
	var head [12]byte
	p.arena = l.append(p.arena, appendRun(head[:0], base+r.first-l.last-1, r.tf))
	p.arena = l.append(p.arena, r.rest)
	l.last = base + r.first + r.span
	l.n += r.n
	return s.number - 1
}

// varint reads a number of at most 32 bits that this package has written.
func varint(b []byte) (uint32, []byte) {
	v := uint32(b[0])
	if v < 0x80 {
		return v, b[1:]
	}
	v &= 0x7f
	for i, shift := 1, 7; ; i, shift = i+1, shift+7 {
		v |= uint32(b[i]&0x7f) << shift
		if b[i] < 0x80 {
			return v, b[i+1:]
		}
	}
}
