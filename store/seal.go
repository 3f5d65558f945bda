package store

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// sealVersion is the first byte of every sealed value.
const sealVersion = 1

// sealBytes is what a seal adds to a payload: version before, checksum behind.
const sealBytes = 1 + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealInto writes the seal of payload under key to dst, which has the length of
// the payload plus sealBytes.
func sealInto(dst, key, payload []byte) {
	dst[0] = sealVersion
	copy(dst[1:], payload)
	end := len(dst) - 4
	binary.LittleEndian.PutUint32(dst[end:], sealSum(key, dst[:end]))
}

// sealSum covers the key too, so that a value found under a key that it was not
// written to is as wrong as one with a flipped bit.
func sealSum(key, versioned []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, versioned)
}

// unseal checks the value that was found under key and returns its payload,
// which is a part of value.
func unseal(key, value []byte) ([]byte, error) {
	fail := func(offset int, format string, args ...any) ([]byte, error) {
		return nil, corrupt.At(corrupt.New(offset, format, args...), KeyString(key))
	}
	if len(value) < sealBytes {
		return fail(0, "%d bytes, want at least %d", len(value), sealBytes)
	}
	end := len(value) - 4
	if got, want := sealSum(key, value[:end]), binary.LittleEndian.Uint32(value[end:]); got != want {
		return fail(end, "checksum %08x, want %08x", got, want)
	}
	if value[0] != sealVersion {
		return fail(0, "version %d, want %d", value[0], sealVersion)
	}
	return value[1:end], nil
}
