package live

import (
	"encoding/binary"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/format"
)

// The position of an index is that of its last batch that had one. It goes wherever the documents
// of that batch go: into the log in the same record, into memory under the same lock, and into the
// manifest with the seal that covers the record. So no crash separates them, and every view has the
// position of exactly its own batches.

// moveTo sets the position of the index, unless it is empty. The caller holds ix.mu, or is alone.
func (ix *Index) moveTo(position string) {
	if position != "" {
		ix.position = position
	}
}

// infoVersion is the version of the index info that this build writes (format.Info).
const infoVersion = 1

// encodeInfo returns what the manifest stores about the index as a whole (store.Manifest.Info):
// nothing without a position, else
//
//	version (uvarint), length of the position (uvarint), position
//
// A build that does not know it leaves it unchanged, and so do all commits except those of seals.
func encodeInfo(position string) []byte {
	if position == "" {
		return nil
	}
	info := binary.AppendUvarint(nil, infoVersion)
	info = binary.AppendUvarint(info, uint64(len(position)))
	return append(info, position...)
}

// decodeInfo reads what encodeInfo wrote.
func decodeInfo(info []byte) (position string, err error) {
	if len(info) == 0 {
		return "", nil
	}
	version, n := binary.Uvarint(info)
	if n <= 0 {
		return "", corrupt.New(0, "no version")
	}
	if err := format.Info.Check(version); err != nil {
		return "", err
	}
	size, m := binary.Uvarint(info[n:])
	if left := len(info) - n - m; m <= 0 || size == 0 || size > document.MaxPositionBytes || size != uint64(left) {
		return "", corrupt.New(n, "a position of %d bytes in %d", size, left)
	}
	return string(info[n+m:]), nil
}
