package aggregate

import (
	"cmp"
	"math/bits"
	"slices"
)

// A hitsNode keeps the best documents: by score, then in order of documents.
type hitsNode struct {
	base
	size int
	best [][]Hit // by owner; at most twice as many as wanted, until they are sorted
	held int64

	found [][]NamedHit // of a Partial, by owner: there is nothing else
}

func (n *hitsNode) collect(in *input) error {
	scores := n.state.scores
	first := n.run.segments[n.state.segment].Base + uint32(in.tile*tileDocs)
	offer := func(owner uint32, d int) {
		h := Hit{Doc: first + uint32(d)}
		if scores != nil {
			h.Score = scores[d]
		}
		n.offer(owner, h)
	}
	if in.set == nil {
		for i, d := range in.docs {
			offer(in.owners[i], int(d))
		}
		return nil
	}
	for i, w := range in.set {
		for ; w != 0; w &= w - 1 {
			offer(in.owner, 64*i+bits.TrailingZeros64(w))
		}
	}
	return nil
}

func (n *hitsNode) offer(owner uint32, h Hit) {
	n.best = grow(n.best, owner)
	best := n.best[owner]
	if cap(best) == 0 {
		best = make([]Hit, 0, 2*n.size)
		n.held += 16 * int64(n.size)
	}
	if best = append(best, h); len(best) == cap(best) {
		best = n.cut(best)
	}
	n.best[owner] = best
}

// cut sorts hits and keeps the best.
func (n *hitsNode) cut(hits []Hit) []Hit {
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc)) })
	return hits[:min(len(hits), n.size)]
}

func (n *hitsNode) merge(from node, owners []uint32) error {
	for i, hits := range from.(*hitsNode).best {
		for _, h := range hits {
			n.offer(owners[i], h)
		}
	}
	return nil
}

func (n *hitsNode) result(owner uint32) (*Result, error) {
	if int(owner) < len(n.found) {
		return &Result{Named: n.found[owner]}, nil
	}
	if int(owner) >= len(n.best) {
		return &Result{}, nil
	}
	return &Result{Hits: n.cut(n.best[owner])}, nil
}

func (n *hitsNode) metric(uint32, Metric) (float64, bool) { return 0, false }

func (n *hitsNode) bytes() int64              { return n.held + 24*int64(cap(n.best)) }
func (n *hitsNode) heaviest() (string, int64) { return n.heaviestOf(n.bytes()) }
