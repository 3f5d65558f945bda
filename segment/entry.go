package segment

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/postings"
)

// The value of a term is its entry from package postings, whose lowest bit says whether the list is
// long. The entry of a long list is followed by the number of the list, under which its parts are
// stored, and a check of that number:
//
//	entry
//	list   4 bytes, big-endian
//	check  1 byte: CRC-8 of list
//
// Three terms in a hundred have a long list. Numbering the lists makes the keys of parts short and
// lets a merge write them in order. Keys made of the term would need escapes to sort as terms do.
const entryTail = 4 + 1

const longEntry = 1

// pairsApart is the feature of a segment that has long lists: in their directories, the best pairs of
// an extent lie behind its blocks (package postings). Entries say so, too; builds that lack the
// feature would call them corrupt.
const pairsApart = "best pairs behind the blocks of an extent"

// appendList appends the number of a long list to its entry.
func appendList(entry []byte, list uint32) []byte {
	entry = binary.BigEndian.AppendUint32(entry, list)
	return append(entry, crc8(entry[len(entry)-4:]))
}

// splitEntry splits the value of a term into the entry of postings and the number of a long list (0
// for a short one).
func splitEntry(value []byte) (entry []byte, list uint32, err error) {
	if len(value) == 0 || value[0]&longEntry == 0 {
		return value, 0, nil // the entry has its own checksum
	}
	n := len(value) - entryTail
	if n < 0 {
		return nil, 0, corrupt.New(0, "entry of a long list has %d bytes, want more than %d", len(value), entryTail)
	}
	if got := crc8(value[n : n+4]); got != value[n+4] {
		return nil, 0, corrupt.New(n+4, "checksum of the list number is %#02x, stored %#02x", got, value[n+4])
	}
	return value[:n:n], binary.BigEndian.Uint32(value[n:]), nil
}

// crc8 is the CRC-8 of package postings (polynomial 0x2F, all ones at the beginning and the end),
// bit by bit: it covers only four bytes when a list is opened.
func crc8(b []byte) byte {
	c := byte(0xff)
	for _, x := range b {
		c ^= x
		for range 8 {
			high := c & 0x80
			if c <<= 1; high != 0 {
				c ^= 0x2f
			}
		}
	}
	return ^c
}

// openList opens the list of a term entry. It keeps neither key nor value, because most lists are
// short and complete. ahead, which may be nil, reads the parts of a long one.
func (d *Disk) openList(key, value []byte, ahead *partsAhead) (*postings.List, error) {
	entry, list, err := splitEntry(value)
	if err != nil {
		return nil, d.at(err, key)
	}
	if len(entry) == 0 || entry[0]&longEntry == 0 {
		return d.openEntry(key, entry, pageLoader{d})
	}
	load := &partLoader{d: d, key: bytes.Clone(key), list: list}
	if ahead != nil {
		load.ahead = ahead.read(list)
	}
	l, err := d.openEntry(key, entry, load)
	if err == nil {
		l.Number = 1 + uint64(list) // 0 means no number
	}
	return l, err
}

// openEntry opens a list and checks its documents against the segment's number.
func (d *Disk) openEntry(key, entry []byte, load postings.Loader) (*postings.List, error) {
	l, err := postings.Open(entry, load)
	if err != nil {
		return nil, d.at(err, key)
	}
	if last := l.Last[len(l.Last)-1]; last >= d.meta.docs {
		return nil, d.at(corrupt.New(-1, "document %d in a segment of %d", last, d.meta.docs), key)
	}
	return l, nil
}

// A partLoader reads the parts of one long list.
type partLoader struct {
	d     *Disk
	key   []byte // of the term, for errors
	list  uint32
	ahead []listPart // parts that have been read already
}

// Directory implements postings.Loader.
func (p *partLoader) Directory(part int) ([]byte, error) { return p.load(uint32(part)) }

// Chunk implements postings.Loader.
func (p *partLoader) Chunk(chunk int) ([]byte, error) { return p.load(chunkPart | uint32(chunk)) }

// LendChunk implements postings.LendingLoader.
func (p *partLoader) LendChunk(chunk int) ([]byte, bool) {
	if len(p.ahead) > 0 {
		return nil, false
	}
	value, ok := p.d.lend(listKey(p.list, chunkPart|uint32(chunk)))
	return value, ok && len(value) >= partSumBytes
}

// ChecksParts implements postings.CheckedLoader.
func (p *partLoader) ChecksParts() {}

// load reads a part and checks it, unless the source lends it. postings could check it, but only here
// is the term known, which the error must name.
func (p *partLoader) load(part uint32) ([]byte, error) {
	key := listKey(p.list, part)
	for _, a := range p.ahead {
		if a.number == part {
			return a.value, p.at(checkPart(a.value), key)
		}
	}
	return p.loadKey(key)
}

// loadKey is load by the key of a part.
func (p *partLoader) loadKey(key []byte) ([]byte, error) {
	if value, ok := p.d.lend(key); ok && len(value) >= partSumBytes {
		return value, nil
	}
	value, err := p.d.src.Get(key)
	if err == nil {
		err = checkPart(value) // one that was lent has been checked
	}
	return value, p.at(err, key)
}

func (p *partLoader) at(err error, key []byte) error {
	if err == nil {
		return nil
	}
	return corrupt.At(err, p.d.describe(p.key)+", "+KeyString(key))
}

// partSumBytes is the length of the checksum of a part.
const partSumBytes = 4

// checkPart checks a directory part or a chunk, which ends in the CRC-32C of all bytes before it.
func checkPart(value []byte) error {
	if value == nil {
		return corrupt.New(-1, "the value is missing")
	}
	n := len(value) - partSumBytes
	if n < 0 {
		return corrupt.New(0, "%d bytes, want at least %d", len(value), partSumBytes)
	}
	if got, want := crc32.Checksum(value[:n], castagnoli), binary.LittleEndian.Uint32(value[n:]); got != want {
		return corrupt.New(n, "checksum %08x, want %08x", got, want)
	}
	return nil
}
