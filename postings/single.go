package postings

import "slices"

// A single is a list of one block together with its arrays. It makes opening a term that occurs
// once, as half of all terms do, take only three allocations.
type single struct {
	List
	last  [1]uint32 // of the block and of the extent
	off   [1]uint32
	start [2]uint32
	enc   [1]Encoding
	chunk chunk
	pairs Impacts
}

// newSingle makes a list of the postings of a block. There is at least one, and best holds their
// best pairs.
func newSingle(k *block, blockSize int, best []Impact) *List {
	s := new(single)
	best = slices.Clone(best)
	rows, e := k.appendRows(nil, noDoc, Packed)
	s.chunk.rows = rows
	s.last[0], s.enc[0], s.start[1] = k.last(), e, uint32(len(best))
	s.pairs = Impacts{Start: s.start[:], pairs: best}
	s.List.Count, s.List.BlockSize = k.n, blockSize
	s.Last, s.Enc, s.Off, s.ExtLast = s.last[:], s.enc[:], s.off[:], s.last[:]
	s.ExtImpacts, s.ListImpacts = s.pairs, best
	s.impacts.Store(&s.pairs)
	s.tail = &s.chunk
	return &s.List
}
