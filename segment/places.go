package segment

import "encoding/binary"

// placeChunkDocs is how many documents have their places in one value, which takes 256 KB in
// memory.
const placeChunkDocs = 64 << 10

// appendPlaces appends the places of consecutive documents among the ids of the segment, as runs of
// consecutive places:
//
//	first   varint  zigzag(first place - previous place - 1)<<1, plus 1 when the run is longer
//	length  varint  number of places - 2, of a longer one
//
// A chunk counts from place -1. Ids that rise with documents take four bytes in all. Ids that are
// numbers without leading zeros take three bytes for ten of them. Random ids take three bytes each.
func appendPlaces(dst []byte, places []uint32) []byte {
	before := int64(-1)
	for i := 0; i < len(places); {
		n := 1
		for i+n < len(places) && places[i+n] == places[i]+uint32(n) {
			n++
		}
		v := int64(places[i]) - before - 1
		first := (uint64(v)<<1 ^ uint64(v>>63)) << 1
		if n > 1 {
			dst = binary.AppendUvarint(binary.AppendUvarint(dst, first|1), uint64(n-2))
		} else {
			dst = binary.AppendUvarint(dst, first)
		}
		i += n
		before = int64(places[i-1])
	}
	return dst
}

// decodePlaces reads places below docs into dst, whose length must be that of the chunk.
func decodePlaces(payload []byte, dst []uint32, docs uint32) error {
	d := newDecoder(payload)
	before := int64(-1)
	for len(dst) > 0 && d.err == nil {
		v := d.uint("first place of a run", 1<<34)
		n := uint64(1)
		if v&1 != 0 {
			n = d.uint("length of a run", uint64(len(dst))) + 2
		}
		delta := int64(v>>2) ^ -int64(v>>1&1)
		first := before + 1 + delta
		if n > uint64(len(dst)) || first < 0 || first+int64(n) > int64(docs) {
			d.fail("%d places from %d on, want %d at most, below %d", n, first, len(dst), docs)
		}
		if d.err != nil {
			break
		}
		for i := range n {
			dst[i] = uint32(first) + uint32(i)
		}
		dst, before = dst[n:], first+int64(n)-1
	}
	return d.end()
}
