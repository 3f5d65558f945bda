package live

import (
	"context"

	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
)

// A mergeInput is a segment and the documents that were deleted when its merge began.
type mergeInput struct {
	s       *liveSegment
	deleted *deletions
}

// merged is what writeMerged hands to commitMerged.
type merged struct {
	writer *store.SegmentWriter // nil when no document was left
	result *segment.Result
}

func (m *merged) abort() {
	if m.writer != nil {
		_ = m.writer.Abort() // a file that stays behind goes at the next Open
	}
}

// writeMerged writes the live documents of some neighbouring segments as one.
func (ix *Index) writeMerged(ctx context.Context, inputs []mergeInput, order segment.Order) (*merged, error) {
	w, err := ix.store.NewSegment()
	if err != nil {
		return nil, err
	}
	out := &merged{writer: w}
	var in []segment.Input
	for _, i := range inputs {
		in = append(in, segment.Input{Reader: i.s.reader(), Deleted: i.deleted.set()})
	}
	m := ix.opts.Merge
	out.result, err = segment.Merge(ctx, sink{w}, in, segment.MergeOptions{
		Order: order, Codec: ix.opts.Codec, Workers: m.Workers, MemoryBytes: m.MemoryBytes, TableBytes: ix.opts.TableBytes,
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

// sealOrder is the order in which documents leave memory. To find an order by
// graph takes longer than all else in a seal, which writers may be waiting for, and
// the next merge would have to find it anew.
func (ix *Index) sealOrder() segment.Order {
	if ix.opts.Merge.Order.Kind == segment.ByGraph {
		return segment.Order{}
	}
	return ix.opts.Merge.Order
}
