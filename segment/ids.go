package segment

import (
	"bytes"
	"encoding/binary"
)

const (
	idPageIDs   = 256  // ids in a page
	idHeadPages = 1024 // pages whose first ids make one value

	maxIDBytes = 1 << 16 // the longest id: it bounds what damaged pages take in memory
)

// The ids of a segment lie in their own order, in pages, so that neighbours share a prefix
// and one page answers a lookup. A page is idPageIDs ids and the documents that they
// name; the last one has the rest:
//
//	ids        varint
//	for each   varint  bytes shared with the previous id; not for the first
//	           varint  number of bytes that follow
//	bytes of all
//	documents  zigzag varint for each: from the document of the previous id, plus one
//
// The first ids of idHeadPages pages make a value of their own (heads), which has no documents.
// They stay in memory, as do the places of documents among the ids (see appendPlaces). Pages
// are read when needed and cached while there is room.
type idPage struct {
	ids  idList
	docs []byte // as stored: only a lookup that finds its id needs one of them
}

// An id that occurs twice names the last of its documents, which are in ascending order. Merges
// write no id twice.

// An idList is a list of ids in ascending order, with their prefixes restored.
type idList struct {
	starts []uint32 // where each begins in data, and the end of the last
	data   []byte
}

func (l *idList) len() int { return len(l.starts) - 1 }

// at returns id i.
func (l *idList) at(i int) []byte { return l.data[l.starts[i]:l.starts[i+1]] }

// below returns how many of the ids are below id.
func (l *idList) below(id string) int {
	low, high := 0, l.len()
	for low < high {
		if mid := int(uint(low+high) / 2); string(l.at(mid)) < id {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// upTo returns how many of the ids are id or below.
func (l *idList) upTo(id string) int {
	low, high := 0, l.len()
	for low < high {
		if mid := int(uint(low+high) / 2); string(l.at(mid)) <= id {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// size is roughly the memory that the list takes.
func (l *idList) size() int64 { return int64(4*cap(l.starts)+cap(l.data)) + 64 }

// An idWriter collects the ids of a page, or heads.
type idWriter struct {
	n       int
	lengths []byte
	data    []byte
	docs    []byte
	last    []byte // the previous id, also after the writer has been emptied
	next    int64  // the document that takes the fewest bytes
}

// add appends an id that is not below the previous ones.
func (w *idWriter) add(id []byte) {
	shared := 0
	if w.n > 0 {
		shared = sharedPrefix(w.last, id)
		w.lengths = binary.AppendUvarint(w.lengths, uint64(shared))
	}
	w.lengths = binary.AppendUvarint(w.lengths, uint64(len(id)-shared))
	w.data = append(w.data, id[shared:]...)
	w.last = append(w.last[:shared], id[shared:]...)
	w.n++
}

// addDoc appends an id and its document.
func (w *idWriter) addDoc(id []byte, doc uint32) {
	w.add(id)
	w.docs = binary.AppendVarint(w.docs, int64(doc)-w.next)
	w.next = int64(doc) + 1
}

// appendTo appends the payload and empties the writer.
func (w *idWriter) appendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(w.n))
	dst = append(dst, w.lengths...)
	dst = append(dst, w.data...)
	dst = append(dst, w.docs...)
	*w = idWriter{lengths: w.lengths[:0], data: w.data[:0], docs: w.docs[:0], last: w.last}
	return dst
}

func sharedPrefix[T []byte | string](a, b T) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// decodeIDPage reads a page, which must hold want ids. Their documents are read by doc.
func decodeIDPage(payload []byte, want int) (*idPage, error) {
	d := newDecoder(payload)
	p := &idPage{ids: decodeIDs(d, want)}
	p.docs = d.bytes("documents", d.left())
	return p, d.err
}

// decodeHeads reads the first ids of pages.
func decodeHeads(payload []byte, want int) (idList, error) {
	d := newDecoder(payload)
	l := decodeIDs(d, want)
	return l, d.end()
}

// decodeIDs reads want ids, which must not fall. Shared prefixes let each be as long as the
// longest, so the ids can take many times the bytes of the payload, but at most want times
// maxIDBytes.
func decodeIDs(d *decoder, want int) idList {
	if n := d.uint("number of ids", idHeadPages); d.err == nil && n != uint64(want) {
		d.fail("%d ids, want %d", n, want)
	}
	if d.err != nil {
		return idList{}
	}
	shared := make([]uint32, want)
	l := idList{starts: make([]uint32, want+1)}
	rests, before, size := 0, uint64(0), uint64(0)
	for i := range want {
		if i > 0 {
			shared[i] = uint32(d.uint("shared bytes of an id", before))
		}
		rest := d.uint("bytes of an id", uint64(d.left()))
		rests += int(rest)
		if before = uint64(shared[i]) + rest; before > maxIDBytes {
			d.fail("an id of %d bytes, at most %d are allowed", before, maxIDBytes)
			break
		}
		size += before
		l.starts[i+1] = uint32(size)
	}
	data := d.bytes("ids", rests)
	if d.err != nil {
		return idList{starts: make([]uint32, 1)}
	}
	l.data = make([]byte, 0, l.starts[want])
	for i := range want {
		if i > 0 {
			l.data = append(l.data, l.at(i - 1)[:shared[i]]...)
		}
		rest := int(l.starts[i+1]) - len(l.data)
		l.data, data = append(l.data, data[:rest]...), data[rest:]
		if i > 0 && bytes.Compare(l.at(i-1), l.at(i)) > 0 {
			d.fail("id %q follows %q", l.at(i), l.at(i-1))
			return idList{starts: make([]uint32, 1)}
		}
	}
	return l
}

// doc returns the document of id i, which is below docs.
func (p *idPage) doc(i int, docs uint32) (uint32, error) {
	var w idDocs
	w.reset(p, docs)
	w.skip(i)
	return w.next()
}

// idDocs reads the documents of a page in the order of their ids.
type idDocs struct {
	d    decoder
	docs uint32
	want int64 // the document that takes the fewest bytes
}

func (w *idDocs) reset(p *idPage, docs uint32) { *w = idDocs{d: decoder{data: p.docs}, docs: docs} }

func (w *idDocs) next() (uint32, error) {
	v, n := binary.Varint(w.d.data[w.d.pos:])
	if doc := w.want + v; n > 0 && doc >= 0 && doc < int64(w.docs) {
		w.d.pos += n
		w.want = doc + 1
		return uint32(doc), nil
	}
	w.d.fail("no document below %d in the last %d bytes", w.docs, w.d.left())
	return 0, w.d.err
}

// skip passes over n documents. It stops before a faulty one, which next reports. Nearly all take one
// byte.
func (w *idDocs) skip(n int) {
	rest, want := w.d.data[w.d.pos:], w.want
	for ; n > 0 && len(rest) > 0; n-- {
		v, size := uint64(rest[0]), 1
		if v >= 0x80 {
			if v, size = binary.Uvarint(rest); size <= 0 {
				break
			}
		}
		doc := want + (int64(v>>1) ^ -int64(v&1))
		if uint64(doc) >= uint64(w.docs) {
			break
		}
		rest, want = rest[size:], doc+1
	}
	w.d.pos, w.want = len(w.d.data)-len(rest), want
}

// end returns an error if bytes are left over.
func (w *idDocs) end() error { return w.d.end() }
