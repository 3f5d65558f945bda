package exectest

import (
	"math/rand/v2"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
)

// Numbers of documents for functions, and plans with functions.

// numbers are those of a segment for a function, with bounds that are exact or have some air. Bounds by word,
// and the numbers of whole tiles, are known for some tiles, and can be found for some others.
type numbers struct {
	of, tiles []uint32
	words     [][blockmax.TileDocs / 64]uint32
	seed      uint32
}

func (n numbers) Of(doc uint32) uint32 { return n.of[doc] }

func (n numbers) Bound(tile uint32) uint32 {
	if int(tile) < len(n.tiles) {
		return n.tiles[tile]
	}
	return 0
}

func (n numbers) Highest() uint32 { return slices.Max(n.tiles) }

func (n numbers) BoundSheet(sheet uint32) (highest uint32) {
	for t := 64 * sheet; t < 64*(sheet+1); t++ {
		highest = max(highest, n.Bound(t))
	}
	return highest
}

func (n numbers) Words(tile uint32, make bool) *[blockmax.TileDocs / 64]uint32 {
	if of := (tile + n.seed) % 3; int(tile) >= len(n.words) || of == 0 || of == 1 && !make {
		return nil
	}
	return &n.words[tile]
}

func (n numbers) Known(tile uint32) *[blockmax.TileDocs]uint32 {
	if (tile+n.seed)%4 > 1 || int(tile) >= len(n.tiles) {
		return nil
	}
	all := new([blockmax.TileDocs]uint32)
	copy(all[:], n.of[tile*blockmax.TileDocs:])
	return all
}

func (n numbers) Err() error { return nil }

// RisingNumbers makes numbers that rise by document.
func RisingNumbers(docs uint32) blockmax.Numbers {
	return numbersOf(docs, 0, 0, func(d uint32) uint32 { return uint32(uint64(d) << 32 / uint64(docs)) })
}

// RandomNumbers makes numbers with few distinct values, or with many, some of them rising by document.
func RandomNumbers(rng *rand.Rand, docs uint32) blockmax.Numbers { return newNumbers(rng, docs) }

// newNumbers makes numbers with few distinct values, or with many, some of them rising by document.
func newNumbers(rng *rand.Rand, docs uint32) numbers {
	kind, air := rng.IntN(4), rng.Uint32N(2)<<20
	return numbersOf(docs, air, rng.Uint32N(12), func(d uint32) uint32 {
		switch kind {
		case 0:
			return []uint32{0, 1 << 16, 1 << 31, 1<<32 - 1}[rng.IntN(4)]
		case 1:
			return uint32(uint64(d) << 32 / uint64(docs))
		case 2:
			return rng.Uint32() >> rng.IntN(32)
		}
		return rng.Uint32()
	})
}

// numbersOf makes numbers by document, with air above them in bounds.
func numbersOf(docs, air, seed uint32, of func(doc uint32) uint32) numbers {
	n := numbers{
		of: make([]uint32, docs), tiles: make([]uint32, blockmax.Tiles(docs)),
		words: make([][blockmax.TileDocs / 64]uint32, blockmax.Tiles(docs)), seed: seed,
	}
	for d := range n.of {
		n.of[d] = of(uint32(d))
		tile, word := &n.tiles[d/blockmax.TileDocs], &n.words[d/blockmax.TileDocs][d%blockmax.TileDocs/64]
		*tile, *word = max(*tile, n.of[d]), max(*word, n.of[d])
	}
	for i, b := range n.tiles {
		n.tiles[i] = b + min(air, ^b)
		for w, b := range n.words[i] {
			n.words[i][w] = b + min(air/2, ^b)
		}
	}
	return n
}

// CheckFunctions is Check with plans that have functions: of the whole plan, which is flat or a tree, or of
// nodes of its tree. It does not ask whether e prunes.
func CheckFunctions(e Executor, seed uint64, rounds int) error {
	return checkTrees(e, seed, rounds, "functions", (*Index).functionTree)
}

// functionTree makes a tree, or none, and functions. It gives the plan weights that leave room for them.
func (ix *Index) functionTree(rng *rand.Rand, p *Plan) *blockmax.Node {
	const count = 3
	most := []uint32{1 << 22, 4}[rng.IntN(2)]
	for t := range p.Weights {
		p.Weights[t] = rng.Uint32N(most)
	}
	p.RankWeight = 0
	for i := range p.Segments {
		p.Segments[i].Functions = nil
		for range count {
			p.Segments[i].Functions = append(p.Segments[i].Functions, newNumbers(rng, p.Segments[i].Docs))
		}
	}
	newFunction := func() *blockmax.Function {
		f := &blockmax.Function{Number: rng.IntN(count), Mode: blockmax.FunctionMode(rng.IntN(4))}
		if f.Mode != blockmax.FunctionMultiply {
			f.Weight = rng.Uint32N(4 * most)
		}
		return f
	}
	var tree *blockmax.Node
	switch rng.IntN(6) {
	case 0: // flat
		p.Mode = blockmax.Mode(rng.IntN(3))
		tree = nil
	case 1: // words, mostly in all ways that have an algorithm of their own
		tree = ix.alone(rng, ix.newNear(rng))
	case 2: // alternatives and required nodes of a function each
		tree = new(blockmax.Node)
		for i := range 1 + rng.IntN(3) {
			n := blockmax.Node{Function: newFunction()}
			for range 1 + rng.IntN(3) {
				n.Should = append(n.Should, blockmax.Node{Leaf: true, Term: rng.IntN(len(p.Weights))})
			}
			if tree.Should = append(tree.Should, n); i > 0 && rng.IntN(4) == 0 {
				tree.Must, tree.Should = append(tree.Must, n), tree.Should[:i]
			}
		}
	case 3: // what the planner makes of Boostings, one inside the other
		f := newFunction()
		if f.Mode != blockmax.FunctionMultiply {
			f.Weight = 1<<31 - 1 - uint32(3+4)*most // without the words and the outer function
		}
		tree = newBoostings(rng, len(p.Weights), f)
	default:
		left := 12
		tree = newBranch(rng, len(p.Weights), most, &left, 3)
		addFunctions(rng, tree, newFunction)
	}
	if tree == nil || rng.IntN(2) == 0 {
		p.Outer = newFunction()
	}
	if p.Tree = tree; rng.IntN(4) == 0 {
		p.After = newAfter(rng, Oracle(ix, p).Hits)
	}
	return tree
}

// newBoostings makes a function of up to three words, and Boostings around it. Each has two copies of the
// function, of which only one applies to a document: the weights of all together are more than a score can be.
func newBoostings(rng *rand.Rand, terms int, f *blockmax.Function) *blockmax.Node {
	leaf := func() blockmax.Node { return blockmax.Node{Leaf: true, Term: rng.IntN(terms)} }
	n := blockmax.Node{Function: f}
	for range 1 + rng.IntN(3) {
		n.Should = append(n.Should, leaf())
	}
	for range 1 + rng.IntN(3) {
		negative := leaf()
		n = blockmax.Node{Best: true, Should: []blockmax.Node{
			{Must: []blockmax.Node{n}, Not: []blockmax.Node{negative}},
			{Must: []blockmax.Node{demoted(n, rng.IntN(3))}, Filter: []blockmax.Node{negative}},
		}}
	}
	return &n
}

// demoted returns a copy of a node in which the weights of functions are halved so many times.
func demoted(n blockmax.Node, times int) blockmax.Node {
	if n.Function != nil {
		f := *n.Function
		f.Weight >>= times
		n.Function = &f
	}
	for _, part := range [...]*[]blockmax.Node{&n.Must, &n.Should} {
		*part = slices.Clone(*part)
		for i := range *part {
			(*part)[i] = demoted((*part)[i], times)
		}
	}
	return n
}

// addFunctions gives some nodes with clauses a function.
func addFunctions(rng *rand.Rand, n *blockmax.Node, newFunction func() *blockmax.Function) {
	if n.Leaf || n.Set || n.All {
		return
	}
	if rng.IntN(3) == 0 {
		n.Function = newFunction()
	}
	for _, nodes := range [...][]blockmax.Node{n.Must, n.Should, n.Filter, n.Not} {
		for i := range nodes {
			if nodes[i].Leaf && rng.IntN(4) == 0 {
				nodes[i] = blockmax.Node{Must: []blockmax.Node{nodes[i]}, Function: newFunction()}
				continue
			}
			addFunctions(rng, &nodes[i], newFunction)
		}
	}
}
