package postings

import "slices"

// partBlocks is the number of blocks in a directory part.
const partBlocks = partExtents * ExtentBlocks

// loadOldDirectory loads the directory of segments up to version 6, which has no levels: each part
// is one string of bits.
func (l *List) loadOldDirectory() error {
	var parts [][]byte
	blocks, size := l.blocksByCount(), 0
	for b := 0; b < blocks; b += partBlocks {
		part, err := l.directoryPart(len(parts))
		if err != nil {
			return err
		}
		parts = append(parts, part)
		size += len(part)
	}
	if err := checkSize(uint64(size), blocks); err != nil {
		return err
	}
	l.makeBlocks()
	m := &Impacts{Start: make([]uint32, 1, blocks+1)}
	before, rows := noDoc, uint32(0)
	var h heads
	for i, part := range parts {
		r := directoryReader{bitReader: bitReader{b: part}, list: l}
		r.begin()
		for from := i * partBlocks; from < min((i+1)*partBlocks, blocks); from += ExtentBlocks {
			to := min(from+ExtentBlocks, blocks)
			if err := r.blocks(&h, from, to, before); err != nil {
				return err
			}
			copy(l.Last[from:to], h.last[:])
			copy(l.Enc[from:to], h.enc[:])
			for j, off := range h.off[:h.n] {
				l.Off[from+j] = rows + off
			}
			m.append(&h.impacts)
			before, rows = l.Last[to-1], rows+h.rows
		}
		if err := r.end(); err != nil {
			return err
		}
	}
	m.pairs = slices.Clone(m.pairs)
	l.impacts.Store(m)
	return l.finishOpen()
}
