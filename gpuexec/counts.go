package gpuexec

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
)

// Plans of which only the total is wanted (blockmax.Plan.OnlyTotal) are not scored. A warp counts the
// documents of a tile by bits (kernels/count_matches.cu): its steps fill rows of bits, the slots, from
// lists and from one another. Here an OR, an AND or a tree is made into such steps.

// countSlotsMost is how many slots a query may need: a few for each level of its tree. A query that
// needs more is scored. With 12 slots, one of them for kernels, a warp takes 24 KiB for a tile of
// 16,384 documents.
const countSlotsMost = 12

// A stepper makes the steps of queries. Its memory is reused.
type stepper struct {
	steps []devStep // of all queries of a batch
	plan  *Plan     // at hand
	slots int       // that it needs
}

func (s *stepper) begin() { s.steps, s.plan = s.steps[:0], nil }

// compile makes the steps of a plan that the device takes: a range of steps, after which slot 0 has
// the documents that match. It reports false if they need too many slots.
func (s *stepper) compile(p *Plan) (steps [2]int, ok bool) {
	s.plan, s.slots = p, 0
	steps[0] = len(s.steps)
	s.node(treeOf(p), 0)
	if s.slots >= countSlotsMost {
		s.steps = s.steps[:steps[0]]
		return steps, false
	}
	steps[1] = len(s.steps)
	return steps, true
}

// treeOf is the tree of a plan; of a flat one, an OR or an AND of all terms.
func treeOf(p *Plan) *blockmax.Node {
	if p.Tree != nil {
		return p.Tree
	}
	leaves := make([]blockmax.Node, len(p.Weights))
	for t := range leaves {
		leaves[t] = blockmax.Node{Leaf: true, Term: t}
	}
	if p.Mode == blockmax.And {
		return &blockmax.Node{Must: leaves}
	}
	return &blockmax.Node{Should: leaves}
}

// do adds a step without a leaf.
func (s *stepper) do(op uint32, slot, from int) {
	s.steps = append(s.steps, devStep{op: op, slot: uint32(slot), from: uint32(from)})
}

// fill makes all bits of a slot 0, or 1.
func (s *stepper) fill(slot int, with uint32) {
	s.use(slot)
	s.steps = append(s.steps, devStep{op: countFill, slot: uint32(slot), least: with})
}

// use says that slots up to this one are needed.
func (s *stepper) use(slot int) { s.slots = max(s.slots, slot+1) }

// node fills a slot with the documents that match a node. Slots behind it are free.
func (s *stepper) node(n *blockmax.Node, slot int) {
	s.use(slot)
	switch {
	case s.slots >= countSlotsMost: // in vain
		return
	case n.All:
		s.fill(slot, ^uint32(0))
		return
	case n.Leaf:
		s.fill(slot, 0)
		s.do(countOr, slot, n.Term)
		return
	}
	required, optional, least := slices.Concat(n.Must, n.Filter), n.Should, n.MinShould
	if len(required) == 0 {
		least = max(least, 1)
	}
	switch {
	case least > len(optional):
		s.fill(slot, 0)
		return
	case least == len(optional):
		required, least = append(required, optional...), 0
	}
	s.sort(required)
	for i := range required {
		if i == 0 {
			s.node(&required[i], slot)
		} else {
			s.with(countAnd, countAndSlot, &required[i], slot)
		}
	}
	if least > 0 {
		to := slot
		if len(required) > 0 {
			to++
		}
		s.atLeast(optional, least, to)
		if to != slot {
			s.do(countAndSlot, slot, to)
		}
	}
	for i := range n.Not {
		s.with(countNot, countNotSlot, &n.Not[i], slot)
	}
}

// with changes a slot by the documents that match a child: by a step for leaves, or one for slots.
func (s *stepper) with(leaf, other uint32, child *blockmax.Node, slot int) {
	if child.Leaf {
		s.do(leaf, slot, child.Term)
		return
	}
	s.node(child, slot+1)
	s.do(other, slot, slot+1)
}

// atLeast fills a slot with the documents that match at least so many of some nodes, one at least.
func (s *stepper) atLeast(nodes []blockmax.Node, least, slot int) {
	if least == 1 {
		s.fill(slot, 0)
		for i := range nodes {
			s.with(countOr, countOrSlot, &nodes[i], slot)
		}
		return
	}
	// How many a document matches is a number, with each of its bits in a slot.
	digits := bits.Len(uint(len(nodes)))
	for i := range digits {
		s.fill(slot+1+i, 0)
	}
	for i := range nodes {
		s.node(&nodes[i], slot+1+digits)
		s.steps = append(s.steps, devStep{op: countAdd, slot: uint32(slot + 1), from: uint32(slot + 1 + digits), bits: uint32(digits)})
	}
	s.use(slot)
	s.steps = append(s.steps, devStep{op: countLeast, slot: uint32(slot), from: uint32(slot + 1), bits: uint32(digits), least: uint32(least)})
}

// sort puts the shortest list first, and lists before other nodes: what they leave spares reading.
func (s *stepper) sort(nodes []blockmax.Node) {
	length := func(n *blockmax.Node) (sum int) {
		if !n.Leaf {
			return 1 << 62
		}
		for i := range s.plan.Segments {
			if t := &s.plan.Segments[i].Terms[n.Term]; t.Bounds != nil {
				sum += t.List.Count
			}
		}
		return sum
	}
	slices.SortStableFunc(nodes, func(a, b blockmax.Node) int { return cmp.Compare(length(&a), length(&b)) })
}

// counts reports whether a plan is counted by bits, and then gives the query its steps.
func (b *batch) counts(q *query) bool {
	p := q.plan
	if !p.OnlyTotal || !p.CountAll || b.byWindows || settles(p) || b.algorithm.byRanges() ||
		b.shape.TileShift < minFlatTile || b.shape.TileShift > maxFlatTile {
		return false
	}
	q.steps, q.counted = b.stepper.compile(p)
	if q.counted {
		b.count.slots = max(b.count.slots, b.stepper.slots+1)
	}
	return q.counted
}

// counting is what the queries of a batch come to that are counted.
type counting struct {
	slots     int      // the most that one needs, and one more; 0 if there is none
	parts     []uint32 // of the batch
	tiles     uint32   // of all of them
	tilesMost uint32   // of one
	run       uint32   // tiles that a warp takes at a time
}

func (c *counting) begin() { *c = counting{parts: c.parts[:0]} }

// addCounted adds the segments of such a query where something may match.
func (b *batch) addCounted(q *query, found []*knownList) {
	all := q.plan.Tree == nil && q.plan.Mode == blockmax.And
	for s := range q.plan.Segments {
		seg := &q.plan.Segments[s]
		of := found[:len(seg.Terms)]
		found = found[len(seg.Terms):]
		if all && slices.Contains(of, nil) {
			continue
		}
		pt := part{query: len(b.queries), segment: s, way: byCounting, from: len(b.terms)}
		for t, k := range of {
			if k == nil {
				continue
			}
			entry := b.lists.add(k, &seg.Terms[t], seg.Docs, b.shape.tiles(seg.Docs))
			b.terms = append(b.terms, partTerm{int32(entry), int32(t), q.plan.Weights[t], uint32(t)})
			q.blocks += int64(k.blocks)
		}
		if pt.to = len(b.terms); pt.from == pt.to {
			continue
		}
		b.lists.wantAll(b.terms[pt.from:pt.to])
		tiles := b.shape.tiles(seg.Docs)
		b.count.parts = append(b.count.parts, uint32(len(b.parts)))
		b.count.tiles, b.count.tilesMost = b.count.tiles+tiles, max(b.count.tilesMost, tiles)
		b.parts = append(b.parts, pt)
	}
}

// countBits counts the blocks of lists that counted queries read as bits, which kernels do not count.
// It is called when it is known which lists are flat.
func (b *batch) countBits() {
	for _, i := range b.count.parts {
		pt := &b.parts[i]
		q := &b.queries[pt.query]
		for _, t := range b.termsOf(pt) {
			e := &b.lists.entries[t.entry]
			if !b.flat.flats.has(e.known) || !b.shape.isDense(e.known.count, e.tiles) {
				continue
			}
			for _, step := range b.stepper.steps[q.steps[0]:q.steps[1]] {
				if step.op <= countNot && step.from == t.leaf {
					q.asBits += int64(e.known.blocks)
				}
			}
		}
	}
}

// countThreads are the threads of a block that counts (kernels/count_matches.cu), and countRunMost
// the most tiles that a warp takes at a time: it finds the lists of the part once for all of them. A
// warp gets some 8 units of work where that makes enough of them.
const countThreads, countRunMost, countUnitsOfWarp = 128, 8, 8

// putCounts completes what kernels need to count.
func (b *batch) putCounts(c *devBatch) {
	parts := uint32(len(b.count.parts))
	c.countParts, c.countPartCount, c.countSlots = putAll(&b.staging, b.count.parts), parts, uint32(b.count.slots)
	if parts == 0 {
		return
	}
	warps := uint32(b.shape.Multiprocessors * countThreads / 32 * 8)
	b.count.run = min(countRunMost, max(1, b.count.tiles/(countUnitsOfWarp*warps)))
	c.countRun = b.count.run
	c.countUnits = parts * ((b.count.tilesMost + b.count.run - 1) / b.count.run)
}

// countShared is the dynamic shared memory of a thread block that counts: the slots of its warps.
func (s Shape) countShared(slots int) int {
	if s.TileShift < minFlatTile || s.TileShift > maxFlatTile {
		return 0 // nothing is counted
	}
	return countThreads / 32 * slots << s.TileShift / 8
}
