package oplogtest

import (
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// WithVersion returns a message as a release would write it whose messages have another version.
func WithVersion(message []byte, version byte) []byte {
	other := slices.Clone(message[:len(message)-8])
	other[0] = version
	return binary.LittleEndian.AppendUint64(other, xxhash.Sum64(other))
}
