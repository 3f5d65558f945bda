package store

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/format"
)

// sealVersion is the first byte of every sealed value.
const sealVersion = 1

// sealBytes is what a seal adds to a payload: the version before it, the checksum after it.
const sealBytes = 1 + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealInto writes the seal of payload under key to dst, which has the length of
// the payload plus sealBytes, and returns its checksum.
func sealInto(dst, key, payload []byte) uint32 {
	dst[0] = sealVersion
	copy(dst[1:], payload)
	end := len(dst) - 4
	sum := sealSum(key, dst[:end])
	binary.LittleEndian.PutUint32(dst[end:], sum)
	return sum
}

// sealSum covers the key too, so a value under a wrong key is as invalid as one with a flipped bit.
func sealSum(key, versioned []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, versioned)
}

// unseal checks the value that was found under key and returns its payload,
// which is a part of value, and its checksum.
func unseal(key, value []byte) (payload []byte, sum uint32, err error) {
	if len(value) < sealBytes {
		return nil, 0, corrupt.New(0, "%d bytes, want at least %d", len(value), sealBytes)
	}
	end := len(value) - 4
	sum = binary.LittleEndian.Uint32(value[end:])
	if got := sealSum(key, value[:end]); got != sum {
		return nil, 0, corrupt.New(end, "checksum %08x, want %08x", got, sum)
	}
	if err := format.Sealed.Check(uint64(value[0])); err != nil {
		return nil, 0, err
	}
	return value[1:end], sum, nil
}
