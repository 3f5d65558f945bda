package postings

import "encoding/binary"

// grownPositions are the positions of a view of a Builder: for each posting its first position and
// the distances between its positions, as varints. It shares those of full blocks with the builder.
type grownPositions struct {
	data []byte
	at   []uint32 // where each full block begins
	tail []byte   // of the last block, if it is not among these
}

func (g *grownPositions) bytes() int64 { return int64(len(g.tail)) + 80 }
func (g *grownPositions) shrink() bool { return false }

// load implements positionSource.
func (g *grownPositions) load(p *Positions, b, n int) error {
	readVarints(p.makeWide(n), g.block(b))
	_, err := p.takeDeltas()
	return err
}

// block returns the varints of a block.
func (g *grownPositions) block(b int) []byte {
	if b >= len(g.at) {
		return g.tail
	}
	return g.data[g.at[b]:]
}

// ReadPositions reads positions in the form of Builder.AddAllPositions, as many as dst takes, for
// Writer.AddPositions. It returns those that follow.
func ReadPositions(dst []uint32, positions []byte) (rest []byte) { return readVarints(dst, positions) }

// PositionsEnd returns where the positions of postings end, which begin positions in that form.
func PositionsEnd(positions []byte, tfs []uint32) int {
	return varintsEnd(positions, int(sumOf(tfs)))
}

// readVarints reads numbers that this package has written, as many as dst takes.
func readVarints(dst []uint32, data []byte) (rest []byte) {
	at := 0
	for i := range dst {
		v := uint32(data[at])
		at++
		if v >= 0x80 {
			v &= 0x7f
			for shift := 7; ; shift += 7 {
				b := data[at]
				at++
				v |= uint32(b&0x7f) << shift
				if b < 0x80 {
					break
				}
			}
		}
		dst[i] = v
	}
	return data[at:]
}

// varintsEnd returns where n varints end.
func varintsEnd(data []byte, n int) (end int) {
	for ; n > 0; end++ {
		n -= int(data[end]>>7 ^ 1)
	}
	return end
}

// appendPositions appends the positions of a posting as varints.
func appendPositions(dst []byte, positions []uint32) []byte {
	prev := uint32(0)
	for _, p := range positions {
		dst = binary.AppendUvarint(dst, uint64(p-prev))
		prev = p
	}
	return dst
}
