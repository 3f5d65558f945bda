package exectest

import (
	"math/rand/v2"

	"github.com/riffle-search/riffle/blockmax"
)

// CheckTrees is Check with plans whose tree is made of up to 64 leaves and of boolean nodes, some of
// them with a constant score, and some whose leaves exclude one another. It does not ask whether e prunes.
func CheckTrees(e Executor, seed uint64, rounds int) error {
	return checkTrees(e, seed, rounds, "trees", (*Index).wordTree)
}

// wordTree makes a tree of words, and gives the plan weights that suit it.
func (ix *Index) wordTree(rng *rand.Rand, p *Plan) *blockmax.Node {
	most := []uint32{1 << 22, 4}[rng.IntN(2)]
	p.Weights = make([]uint32, len(p.Weights))
	for t := range p.Weights {
		p.Weights[t] = rng.Uint32N(most)
	}
	p.RankWeight = min(p.RankWeight, most)
	leaves := []int{1, 4, 12, 64}[rng.IntN(4)]
	for {
		// What all documents match is no query for words: it is made, too, but seldom.
		left := leaves
		if p.Tree = newBranch(rng, len(p.Weights), most, &left, 3); left == leaves {
			continue
		}
		words := len(p.Weights) // and those of pairs behind them, of which a document has one at most
		if leaves < 64/alternatives && rng.IntN(2) == 0 {
			ix.addPairs(rng, p, false)
		}
		if rng.IntN(4) == 0 {
			left := leaves
			p.Else = newBranch(rng, words, most, &left, 3)
		}
		return p.Tree
	}
}

// newBranch makes a boolean node of at most depth levels, with at most left leaves.
func newBranch(rng *rand.Rand, count int, most uint32, left *int, depth int) *blockmax.Node {
	n := new(blockmax.Node)
	switch kind := rng.IntN(24); {
	case kind == 0:
		n.All = true
	case *left > 0 && (depth == 0 || depth < 3 && kind < 12):
		*left--
		n.Leaf, n.Term = true, rng.IntN(count)
	default:
		to := []*[]blockmax.Node{&n.Must, &n.Should, &n.Should, &n.Filter, &n.Not}
		if rng.IntN(2) == 0 {
			to = to[:3]
		}
		for range 1 + rng.IntN(6) {
			clause := to[rng.IntN(len(to))]
			if *left == 0 {
				break
			}
			*clause = append(*clause, *newBranch(rng, count, most, left, depth-1))
		}
		n.MinShould = max(0, rng.IntN(6)-2)
	}
	if rng.IntN(12) == 0 {
		n.Constant, n.Score = true, rng.Uint32N(most)
	}
	return n
}
