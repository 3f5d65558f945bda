package cpuexec

import (
	"math/bits"

	"github.com/riffle-search/riffle/blockmax"
)

// treePruned answers any tree as a union of lists and branches.
func (r *run) treePruned() error {
	root, err := r.rootOf(r.query.tree, true)
	if err != nil {
		return err
	}
	switch b := r.operandsOf(root); {
	case b.none:
		return nil
	case len(b.required) > 0:
		return r.conjunction(b)
	case r.tiled.guard == nil && len(b.operands) == 1 && b.operands[0].isEven():
		return r.proximityAlone(b.operands[0])
	default:
		return r.union(b.operands)
	}
}

// treeExhaustive answers any tree without pruning.
func (r *run) treeExhaustive() error {
	return r.eachTile(r.query.tree, true, func(root *clause, t int) error {
		if err := r.evalTile(root, t, &r.win.matches, &r.win.scores); err != nil {
			return err
		}
		r.collect(^uint64(0), 0)
		r.offerCandidates()
		clear(r.win.scores[:]) // scores of documents that matched a child but not the tree
		return nil
	})
}

// eachTile calls visit for every tile of the range in which the tree may have matches, with its
// number in the sheet. The tile is then the window. Without scores it reads no frequencies.
func (r *run) eachTile(n *blockmax.Node, scores bool, visit func(root *clause, t int) error) error {
	if _, err := r.rootOf(n, scores); err != nil {
		return err
	}
	if err := r.visitTiles(visit); err != nil {
		return err
	}
	for _, c := range r.tiled.lists[:r.tiled.count] {
		spent := c.spent
		c.spent = 0
		if !c.plain {
			continue
		}
		if err := c.learn(spent); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) visitTiles(visit func(root *clause, t int) error) error {
	for lo := r.at.from &^ (sheetDocs - 1); lo < r.at.to; lo += sheetDocs {
		if r.tiled.sheet != lo {
			for _, c := range r.tiled.lists[:r.tiled.count] {
				if err := c.enterSheet(lo); err != nil {
					return err
				}
			}
			r.tiled.sheet, r.eval.sheet = lo, lo
		}
		for tiles := r.at.tilesAtWork(lo, r.eval.root.tiles(lo)); tiles != 0; tiles &= tiles - 1 {
			t := bits.TrailingZeros64(tiles)
			if !r.share.mine(t) {
				continue
			}
			r.win.place(lo+uint32(t)*tileDocs, r.at.from, r.at.to)
			if err := r.query.ctx.Err(); err != nil {
				return err
			}
			if err := visit(r.eval.root, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// evalTile sets matches to the documents of tile t, the window, that match the tree, and adds their
// scores to scores.
func (r *run) evalTile(root *clause, t int, matches *bitset, to *scores) error {
	r.enterLists(t)
	words := root.words(r.win.base)
	if words == 0 {
		*matches = bitset{}
		return nil
	}
	r.win.fill()
	for out := ^words; out != 0; out &= out - 1 {
		r.win.all[bits.TrailingZeros64(out)&63] = 0
	}
	return r.eval.eval(root, 0, &r.win.all, matches, to)
}

// enterLists makes tile t of the sheet, the window, the current tile of all lists.
func (r *run) enterLists(t int) {
	r.eval.tile = r.win.base
	for _, c := range r.tiled.lists[:r.tiled.count] {
		c.words, c.inWords = &noPostings, 0
		if c.tiles != nil && c.tiles[t] > 0 { // nil below a node that cannot match
			c.enterTile(r.win.base)
			c.inWords = c.words.present()
		}
	}
}

// rootOf returns the clause of a tree on the current segment.
func (r *run) rootOf(n *blockmax.Node, scores bool) (*clause, error) {
	if r.eval.root == nil || r.eval.root.Node != n {
		root, err := r.newClause(n, scores)
		if err != nil {
			return nil, err
		}
		r.eval.root = &root
	}
	return r.eval.root, nil
}
