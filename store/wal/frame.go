package wal

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/format"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// Sizes of the two headers.
const (
	fileHeaderBytes  = 64
	frameHeaderBytes = 32
)

// fileMagic begins every file; its last byte is the version.
var fileMagic = [8]byte{'r', 'i', 'f', 'f', 'l', 'o', 'g', version}

// version is that of the files that this package writes. A new kind of frame, or a new flag of one,
// needs a new version.
//
//	1  the first
const version = 1

// A fileHeader is the start of a file.
type fileHeader struct {
	id     uint64 // of the log
	nonce  uint64 // random, of the file
	number uint64
	first  uint64 // sequence number of the next record when the file was begun
	prev   uint32 // where the frames of the previous file end; 0 without one
	vouch  Vouch
}

func (h *fileHeader) encode() []byte {
	b := append(make([]byte, 0, fileHeaderBytes), fileMagic[:]...)
	b = binary.LittleEndian.AppendUint64(b, h.id)
	b = binary.LittleEndian.AppendUint64(b, h.nonce)
	b = binary.LittleEndian.AppendUint64(b, h.number)
	b = binary.LittleEndian.AppendUint64(b, h.first)
	b = binary.LittleEndian.AppendUint32(b, h.prev)
	b = h.vouch.append(b)
	b = append(b, make([]byte, fileHeaderBytes-4-len(b))...)
	return binary.LittleEndian.AppendUint32(b, checksum(b))
}

// seed is the initial value of the checksums in the file.
func (h *fileHeader) seed() uint32 { return binary.LittleEndian.Uint32(h.encode()[fileHeaderBytes-4:]) }

// decodeFileHeader returns the header and the seed of the checksums in the file.
func decodeFileHeader(b []byte) (h fileHeader, seed uint32, err error) {
	if len(b) < fileHeaderBytes {
		return h, 0, corrupt.New(len(b), "the file ends in its header of %d bytes", fileHeaderBytes)
	}
	b = b[:fileHeaderBytes]
	if [7]byte(b) != [7]byte(fileMagic[:]) {
		return h, 0, corrupt.New(0, "%q, want %q", b[:7], fileMagic[:7])
	}
	const end = fileHeaderBytes - 4
	seed = binary.LittleEndian.Uint32(b[end:])
	if got := checksum(b[:end]); got != seed {
		return h, 0, corrupt.New(end, "checksum of the file's header %08x, want %08x", got, seed)
	}
	if err := format.LogFile.Check(uint64(b[7])); err != nil {
		return h, 0, err
	}
	h.id = binary.LittleEndian.Uint64(b[8:])
	h.nonce = binary.LittleEndian.Uint64(b[16:])
	h.number = binary.LittleEndian.Uint64(b[24:])
	h.first = binary.LittleEndian.Uint64(b[32:])
	h.prev = binary.LittleEndian.Uint32(b[40:])
	h.vouch, err = decodeVouch(b[44:][:vouchBytes])
	return h, seed, err
}

// A Vouch says which manifest of the store the log vouches for. A checksum identifies a manifest.
type Vouch struct {
	Is      uint32 // the manifest in force
	HasIs   bool   // false until the first one is confirmed
	Next    uint32 // the one announced to follow it
	HasNext bool
}

// Allows reports whether a store may be found with this manifest.
func (v Vouch) Allows(sum uint32) bool { return v.HasIs && v.Is == sum || v.HasNext && v.Next == sum }

const vouchBytes = 9

func (v Vouch) append(b []byte) []byte {
	var flags byte
	if v.HasIs {
		flags |= 1
	}
	if v.HasNext {
		flags |= 2
	}
	b = binary.LittleEndian.AppendUint32(append(b, flags), v.Is)
	return binary.LittleEndian.AppendUint32(b, v.Next)
}

func decodeVouch(b []byte) (Vouch, error) {
	if len(b) != vouchBytes || b[0] > 3 {
		return Vouch{}, corrupt.New(0, "no mark of a manifest: %x", b)
	}
	v := Vouch{HasIs: b[0]&1 != 0, HasNext: b[0]&2 != 0}
	v.Is, v.Next = binary.LittleEndian.Uint32(b[1:]), binary.LittleEndian.Uint32(b[5:])
	return v, nil
}

// Kinds of frames.
const (
	kindRecords byte = 'R'
	kindDurable byte = 'D' // no payload: only its field durable matters
	kindVouch   byte = 'M' // a Vouch
	kindEnd     byte = 'E' // no payload: the log continues in the next file
)

// Flags of a frame.
const (
	flagCompressed byte = 1 << iota
	flagMore            // the next frame belongs to the same Append
)

// frameMagic begins every frame, so that a scan of damaged bytes is fast.
const frameMagic = 0xa7f1

// A frameHeader is the start of a frame.
type frameHeader struct {
	kind    byte
	flags   byte
	length  uint32 // of the payload
	first   uint64 // the next record to begin when the frame begins
	count   uint32 // records that begin in it
	durable uint32 // the file was durable up to this offset when the frame was written
	sum     uint32 // of the payload
}

func (h *frameHeader) more() bool { return h.flags&flagMore != 0 }

// encodeInto writes the header of a frame that begins at off.
func (h *frameHeader) encodeInto(b []byte, seed uint32, off int64) {
	_ = b[frameHeaderBytes-1]
	binary.LittleEndian.PutUint16(b, frameMagic)
	b[2], b[3] = h.kind, h.flags
	binary.LittleEndian.PutUint32(b[4:], h.length)
	binary.LittleEndian.PutUint64(b[8:], h.first)
	binary.LittleEndian.PutUint32(b[16:], h.count)
	binary.LittleEndian.PutUint32(b[20:], h.durable)
	binary.LittleEndian.PutUint32(b[24:], h.sum)
	binary.LittleEndian.PutUint32(b[28:], headerSum(b, seed, off))
}

// headerSum depends on the file and the offset in it: bytes from another file, or bytes that have
// moved, never pass.
func headerSum(b []byte, seed uint32, off int64) uint32 {
	var at [8]byte
	binary.LittleEndian.PutUint32(at[:], seed)
	binary.LittleEndian.PutUint32(at[4:], uint32(off))
	return crc32.Update(checksum(at[:]), castagnoli, b[:frameHeaderBytes-4])
}

// decodeFrameHeader reads the header of a frame at off; ok is false if there is none.
func decodeFrameHeader(b []byte, seed uint32, off int64) (h frameHeader, ok bool) {
	if len(b) < frameHeaderBytes || binary.LittleEndian.Uint16(b) != frameMagic ||
		binary.LittleEndian.Uint32(b[28:]) != headerSum(b, seed, off) {
		return h, false
	}
	h.kind, h.flags = b[2], b[3]
	h.length = binary.LittleEndian.Uint32(b[4:])
	h.first = binary.LittleEndian.Uint64(b[8:])
	h.count = binary.LittleEndian.Uint32(b[16:])
	h.durable = binary.LittleEndian.Uint32(b[20:])
	h.sum = binary.LittleEndian.Uint32(b[24:])
	return h, true
}

// maxFileBytes is the largest possible end of a file: offsets have four bytes.
const maxFileBytes = math.MaxUint32
