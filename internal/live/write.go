package live

import (
	"context"

	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
)

// A mergeInput is a segment with its deleted documents and its updates at the start of the merge.
type mergeInput struct {
	s       *liveSegment
	deleted *deletions
	updates *updates
}

// merged is the result of writeMerged for commitMerged.
type merged struct {
	writer *store.SegmentWriter // nil if no document was left
	result *segment.Result
}

func (m *merged) abort() {
	if m.writer != nil {
		_ = m.writer.Abort() // the next Open removes a remaining file
	}
}

// writeMerged writes the live documents of some neighboring segments as one.
func (ix *Index) writeMerged(ctx context.Context, inputs []mergeInput, order segment.Order) (*merged, error) {
	w, err := ix.store.NewSegment()
	if err != nil {
		return nil, err
	}
	out := &merged{writer: w}
	var in []segment.Input
	for _, i := range inputs {
		input := segment.Input{Reader: i.s.reader(), Deleted: i.deleted.set()}
		if i.updates != nil {
			input.Updates = &segmentUpdates{i.updates, input.Reader.Docs(), ix.storesField}
		}
		in = append(in, input)
	}
	m := ix.opts.Merge
	out.result, err = segment.Merge(ctx, sink{w}, in, segment.MergeOptions{
		Order: order, Codec: ix.opts.Codec, Workers: m.Workers, Cores: ix.cores, MemoryBytes: m.MemoryBytes, TableBytes: ix.opts.TableBytes, CodedBytes: ix.opts.CodedBytes,
	})
	if err == nil && out.result.Docs > 0 {
		err = w.Finish()
	}
	if err != nil {
		out.abort()
		return nil, err
	}
	if out.result.Docs == 0 {
		out.abort()
		out.writer = nil
	}
	return out, nil
}

// sealOrder returns the order in which documents leave memory. Writers may be waiting for a seal,
// and computing an order by graph takes longer than all the rest of it. The next merge would have
// to compute it again anyway.
func (ix *Index) sealOrder() segment.Order {
	if ix.opts.Merge.Order.Kind == segment.ByGraph {
		return segment.Order{}
	}
	return ix.opts.Merge.Order
}
