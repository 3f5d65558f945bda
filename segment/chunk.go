package segment

import (
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
)

// A Chunk is a run of consecutive documents, inverted: each term has the documents that contain it.
// Parsers pass documents to indexers in chunks. One goroutine makes a chunk, and many are made at
// once. A Memory or Bulk then finds each term once per chunk instead of once per document, and a
// Bulk takes its postings as bytes without decoding them.
//
// For each document call Begin, then for each of its fields Field, any number of Add, AddAt or
// AddWords and EndField, Value for what its columns have, and finally End; or Abandon, at any point, to drop the document. After the last document, Group
// makes the chunk ready to be added. The zero value is an empty chunk; Reset empties a chunk and
// keeps its memory.
type Chunk struct {
	docs   uint32
	ids    []byte
	idEnds []uint32 // of each document, in ids
	ranks  []uint16 // of each document; nil when all are zero

	stored     []byte      // of all documents
	storedEnds []int       // of each document, in stored
	packed     storedBatch // the same, compressed

	fields []*chunkField // in the order in which they first occurred
	byName map[string]*chunkField
	open   []*chunkField // fields of the current document
	cur    *chunkField

	values       []*chunkValues // in the order in which they first occurred
	valuesByName map[string]*chunkValues
	openValues   []*chunkValues // with values of the current document

	wordLookup
	grouping
}

// A chunkField is one field of a chunk's documents.
type chunkField struct {
	name     string
	norms    bool
	placed   bool      // terms have positions
	pairs    string    // see FieldInfo.Pairs
	table    termTable // last of a slot is one more than the place of its last posting
	postings []chunkPosting
	places   []chunkPlace // of the tokens, in order, if they have positions
	docs     []chunkDoc
	begin    int    // where the postings of the current document begin, plus one
	from     int    // where its places begin
	begun    bool   // the current document has the field
	counted  uint64 // postings of documents that were not abandoned
	tokens   uint64

	runs []byte // see Group
	ends []int  // of the runs of each partition
}

// A chunkPosting is a posting of the current document or of an earlier one.
type chunkPosting struct{ term, tf uint32 }

// A chunkPlace is a token of the current document or of an earlier one.
type chunkPlace struct{ term, at uint32 }

// A chunkDoc is a document that has the field.
type chunkDoc struct {
	doc        uint32
	start, end uint32 // its postings
	from, to   uint32 // its places
	best       uint32 // highest frequency
	code       uint8  // length code
}

// Reset empties the chunk.
func (c *Chunk) Reset() {
	if len(c.fields) > maxKeptFields { // field names that are data
		c.fields, c.byName = nil, nil
	}
	for _, f := range c.fields {
		f.reset()
	}
	c.docs, c.ids, c.idEnds, c.ranks = 0, c.ids[:0], c.idEnds[:0], c.ranks[:0]
	c.stored, c.storedEnds = c.stored[:0], c.storedEnds[:0]
	c.packed.reset()
	c.open, c.cur = c.open[:0], nil
	c.resetValues()
}

// maxKeptFields is how many fields a Chunk remembers from one use to the next.
const maxKeptFields = 256

func (f *chunkField) reset() {
	f.table.reset()
	f.postings, f.places, f.docs, f.runs, f.ends = f.postings[:0], f.places[:0], f.docs[:0], f.runs[:0], f.ends[:0]
	f.norms, f.placed, f.pairs, f.begun, f.counted, f.tokens = false, false, "", false, 0, 0
}

// Docs is the number of documents in the chunk.
func (c *Chunk) Docs() uint32 { return c.docs }

// Fields yields the names of the fields in the chunk, each with the first document that has it, but not
// those of pairs.
func (c *Chunk) Fields() iter.Seq2[string, uint32] {
	return func(yield func(string, uint32) bool) {
		for _, f := range c.fields {
			if len(f.docs) > 0 && !IsPairField(f.name) && !yield(f.name, f.docs[0].doc) {
				return
			}
		}
	}
}

// ID returns the id of a document of the chunk.
func (c *Chunk) ID(doc uint32) string {
	start := uint32(0)
	if doc > 0 {
		start = c.idEnds[doc-1]
	}
	return string(c.ids[start:c.idEnds[doc]])
}

// Begin begins a document.
func (c *Chunk) Begin(id string) {
	c.ids = append(c.ids, id...)
	c.open = c.open[:0]
}

// Field begins a field, which the document must not have yet. positions says whether the positions of
// its terms are kept; it is the same for all documents of the chunk.
func (c *Chunk) Field(name string, positions bool) {
	f := c.byName[name]
	if f == nil {
		f = &chunkField{name: name}
		if c.byName == nil {
			c.byName = make(map[string]*chunkField)
		}
		c.byName[name] = f
		c.fields = append(c.fields, f)
	}
	if f.begun {
		panic(fmt.Sprintf("BUG: segment: field %q comes twice in a document", name))
	}
	if len(f.docs) == 0 {
		f.placed, f.pairs = positions, ""
	}
	if f.placed != positions {
		panic(fmt.Sprintf("BUG: segment: field %q with and without positions", name))
	}
	f.begun, f.begin, f.from = true, len(f.postings)+1, len(f.places)
	c.open, c.cur = append(c.open, f), f
}

// Add counts an exact term of the current field, whose position is 0. It copies the term.
func (c *Chunk) Add(term []byte) { c.AddAt(term, 0) }

// AddAt counts a term of the current field at a position, at most postings.MaxPosition. It copies the
// term.
func (c *Chunk) AddAt(term []byte, position uint32) {
	f := c.cur
	s := f.table.slot(term)
	if f.placed {
		f.places = append(f.places, chunkPlace{s.number - 1, position})
	}
	f.count(s)
}

// AddWords counts terms at consecutive positions by their keys: the bytes of a term of up to seven
// bytes, little-endian, with their number in the top byte. Where that number is 255, the key stands
// for the next of the long terms, which have eight bytes or more.
func (c *Chunk) AddWords(keys []uint64, long [][]byte, position uint32) {
	for len(keys) > 0 {
		n := min(len(keys), wordBatch)
		if c.cur.placed {
			long = c.placeWords(keys[:n], long, position)
		} else {
			long = c.addWords(keys[:n], long)
		}
		keys, position = keys[n:], position+uint32(n)
	}
}

func (f *chunkField) count(s *termSlot) {
	if int(s.last) >= f.begin {
		f.postings[s.last-1].tf++
		return
	}
	f.postings = append(f.postings, chunkPosting{s.number - 1, 1})
	s.last = uint32(len(f.postings))
}

// EndField ends the current field. With norms its length in tokens is kept; without, every document
// of the field counts as length 1.
func (c *Chunk) EndField(norms bool, length uint32) {
	f := c.cur
	d := chunkDoc{doc: c.docs, start: uint32(f.begin - 1), end: uint32(len(f.postings)), from: uint32(f.from), to: uint32(len(f.places)), code: 1}
	if norms {
		f.norms, d.code = true, blockmax.LengthCode(length)
	}
	for _, p := range f.postings[d.start:] {
		d.best = max(d.best, p.tf)
		f.tokens += uint64(p.tf)
	}
	f.counted += uint64(d.end - d.start)
	f.docs = append(f.docs, d)
}

// End ends a document. It copies stored.
func (c *Chunk) End(rank uint16, stored []byte) {
	for _, f := range c.open {
		f.begun = false
	}
	c.endValues(true)
	c.idEnds = append(c.idEnds, uint32(len(c.ids)))
	if rank > 0 && len(c.ranks) == 0 {
		c.ranks = append(c.ranks, make([]uint16, c.docs)...)
	}
	if rank > 0 || len(c.ranks) > 0 {
		c.ranks = append(c.ranks, rank)
	}
	c.stored = append(c.stored, stored...)
	c.storedEnds = append(c.storedEnds, len(c.stored))
	c.docs++
}

// packStored makes blocks of the stored documents, if there are any.
func (c *Chunk) packStored() {
	if len(c.stored) == 0 {
		return
	}
	var w storedWriter
	from, at := 0, 0 // where the block and the document begin
	for doc, end := range c.storedEnds {
		w.lengths = append(w.lengths, end-at)
		w.data = c.stored[from:end:end] // stored documents already have the layout of a block
		at = end
		if !w.full() && doc != len(c.storedEnds)-1 {
			continue
		}
		c.packed.pack(&w, uint32(doc))
		from = end
	}
}

// Abandon drops the current document.
func (c *Chunk) Abandon() {
	c.ids = c.ids[:c.idEnd()]
	c.endValues(false)
	for _, f := range c.open {
		f.begun = false
		if n := len(f.docs); n > 0 && f.docs[n-1].doc == c.docs {
			d := &f.docs[n-1]
			for _, p := range f.postings[d.start:d.end] {
				f.tokens -= uint64(p.tf)
			}
			f.counted -= uint64(d.end - d.start)
			f.docs = f.docs[:n-1]
		}
		// The postings stay in place, because slots point to them. They belong to no document.
	}
}

func (c *Chunk) idEnd() uint32 {
	if c.docs == 0 {
		return 0
	}
	return c.idEnds[c.docs-1]
}

// Sample returns partitions that have equal weight for documents like these.
func (c *Chunk) Sample() *Partitions {
	var weight, postings [prefixes]uint64
	for _, f := range c.fields {
		perTerm := c.termCounts(f)
		for n, count := range perTerm {
			if count > 0 {
				term := f.table.term(uint32(n))
				weight[prefixOf(term)] += uint64(count) + uint64(len(term)) + termWeight
				postings[prefixOf(term)] += uint64(count)
			}
		}
	}
	p := newPartitions(&weight)
	for prefix, n := range postings {
		p.postings[p.of[prefix]] += n
	}
	return p
}

// termWeight is an indexer's cost of finding a term, in postings.
const termWeight = 8

// Group gathers the postings of each term. Afterwards no document can be added until Reset.
//
// It makes, for each field and each partition of terms, one record per term, in no particular
// order:
//
//	term      varint  length, bytes
//	postings  varint  number
//	first     varint  first document, within the chunk
//	tf        varint  its frequency
//	span      varint  last document minus first
//	bytes     varint  length of the rest
//	rest              postings after the first, each as in a run
//
// In a field with positions follow
//
//	bytes     varint  length of the rest
//	rest              for each posting its first position and the distances between its positions
func (c *Chunk) Group(parts *Partitions) {
	c.packStored()
	for _, f := range c.fields {
		c.group(f, parts)
	}
}

// grouping is scratch space of Group.
type grouping struct {
	counts []uint32 // of each term; then where its next posting goes
	parted []uint8  // partition of each term
	order  []uint32 // terms by partition
	byTerm []docTF  // postings by term, in order of documents
	placing
	partEnd [maxPartitions + 1]uint32
	pace    pace // a large chunk takes milliseconds
}

// countsPerPosting is how many postings are counted or put in order in the time in which a merge
// encodes one, and recordWork is the time of a record in such postings.
const (
	countsPerPosting = 4
	recordWork       = 4
)

type docTF struct{ doc, tf uint32 }

// termCounts counts the postings of each term.
func (c *Chunk) termCounts(f *chunkField) []uint32 {
	c.counts = slices.Grow(c.counts[:0], f.table.len())[:f.table.len()]
	clear(c.counts)
	for _, d := range f.docs {
		for _, p := range f.postings[d.start:d.end] {
			c.counts[p.term]++
		}
		c.pace.add(int(d.end-d.start) / countsPerPosting)
	}
	return c.counts
}

func (c *Chunk) group(f *chunkField, parts *Partitions) {
	counts := c.termCounts(f)
	c.partition(f, parts)
	c.byTerm = slices.Grow(c.byTerm[:0], int(f.counted))[:f.counted]
	at := uint32(0)
	for i, n := range counts {
		counts[i] = at
		at += n
	}
	for _, d := range f.docs {
		for _, p := range f.postings[d.start:d.end] {
			c.byTerm[counts[p.term]] = docTF{d.doc, p.tf}
			counts[p.term]++
		}
		c.pace.add(int(d.end-d.start) / countsPerPosting)
	}
	c.place(f)
	f.runs, f.ends = f.runs[:0], f.ends[:0]
	first := uint32(0)
	for part := range parts.n {
		for _, t := range c.order[first:c.partEnd[part]] {
			start := uint32(0)
			if t > 0 {
				start = counts[t-1] // where the postings of the previous term end
			}
			if list := c.byTerm[start:counts[t]]; len(list) > 0 {
				f.runs = appendRecord(f.runs, f.table.term(t), list)
				c.pace.add(len(list) + recordWork)
				if f.placed {
					f.runs = c.appendPlaces(f.runs, t, list)
				}
			}
		}
		first = c.partEnd[part]
		f.ends = append(f.ends, len(f.runs))
	}
}

// partition orders the terms of a field by partition.
func (c *Chunk) partition(f *chunkField, parts *Partitions) {
	n := f.table.len()
	c.parted, c.order = slices.Grow(c.parted[:0], n)[:n], slices.Grow(c.order[:0], n)[:n]
	var sizes [maxPartitions]uint32
	for t := range c.parted {
		p := parts.of[prefixOf(f.table.term(uint32(t)))]
		c.parted[t] = p
		sizes[p]++
	}
	at := uint32(0)
	for p, n := range sizes {
		c.partEnd[p] = at
		at += n
	}
	for t, p := range c.parted {
		c.order[c.partEnd[p]] = uint32(t)
		c.partEnd[p]++
	}
}

// appendRecord writes the record of a term.
func appendRecord(dst []byte, term []byte, list []docTF) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(term)))
	dst = append(dst, term...)
	first, last := list[0], list[len(list)-1]
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	dst = binary.AppendUvarint(dst, uint64(first.doc))
	dst = binary.AppendUvarint(dst, uint64(first.tf))
	dst = binary.AppendUvarint(dst, uint64(last.doc-first.doc))
	// The length of the rest precedes it: leave room for one byte, which is usually enough.
	at := len(dst)
	dst = append(dst, 0)
	dst = appendRuns(dst, first.doc, list[1:])
	n := len(dst) - at - 1
	if n < 0x80 {
		dst[at] = byte(n)
		return dst
	}
	var size [binary.MaxVarintLen64]byte
	more := binary.PutUvarint(size[:], uint64(n))
	return slices.Replace(dst, at, at+1, size[:more]...)
}
