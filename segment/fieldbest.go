package segment

import "slices"

// A fieldBest gathers the highest frequency of each document, one field after the other. For a
// field of few documents it remembers these, so that the cost depends on them and not on all
// documents of the segment.
type fieldBest struct {
	best    []uint32   // by document; all 0 between fields
	sparse  bool       // touched is in use
	touched [][]uint32 // by worker: documents whose best it raised from 0
}

func newFieldBest(docs uint32, workers int) *fieldBest {
	return &fieldBest{best: make([]uint32, docs), touched: make([][]uint32, workers)}
}

// begin begins a field of about having documents.
func (b *fieldBest) begin(having uint64) {
	b.sparse = having < uint64(len(b.best)/sparseShare)
}

// raise adds a frequency of a document. Only one goroutine may call it.
func (b *fieldBest) raise(doc, tf uint32) {
	old := b.best[doc]
	if old < tf {
		b.best[doc] = tf
	}
	if old == 0 && b.sparse {
		b.touched[0] = append(b.touched[0], doc)
	}
}

// end calls f for each document that has the field, in ascending order, and prepares for the next
// field.
func (b *fieldBest) end(f func(doc, tf uint32)) {
	if !b.sparse {
		for doc, tf := range b.best {
			if tf > 0 {
				f(uint32(doc), tf)
			}
		}
		clear(b.best)
		return
	}
	all := b.touched[0]
	for i, docs := range b.touched {
		if i > 0 {
			all = append(all, docs...)
		}
		b.touched[i] = docs[:0]
	}
	slices.Sort(all)
	for _, doc := range all {
		f(doc, b.best[doc])
		b.best[doc] = 0
	}
	b.touched[0] = all[:0]
}
