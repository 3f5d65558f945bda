package segment

import (
	"fmt"
	"sync/atomic"
)

// idTable is what a Disk caches of its ids.
type idTable struct {
	heads     held[[]idList]           // of all pages, idHeadPages at a time
	places    []held[*placeChunk]      // of placeDocs documents each
	pages     []atomic.Pointer[idPage] // nil for pages that are not cached
	bytes     atomic.Int64             // of pages
	limit     atomic.Int64             // of bytes
	placeDocs uint32
	hand      atomic.Uint32           // the next page to drop when there are too many
	hits      []atomic.Pointer[hitID] // in slots by document
}

// A hitID is the id of a document that was a hit when its page was not cached. Documents that are
// hits again and again lie in pages of their own, nearly each, of which little else is needed.
type hitID struct {
	doc uint32
	id  string
}

// A segment keeps at most maxHitIDs of them, of up to maxHitBytes: some 300 KB; and at most one for
// docsOfHitID documents.
const (
	maxHitIDs   = 4096
	maxHitBytes = 64
	docsOfHitID = 16
)

// IDCacheBytes is the default of LimitIDs: enough for a million short ids.
const IDCacheBytes = 16 << 20

// LimitIDs bounds the memory for cached pages of ids. Reading a page that is not cached takes some 10
// µs.
func (d *Disk) LimitIDs(bytes int64) { d.ids.limit.Store(bytes) }

func (t *idTable) init(docs, placeDocs uint32) {
	t.placeDocs = placeDocs
	t.limit.Store(IDCacheBytes)
	t.hits = make([]atomic.Pointer[hitID], min(maxHitIDs, chunksOf(docs, docsOfHitID)))
	t.pages = make([]atomic.Pointer[idPage], chunksOf(docs, idPageIDs))
	t.places = make([]held[*placeChunk], chunksOf(docs, int(placeDocs)))
}

// release drops everything.
func (t *idTable) release() {
	t.heads.p.Store(nil)
	for i := range t.places {
		t.places[i].p.Store(nil)
	}
	for i := range t.pages {
		t.pages[i].Store(nil)
	}
	t.bytes.Store(0)
	for i := range t.hits {
		t.hits[i].Store(nil)
	}
}

// ID implements Reader.
func (d *Disk) ID(doc uint32) (string, error) {
	var buf [64]byte // most ids are shorter
	id, err := d.AppendID(buf[:0], doc)
	return string(id), err
}

// AppendID implements Reader.
func (d *Disk) AppendID(dst []byte, doc uint32) ([]byte, error) {
	if doc >= d.meta.docs {
		panic(fmt.Sprintf("BUG: segment: document %d of %d", doc, d.meta.docs))
	}
	hit := &d.ids.hits[doc%uint32(len(d.ids.hits))]
	if h := hit.Load(); h != nil && h.doc == doc {
		return append(dst, h.id...), nil
	}
	place, err := d.place(doc)
	if err != nil {
		return dst, err
	}
	p := d.ids.pages[place/idPageIDs].Load()
	if p != nil {
		return append(dst, p.ids.at(int(place%idPageIDs))...), nil
	}
	if p, err = d.keepIDPage(place / idPageIDs); err != nil {
		return dst, err
	}
	id := p.ids.at(int(place % idPageIDs))
	if len(id) <= maxHitBytes {
		hit.Store(&hitID{doc, string(id)})
	}
	return append(dst, id...), nil
}

// place returns the place of a document among the ids.
func (d *Disk) place(doc uint32) (uint32, error) {
	places, err := d.placesAt(doc / d.ids.placeDocs)
	if err != nil {
		return 0, err
	}
	return places.of(doc % d.ids.placeDocs), nil
}

// placesAt returns chunk n of places.
func (d *Disk) placesAt(n uint32) (*placeChunk, error) {
	h := &d.ids.places[n]
	if p := h.p.Load(); p != nil {
		return *p, nil
	}
	return h.get(&d.heldBytes, func() (*placeChunk, int64, error) {
		key := d.meta.placeKey(n)
		payload, lent, err := d.sealedOrLent(key)
		if err != nil {
			return nil, 0, err
		}
		places, err := openPlaces(payload, chunkLen(d.meta.docs, n, int(d.ids.placeDocs)), d.meta.docs)
		places.lent = lent
		return places, places.bytes(), d.at(err, key)
	})
}

// readIDPage reads a page of ids.
func (d *Disk) readIDPage(n uint32) (*idPage, error) {
	key := numberKey(kindID, n)
	payload, err := d.needSealed(key)
	if err != nil {
		return nil, err
	}
	p, err := decodeIDPage(payload, chunkLen(d.meta.docs, n, idPageIDs))
	return p, d.at(err, key)
}

// keepIDPage reads a page and caches it. When there are too many it drops others in turn; readers
// that use a dropped page are not affected.
func (d *Disk) keepIDPage(n uint32) (*idPage, error) {
	p, err := d.readIDPage(n)
	t := &d.ids
	if err != nil || !t.pages[n].CompareAndSwap(nil, p) {
		return p, err
	}
	size := p.size()
	d.heldBytes.Add(size)
	held := t.bytes.Add(size)
	for range t.pages {
		if held <= t.limit.Load() {
			break
		}
		victim := t.pages[t.hand.Add(1)%uint32(len(t.pages))].Swap(nil)
		if victim != nil {
			d.heldBytes.Add(-victim.size())
			held = t.bytes.Add(-victim.size())
		}
	}
	return p, nil
}

// size is roughly the memory that the page takes.
func (p *idPage) size() int64 { return p.ids.size() + int64(len(p.docs)) }

// heads returns the first ids of all pages.
func (d *Disk) heads() ([]idList, error) {
	return d.ids.heads.get(&d.heldBytes, func() ([]idList, int64, error) {
		pages := uint32(len(d.ids.pages))
		var all []idList
		size := int64(0)
		for n := range chunksOf(pages, idHeadPages) {
			key := numberKey(kindHead, n)
			payload, err := d.needSealed(key)
			if err != nil {
				return nil, 0, err
			}
			l, err := decodeHeads(payload, chunkLen(pages, n, idHeadPages))
			if err != nil {
				return nil, 0, d.at(err, key)
			}
			all = append(all, l)
			size += l.size()
		}
		return all, size, nil
	})
}

// pageOf returns the page that holds an id, if the segment has it: the last page whose first id is
// not above it. ok is false when there is none.
func (d *Disk) pageOf(id string) (page uint32, ok bool, err error) {
	heads, err := d.heads()
	for n := len(heads) - 1; n >= 0; n-- {
		if i := heads[n].upTo(id); i > 0 {
			return uint32(n*idHeadPages + i - 1), true, err
		}
	}
	return 0, false, err
}

// Lookup implements Reader.
func (d *Disk) Lookup(id string) (uint32, bool, error) {
	n, ok, err := d.pageOf(id)
	if !ok || err != nil {
		return 0, false, err
	}
	p := d.ids.pages[n].Load()
	if p == nil {
		if p, err = d.keepIDPage(n); err != nil {
			return 0, false, err
		}
	}
	i := p.ids.upTo(id) - 1
	if i < 0 || string(p.ids.at(i)) != id {
		return 0, false, nil
	}
	doc, err := p.doc(i, d.meta.docs)
	return doc, err == nil, d.at(err, numberKey(kindID, n))
}

// IDs implements Reader.
func (d *Disk) IDs(from string) (IDIterator, error) {
	heads, err := d.heads()
	if err != nil {
		return nil, err
	}
	below := 0 // pages that begin below from, which may be in the last of them
	for i := range heads {
		below += heads[i].below(from)
	}
	t := &diskIDs{d: d, page: uint32(max(0, below-1))}
	t.load()
	for t.p != nil && t.at+1 < t.p.ids.len() && string(t.p.ids.at(t.at+1)) < from {
		t.Next()
	}
	return t, t.err
}

// diskIDs walks the ids of a segment, page by page. It caches none.
type diskIDs struct {
	d    *Disk
	page uint32
	p    *idPage // nil after the last
	docs idDocs
	at   int
	doc  uint32
	err  error
}

// load reads the current page, if there is one.
func (t *diskIDs) load() {
	t.p, t.at = nil, -1
	if int(t.page) < len(t.d.ids.pages) {
		if t.p, t.err = t.d.readIDPage(t.page); t.err == nil {
			t.docs.reset(t.p, t.d.meta.docs)
		}
	}
}

// Next implements IDIterator.
func (t *diskIDs) Next() bool {
	if t.p != nil && t.at+1 == t.p.ids.len() {
		t.page++
		t.load()
	}
	if t.p == nil || t.err != nil {
		return false
	}
	t.at++
	t.doc, t.err = t.docs.next()
	t.err = t.d.at(t.err, numberKey(kindID, t.page))
	return t.err == nil
}

func (t *diskIDs) ID() []byte   { return t.p.ids.at(t.at) }
func (t *diskIDs) Doc() uint32  { return t.doc }
func (t *diskIDs) Err() error   { return t.err }
func (t *diskIDs) Close() error { return nil }
