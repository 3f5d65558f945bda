package segment

import (
	"encoding/binary"
	"math"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/postings"
)

// PositionGap is the distance in positions between the values of a field, in addition to that
// between neighboring words. A phrase, even with some slop, does not match across it.
const PositionGap = 100

// MaxPosition is the highest position of a term.
const MaxPosition = postings.MaxPosition

// positionsFeature is the feature of a segment in which lists of some fields have positions. Its data
// are the number of pages of short lists, and the numbers of these fields:
//
//	pages                      varint
//	for each field, ascending  varint   fields between it and the previous one
//
// All lists of these fields have positions (package postings). Those of a long list lie under its
// number, in keys of kind e0 that are otherwise as those of kind 80. Those of short lists follow one
// another in pages, under kind e1. A page takes lists until it has 16 KB. The entry of a short list
// points to its positions: 1<<14 times the page, plus the offset in it.
//
// Both kinds are in a table of their own, so a search without phrases reads no byte of it.
const positionsFeature = "positions of terms"

// pageBytes is how many bytes of positions fill a page.
const pageBytes = 1 << 14

// positionPages gathers the positions of short lists. They stay in memory until all lists have been
// written, because keys must ascend: some five bytes for each hundred words of text.
type positionPages struct {
	pages [][]byte
}

// add adds the positions of a list and returns the pointer to them.
func (p *positionPages) add(code []byte) (pointer uint64) {
	n := len(p.pages)
	if n == 0 || len(p.pages[n-1]) >= pageBytes {
		p.pages = append(p.pages, make([]byte, 0, pageBytes+pageBytes/64))
		n++
	}
	page := &p.pages[n-1]
	pointer = uint64(n-1)*pageBytes + uint64(len(*page))
	*page = append(*page, code...)
	return pointer
}

// writePositionPages writes the pages.
func (m *merger) writePositionPages() error {
	for i, page := range m.pages.pages {
		err := m.seal(numberKey(kindPositionShort, uint32(i)), func(dst []byte) []byte { return append(dst, page...) })
		if err != nil {
			return err
		}
	}
	return nil
}

// feature appends the feature if some fields have positions.
func (p *positionPages) feature(features []feature, fields []FieldInfo) []feature {
	data := binary.AppendUvarint(nil, uint64(len(p.pages)))
	some, next := false, 0
	for i, f := range fields {
		if f.Positions {
			data = binary.AppendUvarint(data, uint64(i-next))
			some, next = true, i+1
		}
	}
	if !some {
		return features
	}
	return append(features, feature{name: positionsFeature, required: true, kinds: []Kind{kindPosition, kindPositionShort}, data: data})
}

// openPositions sets FieldInfo.Positions and m.pages from the feature, if the segment has it.
func (m *meta) openPositions() error {
	for _, f := range m.features {
		if f.name != positionsFeature {
			continue
		}
		d := newDecoder(f.data)
		m.pages = uint32(d.uint("pages of positions", math.MaxUint32))
		for next := uint64(0); d.left() > 0 && d.err == nil; next++ {
			next += d.uint("fields between", math.MaxUint32)
			if d.err != nil {
				break
			}
			if next >= uint64(len(m.fields)) || !m.fields[next].Norms {
				return corrupt.New(-1, "field %d has positions; it has no words", next)
			}
			m.fields[next].Positions = true
		}
		return d.err
	}
	return nil
}

// positionPage reads the page of positions of short lists to which a pointer points.
func (d *Disk) positionPage(pointer uint64) ([]byte, error) {
	page := pointer / pageBytes
	if page >= uint64(d.meta.pages) {
		return nil, corrupt.New(-1, "positions in page %d of %d", page, d.meta.pages)
	}
	payload, _, err := d.sealedOrLent(numberKey(kindPositionShort, uint32(page)))
	return payload, err
}

// inPage returns the bytes that a pointer to a page means.
func (d *Disk) inPage(page []byte, pointer uint64) ([]byte, error) {
	if offset := pointer % pageBytes; offset < uint64(len(page)) {
		return page[offset:], nil
	}
	return nil, d.at(corrupt.New(-1, "%d bytes, and a list at %d", len(page), pointer%pageBytes), numberKey(kindPositionShort, uint32(pointer/pageBytes)))
}

// A pageLoader reads the positions of short lists of a segment.
type pageLoader struct{ d *Disk }

// ShortPositions implements postings.ShortPositionLoader.
func (l pageLoader) ShortPositions(pointer uint64) ([]byte, error) {
	page, err := l.d.positionPage(pointer)
	if err != nil {
		return nil, err
	}
	return l.d.inPage(page, pointer)
}

// Directory implements postings.Loader. A short list has no directory.
func (l pageLoader) Directory(int) ([]byte, error) { panic("BUG: directory of a short list") }

// Chunk implements postings.Loader. A short list has no chunks.
func (l pageLoader) Chunk(int) ([]byte, error) { panic("BUG: chunk of a short list") }

// A pageReader is a pageLoader for merges, which read short lists in order: it keeps the last page.
type pageReader struct {
	pageLoader
	page    []byte
	current uint64 // its number, plus one
}

// ShortPositions implements postings.ShortPositionLoader.
func (r *pageReader) ShortPositions(pointer uint64) ([]byte, error) {
	if n := pointer/pageBytes + 1; r.current != n {
		page, err := r.d.positionPage(pointer)
		if err != nil {
			return nil, err
		}
		r.page, r.current = page, n
	}
	return r.d.inPage(r.page, pointer)
}

// PositionDirectory implements postings.PositionLoader.
func (p *partLoader) PositionDirectory(part int) ([]byte, error) {
	return p.loadKey(positionKey(p.list, uint32(part)))
}

// PositionChunk implements postings.PositionLoader.
func (p *partLoader) PositionChunk(chunk int) ([]byte, error) {
	return p.loadKey(positionKey(p.list, chunkPart|uint32(chunk)))
}

var (
	_ postings.PositionLoader      = (*partLoader)(nil)
	_ postings.ShortPositionLoader = pageLoader{}
)
