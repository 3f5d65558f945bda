package segment

import (
	"encoding/binary"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// The value of a term is the entry that postings made. Its lowest bit says
// whether the list is long; behind a long one follow the number of the list,
// under which its parts lie, and a check of that number:
//
//	entry
//	list   4 bytes, big-endian
//	check  1 byte: CRC-8 of list
//
// Three terms in a hundred have a long list. A number of their own makes the
// keys of parts short and lets them be written in order, while terms are merged;
// keys made of the term would need escapes to sort as terms do.
const entryTail = 4 + 1

const longEntry = 1

// appendList appends the number of a long list to its entry.
func appendList(entry []byte, list uint32) []byte {
	entry = binary.BigEndian.AppendUint32(entry, list)
	return append(entry, crc8(entry[len(entry)-4:]))
}

// splitEntry takes the value of a term apart: the entry of postings, and the
// number of a long list (0 for a short one).
func splitEntry(value []byte) (entry []byte, list uint32, err error) {
	if len(value) == 0 || value[0]&longEntry == 0 {
		return value, 0, nil // postings has a checksum of its own over this
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

// crc8 is the CRC-8 that postings uses (polynomial 0x2F, all ones to begin with
// and at the end), bit by bit: it runs over four bytes when a list is opened.
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
