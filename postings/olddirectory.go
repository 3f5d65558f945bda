package postings

import "slices"

// partBlocks is the number of blocks in a directory part.
const partBlocks = partExtents * ExtentBlocks

// parseOldDirectory reads the directory of segments up to version 6, which has no levels: each part
// is one string of bits.
func (l *List) parseOldDirectory(parts [][]byte) error {
	blocks, err := l.makeBlocks(parts)
	if err != nil {
		return err
	}
	p := extentParser{list: l, impacts: l.impacts.Load(), pairs: make([]Impact, 0, 2*blocks)}
	for i, part := range parts {
		r := bitReader{b: part}
		low, before := int(r.take(5)), Encoding(0)
		for b := i * partBlocks; b < min((i+1)*partBlocks, blocks); b++ {
			if err := p.block(&r, low, &before, false); err != nil {
				return inBlock(err, b)
			}
		}
		if err := r.end(); err != nil {
			return err
		}
	}
	l.impacts.Load().pairs = slices.Clone(p.pairs)
	return l.finishOpen()
}
