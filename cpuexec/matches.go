package cpuexec

import (
	"context"

	"github.com/riffle-search/riffle/blockmax"
)

// A Match is the accepted documents of one tile that match a plan. It is valid, and may be changed,
// until the visit ends.
type Match struct {
	Segment int         // index into Plan.Segments
	Tile    int         // number of the tile in its segment
	Count   int         // of the documents, at least 1
	Set     *[64]uint64 // bit d is set for document Tile*TileDocs + d of the segment

	// List has the numbers of the same documents within the tile, ascending, where these come from a list of
	// few postings; else it is nil.
	List []uint16

	// Scores are those of the documents of Set, final; nil unless they were asked for.
	// Those of other documents mean nothing.
	Scores *[blockmax.TileDocs]uint32
}

// EachMatch visits all accepted documents that match a plan, tile by tile. K matters as it does for
// Count, and After has no effect. Without scores, no frequency is read.
//
// The tiles of a search that is worth it are shared among goroutines. Each goroutine that takes part
// calls begin first. It then calls visit for tiles, in any order, and end, unless that is nil, once it
// takes no more; it may come again. So what visit and end share needs no lock, and what different
// calls of begin share does. No visit runs when EachMatch has returned.
func (x Parallel) EachMatch(ctx context.Context, p *blockmax.Plan, scores bool, begin func() (visit func(*Match) error, end func())) error {
	if x.Pool != nil {
		if err := x.begin(); err != nil {
			return err
		}
		defer x.end()
	}
	if err := check(p); err != nil {
		return err
	}
	r := newRun(ctx, p)
	defer r.release()
	r.parallel = x
	tree, err := r.matchingTree()
	if err != nil {
		return err
	}
	return r.pass(segmentPass{
		name: "matches", run: func(r *run) error { return r.visitMatches(scores) }, byTiles: true,
		begin: func(r *run) (end func()) {
			r.visit, end = begin()
			return end
		},
	}, tree)
}

// matchingTree returns what matches the plan. Whether it requires all terms may depend on how many
// documents have them.
func (r *run) matchingTree() (*blockmax.Node, error) {
	p := r.query.plan
	first, second := p.Tree, p.Else
	switch {
	case p.Tree != nil:
	case p.Mode == blockmax.Or:
		first = r.query.flatTree(blockmax.Or)
	default:
		first = r.query.flatTree(blockmax.And)
	}
	andOr := p.Tree == nil && p.Mode == blockmax.AndOr
	if second == nil && !andOr {
		return first, nil
	}
	n, err := r.countMatches(first)
	r.out.counting = false
	switch {
	case err != nil:
		return nil, err
	case n >= p.K:
		return first, nil
	case andOr:
		return r.query.flatTree(blockmax.Or), nil
	}
	return second, nil
}

// visitMatches visits the matches of the tiles of the range.
func (r *run) visitMatches(scores bool) error {
	root, err := r.rootOf(r.query.tree, scores)
	if err != nil {
		return err
	}
	m := Match{Segment: r.at.index, Set: (*[64]uint64)(&r.win.matches)}
	to := &r.win.scores
	if scores {
		m.Scores = (*[tileDocs]uint32)(to)
	} else {
		to = nil
	}
	bySets := !scores && r.bySets(root)
	var alone *tileCursor // the list whose documents match
	if only := root.only(); only.Leaf && !scores {
		alone = only.cursor
	}
	return r.eachTile(r.query.tree, scores, func(root *clause, t int) error {
		m.Tile, m.List = int(r.win.base/tileDocs), nil
		if alone != nil && alone.exact {
			m.List = r.listMatches(alone.few.docs[alone.few.starts[t]:alone.few.starts[t+1]])
			m.Count = len(m.List)
			var err error
			if m.Count > 0 {
				err = r.visit(&m)
			}
			r.win.matches = bitset{}
			return err
		}
		if r.at.seg.Accept != nil && r.at.acceptedWords(r.win.base) == 0 {
			return nil
		}
		err := r.matchTile(root, t, bySets, to)
		r.accept(&r.win.matches)
		r.sets.maps = append(r.sets.maps[:0], r.win.matches[:])
		m.Count = countCommon(r.sets.maps)
		if err == nil && m.Count > 0 {
			if scores {
				r.finishScores()
			}
			err = r.visit(&m)
		}
		r.win.matches = bitset{}
		if scores {
			clear(r.win.scores[:]) // also those of documents that matched a child but not the tree
		}
		return err
	})
}

// listMatches adds the accepted ones of some documents of the window to its matches, and returns their numbers.
func (r *run) listMatches(docs []uint32) []uint16 {
	list := r.win.list[:0]
	for _, doc := range docs {
		if r.at.accepts(doc) {
			d := doc % tileDocs
			r.win.matches[d/64] |= 1 << (d % 64)
			list = append(list, uint16(d))
		}
	}
	r.win.list = list
	return list
}

// accept drops the documents of the window that are not accepted.
func (r *run) accept(matches *bitset) {
	if r.at.seg.Accept == nil {
		return
	}
	words := r.at.seg.Accept[min(int(r.win.base/64), len(r.at.seg.Accept)):]
	for i := range matches {
		if i < len(words) {
			matches[i] &= words[i]
		} else {
			matches[i] = 0
		}
	}
}

// matchTile sets the matches of the window to the documents of the range that match the tree.
func (r *run) matchTile(root *clause, t int, bySets bool, to *scores) error {
	if !bySets {
		return r.evalTile(root, t, &r.win.matches, to)
	}
	s := span{r.win.lo, r.win.hi}
	return r.sets.fold(replace, root, s, r.win.matches[:(s.hi-s.lo+63)/64], 0)
}

// finishScores makes the scores of the matches final.
func (r *run) finishScores() {
	if !r.at.changes() {
		return
	}
	r.win.matches.each(func(d uint32) { r.win.scores[d] = r.at.final(r.win.base+d, r.win.scores[d]) })
}
