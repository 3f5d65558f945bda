package postings

// An Impact is one Pareto-best pair of a block, an extent or a list: no other
// posting there has both a frequency at least as high and a length code at most
// as high. Bounds are made from pairs, not from stored scores, so they stay
// exact whatever k1, b, average length or idf a query uses.
type Impact struct {
	TF  uint32 // term frequency, at least 1
	Len uint8  // length code of the document's field (see blockmax.LengthCode)
}

// A Loader reads the stored parts of a long list. Both calls return bytes that
// nobody changes afterwards, with the checksum already cut off or still on, as
// the format says.
type Loader interface {
	Directory(part int) ([]byte, error)
	Chunk(chunk int) ([]byte, error)
}

// Impacts are the Pareto pairs of consecutive blocks (or extents): those of i are
// Pairs[Start[i]:Start[i+1]].
type Impacts struct {
	Start []uint32 // one more than there are blocks
	Pairs []Impact
}

// Of returns the pairs of block (or extent) i.
func (m *Impacts) Of(i int) []Impact { return m.Pairs[m.Start[i]:m.Start[i+1]] }
