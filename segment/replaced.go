package segment

import (
	"bytes"
	"context"
	"slices"
)

// Replaced finds the documents whose id occurs again in a later segment: for each segment their
// numbers, ascending. It reads all ids, in step.
func Replaced(ctx context.Context, segments []Reader) ([][]uint32, error) {
	w := walk[IDIterator]{key: IDIterator.ID}
	defer w.close()
	for i, r := range segments {
		it, err := r.IDs("")
		if err == nil {
			err = w.add(i, it)
		}
		if err != nil {
			return nil, err
		}
	}
	gone := make([][]uint32, len(segments))
	var last []byte
	var lastInput, lastDoc = -1, uint32(0)
	for steps := 0; !w.done(); steps++ {
		if steps%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		input, it := w.top()
		if lastInput >= 0 && bytes.Equal(it.ID(), last) { // of equal ids the first segment comes first
			gone[lastInput] = append(gone[lastInput], lastDoc)
		}
		last = append(last[:0], it.ID()...)
		lastInput, lastDoc = input, it.Doc()
		if err := w.next(); err != nil {
			return nil, err
		}
	}
	for _, docs := range gone {
		slices.Sort(docs)
	}
	return gone, nil
}
