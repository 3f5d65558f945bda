package riffle

import (
	"context"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/plan"
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

// hits returns the hits of top on a view, with the stored fields that load names. Their cursors share page,
// whose text also takes the ids.
func (n *namer) hits(ctx context.Context, v view, top []blockmax.Hit, c *plan.Compiled, load []string, page *cursorPage) (hits []Hit, err error) {
	hits, n.ids, n.ends = make([]Hit, len(top)), n.ids[:0], n.ends[:0]
	for i, h := range top {
		hit := &hits[i]
		sv := v.SegmentOf(h.Doc)
		hit.Score = float64(h.Score) / c.Scale
		hit.Cursor = Cursor{page: page, segment: uint32(sv.Number()), local: h.Doc - sv.Base(), doc: h.Doc, score: h.Score}
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
	if len(hits) == 0 {
		return hits, nil
	}
	page.statistics = len(n.ids)
	n.ids = c.AppendStatistics(n.ids)
	page.text = string(n.ids)
	from := 0
	for i, to := range n.ends {
		hit := &hits[i]
		hit.ID = page.text[from:to]
		hit.Cursor.from, hit.Cursor.to = uint32(from), uint32(to)
		from = to
	}
	if cap(n.ids) > keptIDBytes {
		n.ids = nil
	}
	return hits, nil
}
