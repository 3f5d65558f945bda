package segment

import (
	"encoding/binary"
	"math"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// wholeNorms is the feature of a segment in which length codes of some fields are one value each,
// instead of one for each normChunkDocs documents. Its data are the numbers of these fields:
//
//	for each, ascending   varint   fields between it and the previous one
//
// A source that lends the value (Lender) thus has the column itself, and nothing is copied. Columns of
// a single chunk are of that form anyway. Those in which all documents of a chunk have the same code
// stay in chunks, which then take a byte.
const wholeNorms = "length codes of a field in one value"

// isWhole reports whether a column is stored as one value by that feature.
func isWhole(column []uint8) bool {
	if len(column) <= normChunkDocs {
		return false
	}
	for rest := column; len(rest) > 0; {
		n := min(len(rest), normChunkDocs)
		if isUniform(rest[:n]) {
			return false
		}
		rest = rest[n:]
	}
	return true
}

// isUniform reports whether all codes are the same.
func isUniform(codes []uint8) bool {
	for _, c := range codes {
		if c != codes[0] {
			return false
		}
	}
	return true
}

// wholeFeature appends the feature if the norms of some fields are whole.
func wholeFeature(features []feature, whole []bool) []feature {
	var data []byte
	next := 0
	for field, is := range whole {
		if is {
			data = binary.AppendUvarint(data, uint64(field-next))
			next = field + 1
		}
	}
	if data == nil {
		return features
	}
	return append(features, feature{name: wholeNorms, required: true, data: data})
}

// openWhole sets m.whole from the feature, if the segment has it.
func (m *meta) openWhole() error {
	for _, f := range m.features {
		if f.name != wholeNorms {
			continue
		}
		d := newDecoder(f.data)
		for next := uint64(0); d.left() > 0 && d.err == nil; next++ {
			next += d.uint("fields between", math.MaxUint32)
			if next >= uint64(len(m.fields)) || !m.fields[next].Norms || m.sparse[next] || m.docs <= normChunkDocs {
				return corrupt.New(-1, "length codes of field %d are one value; it has no such column", next)
			}
			m.whole[next] = true
		}
		return d.err
	}
	return nil
}

// normChunks returns how many values the norms of a field with a column take.
func (m *meta) normChunks(field uint32) uint32 {
	if m.whole[field] {
		return 1
	}
	return chunksOf(m.docs, normChunkDocs)
}
