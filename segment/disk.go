package segment

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/postings"
)

// A Disk is a sealed segment, read from a Source. It caches what queries need repeatedly: length
// codes, ranks, tiles, the places of documents among the ids, and recently used pages of ids. The
// caller caches posting lists.
type Disk struct {
	src   Source
	lent  Lender     // the source, if it lends
	parts PartLender // the source, if it lends values part by part
	name  string     // the name of the source, for errors; may be empty
	meta  *meta

	fields []FieldInfo // without those of pairs

	norms     []held[Norms]  // by field
	tiles     []held[[]Tile] // by field
	terms     []held[fieldTerms]
	rank      held[[]uint16]
	rankTiles held[[]uint16]
	ids       idTable
	stored    atomic.Pointer[storedBlock] // the last one read: documents are often read in order
	codedDocs bool                        // stored documents are coded
	codes     held[*coded]
	heldBytes atomic.Int64
	trigrams  *TrigramBudget // of indexes of terms; nil for none
}

var _ Reader = (*Disk)(nil)

// keptBlockBytes is the largest block of stored documents that is kept for the next document. A
// larger one holds a single huge document, which must not stay in memory.
const keptBlockBytes = 8 * storedBlockBytes

// A held value is read when it is first needed. Two goroutines that need it at once both read it,
// and one of them keeps it. That needs no lock and is rare.
type held[T any] struct{ p atomic.Pointer[T] }

// get returns the value, which it reads if needed. read also returns the memory that the value
// takes.
func (h *held[T]) get(total *atomic.Int64, read func() (T, int64, error)) (T, error) {
	if p := h.p.Load(); p != nil {
		return *p, nil
	}
	v, size, err := read()
	if err == nil && h.p.CompareAndSwap(nil, &v) {
		total.Add(size)
	}
	return v, err
}

// Open reads only the meta value of a segment. A source without one is corrupt; one of another
// version is ErrFormat.
func Open(src Source) (*Disk, error) {
	d := &Disk{src: src}
	if s, ok := src.(fmt.Stringer); ok {
		d.name = s.String()
	}
	d.lent, _ = src.(Lender)
	d.parts, _ = src.(PartLender)
	key := []byte{byte(kindMeta)}
	value, err := d.need(key)
	if err != nil {
		return nil, err
	}
	if d.meta, err = openMeta(value); err != nil {
		return nil, d.at(err, key)
	}
	d.norms = make([]held[Norms], len(d.meta.fields))
	d.tiles = make([]held[[]Tile], len(d.meta.fields))
	d.terms = make([]held[fieldTerms], len(d.meta.fields))
	d.ids.init(d.meta.docs, d.meta.placeDocs())
	d.codedDocs = d.meta.isCoded()
	d.fields = withoutPairs(d.meta.fields)
	return d, nil
}

// at adds the key of the faulty value to an error.
func (d *Disk) at(err error, key []byte) error {
	if err == nil {
		return nil
	}
	return corrupt.At(err, d.describe(key))
}

// describe names in words what a key refers to, with field names instead of numbers.
func (d *Disk) describe(key []byte) string {
	version := byte(Version)
	if d.meta != nil {
		version = d.meta.version
	}
	s := keyString(key, version, func(kind Kind, field uint32) string {
		if d.meta != nil && kind == kindValues && int(field) < len(d.meta.columns) {
			if d.meta.columns[field] == VersionColumn {
				return "versions of documents"
			}
			return fmt.Sprintf("%q", d.meta.columns[field])
		}
		if d.meta == nil || kind == kindValues || int(field) >= len(d.meta.fields) {
			return fmt.Sprint(field)
		}
		if name := d.meta.fields[field].Name; IsPairField(name) {
			return fmt.Sprintf("%q (pairs of its words)", FieldOfPairs(name))
		}
		return fmt.Sprintf("%q", d.meta.fields[field].Name)
	})
	if d.name == "" {
		return s
	}
	return d.name + ", " + s
}

// lend returns a value that lies in memory, if the source has it so.
func (d *Disk) lend(key []byte) (value []byte, ok bool) {
	if d.lent == nil {
		return nil, false
	}
	return d.lent.Lend(key)
}

// need reads a value that must exist.
func (d *Disk) need(key []byte) ([]byte, error) {
	value, err := d.src.Get(key)
	if err == nil && value == nil {
		err = corrupt.New(-1, "the value is missing")
	}
	return value, d.at(err, key)
}

// needSealed reads a sealed value that must exist and returns its payload.
func (d *Disk) needSealed(key []byte) ([]byte, error) {
	value, err := d.need(key)
	if err != nil {
		return nil, err
	}
	payload, err := unseal(value, d.meta.version)
	return payload, d.at(err, key)
}

// sealedOrLent is needSealed for a value that the source perhaps lends.
func (d *Disk) sealedOrLent(key []byte) (payload []byte, lent bool, err error) {
	if payload, lent = d.lendSealed(key); lent {
		return payload, true, nil
	}
	payload, err = d.needSealed(key)
	return payload, false, err
}

// lendSealed returns the payload of a sealed value, if the source lends it.
func (d *Disk) lendSealed(key []byte) (payload []byte, ok bool) {
	value, ok := d.lend(key)
	if !ok || len(value) < sealBytes || value[0] != d.meta.version {
		return nil, false
	}
	return value[1 : len(value)-4 : len(value)-4], true
}

// termKey makes the key of a term of a field.
func (d *Disk) termKey(field int, term []byte) []byte {
	return appendTermKey(nil, d.meta.version, uint32(field), term)
}

// HeldBytes is the memory that the segment holds, without posting lists.
func (d *Disk) HeldBytes() int64 { return d.heldBytes.Load() }

// release drops what the segment has cached; later calls read it again. Values that callers already
// have stay valid.
func (d *Disk) release() {
	d.ids.release()
	d.DropTrigrams()
	for i := range d.norms {
		d.norms[i].p.Store(nil)
		d.tiles[i].p.Store(nil)
		d.terms[i].p.Store(nil)
	}
	d.rank.p.Store(nil)
	d.rankTiles.p.Store(nil)
	d.stored.Store(nil)
	d.codes.p.Store(nil)
	d.heldBytes.Store(0)
}

// Docs implements Reader.
func (d *Disk) Docs() uint32 { return d.meta.docs }

// Order implements Reader.
func (d *Disk) Order() Order { return d.meta.order }

// Fields implements Reader.
func (d *Disk) Fields() []FieldInfo { return d.fields }

// Field implements Reader.
func (d *Disk) Field(name string) (FieldInfo, bool) {
	if i, ok := findField(d.meta.fields, name); ok {
		return d.meta.fields[i], true
	}
	return FieldInfo{}, false
}

// List implements Reader.
func (d *Disk) List(field string, term []byte) (*postings.List, error) {
	i, ok := findField(d.meta.fields, field)
	if !ok {
		return nil, nil
	}
	key := d.termKey(i, term)
	value, err := d.src.Get(key)
	if err != nil || value == nil {
		return nil, d.at(err, key)
	}
	return d.openList(key, value, nil)
}

// Norms implements Reader.
func (d *Disk) Norms(field string) (Norms, error) {
	n, err := d.LazyNorms(field)
	if err == nil {
		err = n.lazy.NeedAll(d.meta.docs)
	}
	return n, err
}

// LazyNorms returns the norms of a field, some tiles of which may not have been checked: see
// Norms.Lazy.
func (d *Disk) LazyNorms(field string) (Norms, error) {
	i, ok := findField(d.meta.fields, field)
	if !ok || !d.meta.fields[i].Norms {
		return Norms{}, nil
	}
	if of := d.meta.wordsOf[i]; of >= 0 {
		i = of
	}
	return d.norms[i].get(&d.heldBytes, func() (Norms, int64, error) {
		n, err := d.readNorms(uint32(i))
		return n, n.bytes(), err
	})
}

// readNorms reads the norms of a field that keeps lengths.
func (d *Disk) readNorms(field uint32) (Norms, error) {
	info, docs := d.meta.fields[field], d.meta.docs
	if d.meta.sparse[field] {
		return d.readSparseNorms(field, info.Docs)
	}
	if n, ok, err := d.lazyColumn(field); ok || err != nil {
		return n, err
	}
	column, lent, err := d.readColumn(field)
	if err != nil || !isSparse(info.Docs, docs) {
		return Norms{docs: docs, column: column, lent: lent}, err
	}
	n := Norms{docs: docs} // of a segment of version 4, or a field of few codes
	for doc, code := range column {
		if code > 0 {
			n.having, n.codes = append(n.having, uint32(doc)), append(n.codes, code)
		}
	}
	return n, nil
}

// readColumn reads norms that are stored for all documents, and whether the source lends them. It
// reads the last chunk first, so that it finds a damaged number of documents before it allocates
// memory for them.
func (d *Disk) readColumn(field uint32) (column []uint8, lent bool, err error) {
	if d.meta.docs == 0 {
		return nil, false, nil
	}
	last := d.meta.normChunks(field) - 1
	for c := int64(last); c >= 0; c-- {
		key := normsKey(d.meta.version, field, uint32(c))
		payload, lent, err := d.sealedOrLent(key)
		if err != nil {
			return nil, false, err
		}
		if last == 0 && len(payload) == int(d.meta.docs) {
			return payload, lent, nil
		}
		if last == 0 && d.meta.whole[field] {
			return nil, false, d.at(corrupt.New(1, "%d length codes, want %d", len(payload), d.meta.docs), key)
		}
		if column == nil {
			column = make([]uint8, d.meta.docs)
		}
		first := int(c) * normChunkDocs
		if err := decodeNorms(payload, column[first:first+chunkLen(d.meta.docs, uint32(c), normChunkDocs)]); err != nil {
			return nil, false, d.at(err, key)
		}
	}
	return column, false, nil
}

// readSparseNorms reads norms that are stored for count documents.
func (d *Disk) readSparseNorms(field, count uint32) (Norms, error) {
	var having []uint32
	var codes []uint8
	next := uint32(0)
	for c := range chunksOf(count, normChunkDocs) {
		key := normsKey(d.meta.version, field, c)
		payload, err := d.needSealed(key)
		if err == nil {
			having, codes, err = decodeSparseNorms(payload, chunkLen(count, c, normChunkDocs), next, d.meta.docs, having, codes)
			err = d.at(err, key)
		}
		if err != nil {
			return Norms{}, err
		}
		next = having[len(having)-1] + 1
	}
	return sparseNorms(d.meta.docs, having, codes), nil
}

// Rank implements Reader.
func (d *Disk) Rank() ([]uint16, error) {
	if !d.meta.ranks {
		return nil, nil
	}
	return d.rank.get(&d.heldBytes, func() ([]uint16, int64, error) {
		var ranks []uint16
		for c := int64(chunksOf(d.meta.docs, rankChunkDocs)) - 1; c >= 0; c-- { // as in readColumn
			key := numberKey(kindRank, uint32(c))
			payload, err := d.needSealed(key)
			if err != nil {
				return nil, 0, err
			}
			if ranks == nil {
				ranks = make([]uint16, d.meta.docs)
			}
			first := int(c) * rankChunkDocs
			if err := decodeRanks(payload, ranks[first:first+chunkLen(d.meta.docs, uint32(c), rankChunkDocs)]); err != nil {
				return nil, 0, d.at(err, key)
			}
		}
		return ranks, 2 * int64(len(ranks)), nil
	})
}

// RankTiles implements Reader.
func (d *Disk) RankTiles() ([]uint16, error) {
	if !d.meta.ranks {
		return nil, nil
	}
	return d.rankTiles.get(&d.heldBytes, func() ([]uint16, int64, error) {
		ranks, err := d.Rank()
		tiles := tileMaxima(ranks)
		return tiles, 2 * int64(len(tiles)), err
	})
}

// Tiles implements Reader.
func (d *Disk) Tiles(field string) ([]Tile, error) {
	i, ok := findField(d.meta.fields, field)
	if !ok {
		return []Tile{}, nil
	}
	return d.tiles[i].get(&d.heldBytes, func() ([]Tile, int64, error) {
		key := tilesKey(d.meta.version, uint32(i))
		payload, err := d.needSealed(key)
		if err != nil {
			return nil, 0, err
		}
		tiles, err := decodeTiles(payload, d.meta.docs, d.meta.version)
		return tiles, 32*int64(len(tiles)) + 4*int64(len(payload)), d.at(err, key)
	})
}

// Stored implements Reader.
func (d *Disk) Stored(doc uint32) ([]byte, error) {
	if doc >= d.meta.docs {
		panic(fmt.Sprintf("BUG: segment: document %d of %d", doc, d.meta.docs))
	}
	if !d.meta.stored {
		return nil, nil
	}
	if d.codedDocs {
		data, _, err := d.appendCoded(nil, doc, true)
		return data, err
	}
	if b := d.stored.Load(); b != nil {
		if data, ok := b.doc(doc); ok {
			return data, nil
		}
	}
	b, err := d.readStored(doc)
	if err != nil {
		return nil, err
	}
	if len(b.data) <= keptBlockBytes {
		d.stored.Store(b)
	}
	data, _ := b.doc(doc)
	return data, nil
}

// AppendLent appends the stored bytes of a document if the source lends them: then they are decoded so
// fast that they need no cache. ok is false if they must be read: ask Stored.
func (d *Disk) AppendLent(dst []byte, doc uint32) (data []byte, ok bool, err error) {
	if doc >= d.meta.docs {
		panic(fmt.Sprintf("BUG: segment: document %d of %d", doc, d.meta.docs))
	}
	if !d.codedDocs {
		return dst, false, nil
	}
	return d.appendCoded(dst, doc, false)
}

// readStored reads the block that holds a document: the first whose key is not below it.
func (d *Disk) readStored(doc uint32) (*storedBlock, error) {
	lower := numberKey(kindStored, doc)
	key, value, err := d.src.Ceil(lower, after(lower[:1]))
	if err == nil && key == nil {
		err = corrupt.New(-1, "the value is missing")
	}
	if err != nil {
		return nil, d.at(err, lower)
	}
	b, err := d.openStored(key, value)
	if err == nil && doc < b.first {
		err = d.at(corrupt.New(-1, "begins behind document %d, which is missing", doc), key)
	}
	return b, err
}

// openStored unseals and decodes a block of stored documents.
func (d *Disk) openStored(key, value []byte) (*storedBlock, error) {
	if len(key) != 5 {
		return nil, d.at(corrupt.New(-1, "key of %d bytes, want 5", len(key)), key)
	}
	payload, err := unseal(value, d.meta.version)
	if err != nil {
		return nil, d.at(err, key)
	}
	last := binary.BigEndian.Uint32(key[1:])
	if last >= d.meta.docs {
		return nil, d.at(corrupt.New(-1, "document %d in a segment of %d", last, d.meta.docs), key)
	}
	b, err := decodeStored(payload, last)
	return b, d.at(err, key)
}
