package postings

import "sort"

// Postings are postings in rising order of documents, as Builder.AddAll and AddAllPositions take
// them.
type Postings struct {
	Docs, TFs     []uint32
	Positions     []byte
	WithPositions bool
}

// Reset empties p.
func (p *Postings) Reset(withPositions bool) {
	*p = Postings{p.Docs[:0], p.TFs[:0], p.Positions[:0], withPositions}
}

// AppendFrom appends the postings of the documents from first to below limit, with positions if to
// wants some. For the newest documents of a builder it costs what their blocks cost.
func (b *Builder) AppendFrom(to *Postings, first, limit uint32) {
	take := func(k *block, positions []byte) {
		for i, doc := range k.docs[:k.n] {
			end := 0
			if to.WithPositions {
				end = varintsEnd(positions, int(k.tfs[i]))
			}
			if doc >= first && doc < limit {
				to.Docs, to.TFs = append(to.Docs, doc), append(to.TFs, k.tfs[i])
				to.Positions = append(to.Positions, positions[:end]...)
			}
			positions = positions[end:]
		}
	}
	if f := b.full; f != nil {
		from := sort.Search(len(f.last), func(i int) bool { return f.last[i] >= first })
		for i := from; i < len(f.last); i++ {
			var k block
			f.readBlock(&k, i, b.blockSize())
			var positions []byte
			if to.WithPositions {
				positions = f.positionsOf(i)
			}
			if take(&k, positions); k.last() >= limit {
				return
			}
		}
	}
	var k block
	take(&k, b.readTail(&k))
}
