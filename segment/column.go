package segment

import (
	"encoding/binary"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/corrupt"
)

// A column holds one number of fixed size for every document, in chunks of 64 KB.
const (
	normChunkDocs = 64 << 10
	rankChunkDocs = 32 << 10
)

// chunksOf returns the number of chunks for docs documents, at size documents per chunk.
func chunksOf(docs uint32, size int) uint32 {
	return uint32((uint64(docs) + uint64(size) - 1) / uint64(size))
}

// chunkLen returns how many documents chunk i holds.
func chunkLen(docs, i uint32, size int) int {
	return int(min(uint64(size), uint64(docs)-uint64(i)*uint64(size)))
}

// appendNorms appends a chunk of length codes: a byte for each document, or one byte for all when
// they are equal. Chunks in which no document has the field are common where documents have many
// fields and use few.
func appendNorms(dst, codes []uint8) []byte {
	if isUniform(codes) {
		return append(dst, codes[0])
	}
	return append(dst, codes...)
}

// decodeNorms reads a chunk into dst, whose length must be that of the chunk.
func decodeNorms(payload []byte, dst []uint8) error {
	switch len(payload) {
	case len(dst):
		copy(dst, payload)
	case 1:
		for i := range dst {
			dst[i] = payload[0]
		}
	default:
		return corrupt.New(1, "%d length codes, want %d", len(payload), len(dst))
	}
	return nil
}

// appendRanks appends a chunk of static ranks: two bytes for each document,
// little-endian.
func appendRanks(dst []byte, ranks []uint16) []byte {
	for _, r := range ranks {
		dst = binary.LittleEndian.AppendUint16(dst, r)
	}
	return dst
}

// decodeRanks reads a chunk into dst, whose length must be that of the chunk.
func decodeRanks(payload []byte, dst []uint16) error {
	if len(payload) != 2*len(dst) {
		return corrupt.New(1, "%d bytes of ranks, want %d", len(payload), 2*len(dst))
	}
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint16(payload[2*i:])
	}
	return nil
}

// tileMaxima returns the highest rank of each tile.
func tileMaxima(ranks []uint16) []uint16 {
	if ranks == nil {
		return nil
	}
	tiles := make([]uint16, chunksOf(uint32(len(ranks)), blockmax.TileDocs))
	for doc, r := range ranks {
		t := &tiles[doc/blockmax.TileDocs]
		*t = max(*t, r)
	}
	return tiles
}
