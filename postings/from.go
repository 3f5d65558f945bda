package postings

import "sort"

// AppendFrom appends the documents from first to below limit to docs, and their frequencies to tfs.
// For the newest documents of a builder it costs what their blocks cost.
func (b *Builder) AppendFrom(docs, tfs []uint32, first, limit uint32) (newDocs, newTFs []uint32) {
	take := func(k *block) {
		for i, doc := range k.docs[:k.n] {
			if doc >= first && doc < limit {
				docs, tfs = append(docs, doc), append(tfs, k.tfs[i])
			}
		}
	}
	if f := b.full; f != nil {
		from := sort.Search(len(f.last), func(i int) bool { return f.last[i] >= first })
		for i := from; i < len(f.last); i++ {
			var k block
			f.readBlock(&k, i, b.blockSize())
			if take(&k); k.last() >= limit {
				return docs, tfs
			}
		}
	}
	var k block
	b.readTail(&k)
	take(&k)
	return docs, tfs
}
