package segment

import (
	"encoding/binary"
	"slices"
)

// A run is postings in bytes, as chunks and a Bulk keep them. A posting is the number of documents
// between it and the previous one, twice, plus one if its frequency is 1. Otherwise the frequency
// minus two follows. Both are varints.
//
// Nearly all postings take at most three bytes, but how many is unpredictable. So neither
// appendRuns nor a runReader branches on it for these.

// appendRun appends one posting: gap documents lie between it and the previous one.
func appendRun(dst []byte, gap, tf uint32) []byte {
	if tf == 1 {
		if gap < 0x40 {
			return append(dst, byte(gap<<1|1))
		}
		return binary.AppendUvarint(dst, uint64(gap)<<1|1)
	}
	dst = binary.AppendUvarint(dst, uint64(gap)<<1)
	return binary.AppendUvarint(dst, uint64(tf-2))
}

// maxRunBytes is the most bytes that a posting takes.
const maxRunBytes = 2 * binary.MaxVarintLen32

// appendRuns appends postings that follow the document prev.
func appendRuns(dst []byte, prev uint32, list []docTF) []byte {
	dst = slices.Grow(dst, maxRunBytes*len(list)+4)
	n, room := len(dst), dst[:cap(dst)]
	for _, p := range list {
		gap := p.doc - prev - 1
		prev = p.doc
		if gap >= 1<<13 || p.tf >= 2+1<<7 {
			n = len(appendRun(room[:n], gap, p.tf))
			continue
		}
		once := uint32(0)
		if p.tf == 1 {
			once = 1
		}
		v := gap<<1 | once
		more := (0x7f - v) >> 31 // 1 when v takes two bytes
		binary.LittleEndian.PutUint32(room[n:], v&0x7f|more<<7|v>>7<<8|(p.tf-2)<<(8+8*more&31))
		n += int(2 + more - once)
	}
	return room[:n]
}

// A runReader reads the postings of a run one by one.
type runReader struct {
	data []byte
	doc  uint32 // of the previous posting, or noDoc
}

// read reads up to len(docs) postings and returns how many.
func (r *runReader) read(docs, tfs []uint32) int {
	data, doc := r.data, r.doc
	n := 0
	for n < len(docs) && len(data) > 0 {
		for n < len(docs) && n < len(tfs) && len(data) >= 4 {
			w := binary.LittleEndian.Uint32(data)
			more := w >> 7 & 1
			v := w&0x7f | w>>1&0x3f80&-more
			often := v&1 ^ 1
			rest := w >> (8 + 8*more&31) & 0xff
			if (more&(w>>15)|often&(rest>>7))&1 != 0 {
				break
			}
			data = data[1+more+often:]
			doc += v>>1 + 1
			docs[n], tfs[n] = doc, 1+(rest+1)&-often
			n++
		}
		if n < len(docs) && len(data) > 0 {
			docs[n], tfs[n], data = readRun(data, doc)
			doc = docs[n]
			n++
		}
	}
	r.data, r.doc = data, doc
	return n
}

// readRun reads one posting that follows the document prev.
func readRun(data []byte, prev uint32) (doc, tf uint32, rest []byte) {
	v, n := binary.Uvarint(data)
	data = data[n:]
	if tf = 1; v&1 == 0 {
		tf, data = varint(data)
		tf += 2
	}
	return prev + uint32(v>>1) + 1, tf, data
}
