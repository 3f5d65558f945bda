package segment

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/format"
)

// Version is the format version that this package writes. It is the first byte of every sealed
// value. The package reads the versions of format.Segment and refuses the meta value of any other
// (ErrFormat). All values of a segment have the version of its meta value.
//
//	1  the first; not read any more
//	2  short lists are bit strings, long ones may be; not read any more
//	3  ids in pages, with places instead of a lookup key for each; not read any more
//	4  directories of lists are bit strings
//	5  norms and tiles of a field only where documents have it; fields beyond 65,535
//	6  the writer, and features
//	7  directories of lists have levels, and say where coded blocks begin
//
// A change that older builds would misread takes a feature (type feature), or a new version if
// every segment has it.
const Version = 7

var versions = format.Segment

const (
	oldTilesVersion = 4 // tiles of all documents
	oldFieldVersion = 4 // 65,536 fields at most, all numbered in two bytes
	featureVersion  = 6 // the first with features
)

// sealBytes is what a seal adds to a value: the version before it and the checksum after it.
const sealBytes = 1 + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// startSealed begins a value in dst[:0]; the caller appends the payload and then
// calls endSealed.
func startSealed(dst []byte) []byte { return append(dst[:0], Version) }

// endSealed appends the CRC-32C of everything before it.
func endSealed(dst []byte) []byte { return endSealedAt(dst, 0) }

// endSealedAt appends the CRC-32C of the bytes from start.
func endSealedAt(dst []byte, start int) []byte {
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// unseal checks a sealed value of a segment of version want and returns the payload, which is a
// part of it. Offsets in the error count from the start of the value.
func unseal(value []byte, want byte) ([]byte, error) {
	version, payload, err := checkSeal(value)
	if err == nil && version != want {
		err = corrupt.New(0, "version %d, want %d", version, want)
	}
	return payload, err
}

// checkSeal splits a sealed value of any version. Later versions keep the first byte and the
// checksum in place.
func checkSeal(value []byte) (version byte, payload []byte, err error) {
	if len(value) < sealBytes {
		return 0, nil, corrupt.New(0, "%d bytes, want at least %d", len(value), sealBytes)
	}
	end := len(value) - 4
	want := binary.LittleEndian.Uint32(value[end:])
	if got := crc32.Checksum(value[:end], castagnoli); got != want {
		return 0, nil, corrupt.New(end, "checksum %08x, want %08x", got, want)
	}
	return value[0], value[1:end], nil
}

// A decoder reads a payload from front to back and remembers the first fault. After one, all reads
// return zero. Its offsets are those of the sealed value, whose first byte is the version.
type decoder struct {
	data []byte
	pos  int
	err  error
}

func newDecoder(payload []byte) *decoder { return &decoder{data: payload} }

// fail records a fault at the next byte.
func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = corrupt.New(1+d.pos, format, args...)
	}
}

func (d *decoder) left() int { return len(d.data) - d.pos }

// uint reads a varint that may not exceed limit.
func (d *decoder) uint(what string, limit uint64) uint64 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Uvarint(d.data[d.pos:])
	switch {
	case n <= 0:
		d.fail("%s: no varint in the last %d bytes", what, d.left())
		return 0
	case v > limit:
		d.fail("%s is %d, want at most %d", what, v, limit)
		return 0
	}
	d.pos += n
	return v
}

// bytes reads the next n bytes, as a part of the payload.
func (d *decoder) bytes(what string, n int) []byte {
	if d.err == nil && n > d.left() {
		d.fail("%s: %d bytes, but %d are left", what, n, d.left())
	}
	if d.err != nil {
		return nil
	}
	d.pos += n
	return d.data[d.pos-n : d.pos : d.pos]
}

// byte reads one byte.
func (d *decoder) byte(what string) byte {
	if b := d.bytes(what, 1); b != nil {
		return b[0]
	}
	return 0
}

// end returns the first fault, which may be bytes that are left over.
func (d *decoder) end() error {
	if d.err == nil && d.left() > 0 {
		d.fail("%d bytes too many", d.left())
	}
	return d.err
}
