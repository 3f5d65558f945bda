package postings

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// Directory parts and chunks end in a CRC-32C. Entries end in a CRC-8: there are millions of them,
// most of six bytes.
//
// The CRC-8 has polynomial 0x2F (x^8+x^5+x^3+x^2+x+1, as in AUTOSAR). Any CRC catches a single
// flipped bit and any burst no longer than itself. This one has the factor x+1, so it catches every
// odd number of flipped bits at any length, and every two or three up to 119 bits, which covers
// most entries. It starts at 0xFF, so a run of zero bytes fails. It misses one in 256 of other
// damage, against which Open's own checks and the store's checksum remain.
const crc8Poly = 0x2F

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	crc8Tables = makeCRC8Tables()
)

// makeCRC8Tables makes the sum of each byte with 0 to 7 zero bytes after it, so that eight bytes are
// summed at once.
func makeCRC8Tables() (t [8][256]uint8) {
	for i := range t[0] {
		c := uint8(i)
		for range 8 {
			if c&0x80 != 0 {
				c = c<<1 ^ crc8Poly
			} else {
				c <<= 1
			}
		}
		t[0][i] = c
	}
	for n := range t[1:] {
		for i, c := range t[n] {
			t[n+1][i] = t[0][c]
		}
	}
	return t
}

func crc8(b []byte) uint8 {
	t, c := &crc8Tables, uint8(0xFF)
	for ; len(b) >= 8; b = b[8:] {
		c = t[7][c^b[0]] ^ t[6][b[1]] ^ t[5][b[2]] ^ t[4][b[3]] ^ t[3][b[4]] ^ t[2][b[5]] ^ t[1][b[6]] ^ t[0][b[7]]
	}
	for _, x := range b {
		c = t[0][c^x]
	}
	return ^c
}

// sealEntry appends the checksum of an entry, unsealEntry checks and cuts it off.
func sealEntry(b []byte) []byte { return append(b, crc8(b)) }

func unsealEntry(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, corrupt.New(0, "empty posting entry")
	}
	body, sum := b[:len(b)-1], b[len(b)-1]
	if got := crc8(body); got != sum {
		return nil, corrupt.New(len(body), "checksum of the posting entry is %#02x, stored %#02x", got, sum)
	}
	return body, nil
}

// sealPart appends the checksum of a directory part or of a chunk, unsealPart
// checks and cuts it off.
func sealPart(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func (l *List) unsealPart(b []byte, what string) ([]byte, error) {
	if len(b) < 4 {
		return nil, corrupt.New(0, "%s of %d bytes has no checksum", what, len(b))
	}
	body := b[:len(b)-4]
	if l.checked {
		return body, nil
	}
	sum := binary.LittleEndian.Uint32(b[len(body):])
	if got := crc32.Checksum(body, castagnoli); got != sum {
		return nil, corrupt.New(len(body), "checksum of the %s is %#08x, stored %#08x", what, got, sum)
	}
	return body, nil
}
