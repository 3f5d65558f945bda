package cpuexec

import (
	"context"
	"fmt"
	"sync"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/invariants"
)

// A run is one plan at work: what its segments share, and memory that the next
// run uses again. Cursors go through documents in ascending order, lists tile by tile
// in any.
type run struct {
	ctx  context.Context
	plan *blockmax.Plan
	tree *blockmax.Node // what matches in the current pass

	flat   blockmax.Node // of a plan without a tree
	leaves []blockmax.Node

	top        blockmax.Collector
	seed       uint32 // a need known before the first document was seen
	total      int    // matching documents seen in the current pass
	pruned     bool   // some may not have been seen
	counting   bool   // nothing is scored: documents are counted only
	listBlocks int64  // blocks of all lists of all passes so far
	work       blockmax.Work

	part    // the segment at work
	cursors []*docCursor
	used    int          // cursors[:used] belong to the segment at work
	opened  bool         // order holds those of all its terms
	order   []*docCursor // all cursors of a flat plan
	root    *clause      // of the tree, over the segment at work; nil until it is needed
	sums    []uint32
	win     window
	cands   candidates
	frames  []*frame
	tiling

	// For a query on which several goroutines work (parallel_job.go).
	parallel Parallel
	member
	found []blockmax.Hit // not yet in the collector of the job
	team  job            // of the queries that this run owns
}

// A part is the segment at work, and the range of its documents to look at: all of
// them, unless several goroutines share the work (parallel.go). Then a run is given
// some ranges of a segment, in ascending order, and its cursors go on from one to the
// next. Ranges begin and end at tiles, or at the end of the segment.
type part struct {
	seg      *blockmax.Segment
	index    int    // of seg in the plan
	rankMax  uint32 // no document of the segment gets more from its rank
	from, to uint32 // documents from to to-1 are at work
}

// A segmentPass finds the hits in the range of the segment at work. It may be run again
// with a later range.
type segmentPass struct {
	run     func(*run) error
	byTiles bool // visits only tiles that are mine
}

var runs = sync.Pool{New: func() any { return new(run) }}

func newRun(ctx context.Context, p *blockmax.Plan) *run {
	r := runs.Get().(*run)
	r.ctx, r.plan = ctx, p
	r.top.Reset(p.K, p.After)
	r.seed, r.total, r.pruned, r.counting, r.listBlocks, r.work = 0, 0, false, false, 0, blockmax.Work{}
	return r
}

// release gives the memory back, without a reference to anything of the caller's.
func (r *run) release() {
	r.ctx, r.plan, r.tree, r.part, r.parallel = nil, nil, nil, part{}, Parallel{}
	r.found = r.found[:0] // an error may have left some
	for _, c := range r.cursors {
		c.list, c.bounds, c.table, c.norms = nil, nil, nil, nil
	}
	r.used, r.opened, r.root = 0, false, nil
	r.tiling.close()
	if r.win.torn {
		r.win, r.marks = window{}, marks{}
	}
	if invariants.Enabled {
		invariants.Check(r.win.matches == bitset{} && r.win.scores == scores{}, "a run leaves matches or scores in its window")
	}
	runs.Put(r)
}

// pass takes all segments through one algorithm. tree is what matches, whatever
// the algorithm.
func (r *run) pass(visit segmentPass, tree *blockmax.Node) error {
	r.tree = tree
	for i := range r.plan.Segments {
		r.listBlocks += blocksBelow(tree, &r.plan.Segments[i])
	}
	if r.parallel.Pool != nil {
		if shared, err := r.parallel.share(r, visit); shared {
			return err
		}
	}
	for i := range r.plan.Segments {
		if err := r.enter(i); err != nil {
			return err
		}
		if r.seg.Docs == 0 {
			continue
		}
		if err := visit.run(r); err != nil {
			return err
		}
	}
	return nil
}

// enter makes segment i the one at work.
func (r *run) enter(i int) error {
	seg := &r.plan.Segments[i]
	r.part = part{seg: seg, index: i, to: seg.Docs}
	r.used, r.opened, r.root = 0, false, nil
	r.tiling.close()
	if seg.Rank != nil {
		highest := uint16(0)
		for _, m := range seg.RankTile {
			highest = max(highest, m)
		}
		r.rankMax = blockmax.Contribution(r.plan.RankWeight, highest)
	}
	return r.ctx.Err()
}

// open returns a cursor on term t, or nil when the segment lacks it.
func (r *run) open(t int) (*docCursor, error) {
	term := &r.seg.Terms[t]
	if term.Bounds == nil || term.List.Blocks() == 0 {
		return nil, nil
	}
	if err := r.checkList(t); err != nil {
		return nil, err
	}
	if r.used == len(r.cursors) {
		r.cursors = append(r.cursors, new(docCursor))
	}
	c := r.cursors[r.used]
	r.used++
	c.reset(r, t, term)
	return c, nil
}

// openAll returns a cursor on every term the segment has. They are opened at the
// first call, in order of the terms; later ones find them where they were left.
func (r *run) openAll() ([]*docCursor, error) {
	if r.opened {
		return r.order, nil
	}
	r.order = r.order[:0]
	for t := range r.seg.Terms {
		c, err := r.open(t)
		if err != nil {
			return nil, err
		}
		if c != nil {
			r.order = append(r.order, c)
		}
	}
	r.opened = true
	return r.order, nil
}

// blocksBelow counts the posting blocks of a tree's leaves.
func blocksBelow(n *blockmax.Node, seg *blockmax.Segment) (blocks int64) {
	if n.Leaf {
		if term := &seg.Terms[n.Term]; term.Bounds != nil {
			blocks = int64(term.List.Blocks())
		}
		return blocks
	}
	for _, clause := range [...][]blockmax.Node{n.Must, n.Should, n.Filter, n.Not} {
		for i := range clause {
			blocks += blocksBelow(&clause[i], seg)
		}
	}
	return blocks
}

// need is the lowest score with which document doc of the segment, or a later
// one, can still enter. Once it is above zero documents may be passed over unseen.
func (r *run) need(doc uint32) uint32 {
	if r.counting {
		return 0
	}
	n := max(r.seed, r.needed(r.seg.Base+doc))
	if n > 0 {
		r.pruned = true
	}
	return n
}

// tailDone reports whether no document from doc on, in this segment, can enter.
func (r *run) tailDone(doc uint32) bool {
	return r.seg.Tail != nil && r.seg.Tail[doc/blockmax.TileDocs] < r.need(doc)
}

// accepts reports whether doc may be returned.
func (r *run) accepts(doc uint32) bool {
	return r.seg.Accept == nil || r.seg.Accept[doc/64]>>(doc%64)&1 == 1
}

// rank is what the static rank adds to the score of doc.
func (r *run) rank(doc uint32) uint32 {
	if r.seg.Rank == nil {
		return 0
	}
	return blockmax.Contribution(r.plan.RankWeight, r.seg.Rank[doc])
}

// rankBound bounds rank for documents lo to hi.
func (r *run) rankBound(lo, hi uint32) uint32 {
	if r.seg.Rank == nil || r.rankMax == 0 {
		return 0
	}
	first, last := lo/blockmax.TileDocs, hi/blockmax.TileDocs
	if last-first >= 8 { // looking longer costs more than it saves
		return r.rankMax
	}
	highest := uint16(0)
	for _, m := range r.seg.RankTile[first : last+1] {
		highest = max(highest, m)
	}
	return blockmax.Contribution(r.plan.RankWeight, highest)
}

// offer hands a document that matches and is accepted to the collector. score is
// without the rank.
func (r *run) offer(doc, score uint32) {
	r.keep(r.seg.Base+doc, score+r.rank(doc))
}

// A ListError says which list could not be read. The error below, a
// *corrupt.Error or one of the list's Loader, names the block and the offset.
type ListError struct {
	Segment int // index into Plan.Segments
	Term    int // index into Plan.Weights
	Err     error
}

func (e *ListError) Error() string {
	return fmt.Sprintf("cpuexec: list of term %d in segment %d of the plan: %v", e.Term, e.Segment, e.Err)
}

// Unwrap returns the error below.
func (e *ListError) Unwrap() error { return e.Err }
