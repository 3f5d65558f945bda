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

// The versions of the index info (format.Info). The second says that segments have updates, which older
// builds would ignore.
const (
	infoOfPosition = 1
	infoOfUpdates  = 2
)

// encodeInfo returns what the manifest stores about the index as a whole (store.Manifest.Info):
// nothing without a position and updates, else
//
//	version (uvarint), length of the position (uvarint), position
//
// The position may be empty in version 2.
func encodeInfo(position string, updated bool) []byte {
	version := uint64(infoOfPosition)
	switch {
	case updated:
		version = infoOfUpdates
	case position == "":
		return nil
	}
	info := binary.AppendUvarint(nil, version)
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
	if left := len(info) - n - m; m <= 0 || size == 0 && version < infoOfUpdates || size > document.MaxPositionBytes || size != uint64(left) {
		return "", corrupt.New(n, "a position of %d bytes in %d", size, left)
	}
	return string(info[n+m:]), nil
}
