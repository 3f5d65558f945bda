package postings

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRun: a Scan reads a run, and ViewWith makes a list of full blocks and a run.
func TestRun(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var s Scan
	for n := range BlockSize {
		full := BlockSize * []int{0, 0, 1, ExtentBlocks, ExtentBlocks + 2}[n%5]
		ps := random(rng, full+n)
		docs, tfs, lengths := make([]uint32, len(ps)), make([]uint32, len(ps)), make([]uint8, len(ps))
		var run []byte // of a list without a full block
		prev := noDoc
		for i, p := range ps {
			docs[i], tfs[i], lengths[i] = p.doc, p.tf, p.length
			run = appendShort(run, p.doc-prev-1, p.tf)
			prev = p.doc
		}
		var b Builder
		b.AddAll(docs[:full], tfs[:full], lengths[:full])
		for _, end := range []int{len(ps), full + n/2, full, max(full-3, 0)} {
			limit := uint32(MaxDoc)
			if end < len(ps) {
				limit = ps[end].doc
			}
			l := b.ViewWith(limit, docs[full:], tfs[full:], lengths[full:], nil)
			checkList(t, l, ps[:end], end < full)
		}
		if full > 0 {
			continue
		}
		s.ResetRun(run, nil)
		clear(run) // the Scan must not need it any more
		if s.Next() != (n > 0) || !slices.Equal(s.Docs[:s.N], docs) || !slices.Equal(s.TFs[:s.N], tfs) {
			t.Errorf("%d postings: %d read, %v", n, s.N, s.Err())
		}
		if s.Next() || s.Err() != nil {
			t.Errorf("%d postings: a second block, or %v", n, s.Err())
		}
	}
}
