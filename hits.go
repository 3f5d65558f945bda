package riffle

import (
	"context"

	"github.com/riffle-search/riffle/blockmax"
)

// A namer turns what executors found into hits. The ids of one result share one string, so
// that a thousand hits take two allocations; who keeps one id for long keeps the others,
// unless it is cloned.
type namer struct {
	ids  []byte
	ends []int // of each id
}

// keptIDBytes is how large a namer's buffer may be that is kept for the next search.
const keptIDBytes = 64 << 10

// hits returns the hits of top on a view, with the stored fields that load names.
func (n *namer) hits(ctx context.Context, v view, top []blockmax.Hit, scale float64, load []string) (hits []Hit, err error) {
	hits, n.ids, n.ends = make([]Hit, len(top)), n.ids[:0], n.ends[:0]
	for i, h := range top {
		hit := &hits[i]
		hit.Score, hit.doc, hit.score = float64(h.Score)/scale, h.Doc, h.Score
		sv := v.SegmentOf(h.Doc)
		if n.ids, err = sv.Reader().AppendID(n.ids, h.Doc-sv.Base()); err != nil {
			return nil, sv.At(err)
		}
		n.ends = append(n.ends, len(n.ids))
		if len(load) > 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if hit.Fields, err = loadFields(sv, h.Doc-sv.Base(), load); err != nil {
				return nil, err
			}
		}
	}
	ids, from := string(n.ids), 0
	for i, to := range n.ends {
		hits[i].ID, from = ids[from:to], to
	}
	if cap(n.ids) > keptIDBytes {
		n.ids = nil
	}
	return hits, nil
}
