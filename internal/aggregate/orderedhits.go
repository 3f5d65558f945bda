package aggregate

import (
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/cpuexec"
)

// An orderedNode keeps the first documents of an order. In the state of a segment, it compares them by
// the codes that the segment has for their values, and in that of the run by the values themselves.
type orderedNode struct {
	base
	size  int
	order *cpuexec.Order
	held  int64

	// Of a segment.
	tile  *cpuexec.TileOrder
	found []firsts // by owner
	next  cpuexec.Ordered
	room  tileSet

	// Of the run.
	places [][]cpuexec.Place // by owner; at most twice as many as wanted
}

// firsts are the first documents of an owner: at most twice as many as wanted, until they are sorted.
// Once they were, no document behind the last of those that are wanted is among them.
type firsts struct {
	docs   []cpuexec.Ordered
	sorted bool
}

func newOrderedNode(b base, k TopHits) *orderedNode {
	n := &orderedNode{base: b, size: k.Size, order: k.Order}
	if s := b.state.segment; s >= 0 {
		n.tile = k.Order.InSegment(s, b.run.segments[s].Base, b.run.segments[s].Docs)
	}
	return n
}

func (n *orderedNode) collect(in *input) error {
	set := in.union(&n.room)
	if err := n.tile.Load(in.tile, set, count(set), n.state.scores); err != nil {
		return err
	}
	if in.set == nil {
		for i, d := range in.docs {
			n.offer(in.owners[i], int(d))
		}
		return nil
	}
	for i, w := range set {
		for ; w != 0; w &= w - 1 {
			n.offer(in.owner, 64*i+bits.TrailingZeros64(w))
		}
	}
	return nil
}

// offer takes in a document of the tile that can be among the first.
func (n *orderedNode) offer(owner uint32, d int) {
	n.found = grow(n.found, owner)
	f := &n.found[owner]
	n.tile.Document(d, &n.next)
	if f.sorted && n.tile.Compare(&n.next, &f.docs[n.size-1]) > 0 {
		return
	}
	next := n.next
	next.Codes = slices.Clone(next.Codes)
	f.docs = append(f.docs, next)
	n.held += orderedBytes + 8*int64(len(next.Codes))
	if len(f.docs) == 2*n.size {
		n.cut(f)
	}
}

// orderedBytes is the memory of a document that is kept, without its codes.
const orderedBytes = 64

// cut sorts the documents of an owner and keeps the first.
func (n *orderedNode) cut(f *firsts) {
	slices.SortFunc(f.docs, func(a, b cpuexec.Ordered) int { return n.tile.Compare(&a, &b) })
	if len(f.docs) < n.size {
		return
	}
	n.held -= int64(len(f.docs)-n.size) * (orderedBytes + 8*int64(len(n.next.Codes)))
	clear(f.docs[n.size:])
	f.docs, f.sorted = f.docs[:n.size], true
}

func (n *orderedNode) merge(from node, owners []uint32) error {
	of := from.(*orderedNode)
	for i := range of.found {
		f := &of.found[i]
		of.cut(f)
		if len(f.docs) == 0 {
			continue
		}
		n.places = grow(n.places, owners[i])
		all := n.places[owners[i]]
		for j := range f.docs {
			p, err := of.tile.Place(&f.docs[j])
			if err != nil {
				return err
			}
			all = append(all, p)
		}
		n.places[owners[i]] = n.first(all)
	}
	n.held = 0
	for _, places := range n.places {
		for i := range places {
			n.held += placeBytes(&places[i])
		}
	}
	return nil
}

// placeBytes is the memory of a place.
func placeBytes(p *cpuexec.Place) int64 {
	n := int64(32)
	for i := range p.Keys {
		n += 48 + int64(len(p.Keys[i].Value.Term))
	}
	return n
}

// first sorts places and returns the first of them.
func (n *orderedNode) first(places []cpuexec.Place) []cpuexec.Place {
	slices.SortFunc(places, func(a, b cpuexec.Place) int { return n.order.Compare(&a, &b) })
	return places[:min(len(places), n.size)]
}

func (n *orderedNode) result(owner uint32) (*Result, error) {
	if int(owner) >= len(n.places) {
		return &Result{}, nil
	}
	places := n.places[owner]
	r := &Result{Hits: make([]Hit, len(places))}
	for i, p := range places {
		r.Hits[i] = Hit{p.Doc, p.Score, p.Keys}
	}
	return r, nil
}

func (n *orderedNode) metric(uint32, Metric) (float64, bool) { return 0, false }

func (n *orderedNode) bytes() int64 {
	return n.held + 32*int64(cap(n.found)) + 24*int64(cap(n.places))
}

func (n *orderedNode) heaviest() (string, int64) { return n.heaviestOf(n.bytes()) }
