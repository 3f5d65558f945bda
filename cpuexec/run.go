package cpuexec

import (
	"context"
	"fmt"
	"sync"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/invariants"
)

// A run executes one plan on one goroutine. The next run reuses its memory. Each part answers one
// question.
type run struct {
	query query   // What is the plan?
	at    part    // Which documents are searched at the moment?
	out   results // What are the hits so far, and what can still enter?

	docs  docCursors  // Where are the lists, for document-at-a-time algorithms?
	tiled tileCursors // And for those that go tile by tile?

	win       window     // Which documents of the tile match, and what are their scores so far?
	cands     candidates // Which of them can still enter?
	batch     batch      // Which of those match a proximity?
	ranks     ranker     // Where in a block are these?
	glance    prefilter  // Which of these can be dropped by bounds and bitmaps alone?
	excerpts  excerptSet // What have lists in the documents of a filter?
	few       fewDocs    // Which of few accepted documents can enter?
	wordNeeds            // What do documents need by word, under a function?
	eval      evaluator  // What matches a tree, tile by tile?
	sets      setMaker   // And by whole sets?
	docSets   docSets    // Which documents are in sets that come as tiles?

	visit  func(*Match) error // of EachMatch
	sorter *sorter            // of Sort

	// For a query that several goroutines share (parallel_job.go).
	parallel Parallel
	share    member // Which units does this run take?
	team     job    // of the queries that this run owns
}

// A query is the task of a run.
type query struct {
	ctx    context.Context
	plan   *blockmax.Plan
	tree   *blockmax.Node // what matches in the current pass
	flat   blockmax.Node  // of a plan without a tree
	leaves []blockmax.Node

	order  []int    // of the segments, the best first
	bounds []uint32 // by segment, the highest possible score of a document: see orderSegments
	sheets []int    // of the current segment: see passSheets
}

// flatTree is the tree equivalent to the flat plan in a mode. The next call overwrites it.
func (q *query) flatTree(mode blockmax.Mode) *blockmax.Node {
	n := len(q.plan.Weights)
	for len(q.leaves) < n { // they are the same for all plans
		q.leaves = append(q.leaves, blockmax.Node{Leaf: true, Term: len(q.leaves)})
	}
	q.flat = blockmax.Node{Should: q.leaves[:n]}
	if mode == blockmax.And {
		q.flat = blockmax.Node{Must: q.leaves[:n]}
	}
	return &q.flat
}

// interrupted checks the context every 1,024 steps.
func (q *query) interrupted(step int) error {
	if step%1024 == 0 {
		return q.ctx.Err()
	}
	return nil
}

// A part is the current segment, and its range of documents to search: all of them, unless several
// goroutines share the query (parallel.go). Then a run gets some ranges of a segment, in ascending
// order, and its cursors continue from one to the next. Ranges begin and end at tiles, or at the
// end of the segment.
type part struct {
	seg        *blockmax.Segment
	index      int    // of seg in the plan
	rankWeight uint32 // of the plan
	rankMax    uint32 // bounds the contribution of the rank in the segment

	outer     *blockmax.Function // of the plan, with its numbers in the segment and a bound on these
	numbers   blockmax.Numbers
	numberMax uint32

	from, to uint32 // the current range is documents [from, to)
}

// accepts reports whether doc may be returned.
func (at *part) accepts(doc uint32) bool {
	return at.seg.Accept == nil || at.seg.Accept[doc/64]>>(doc%64)&1 == 1
}

// accepted returns the word of the segment's accept bitmap for word i of the tile at base.
func (at *part) accepted(base uint32, i int) uint64 {
	if at.seg.Accept == nil {
		return ^uint64(0)
	}
	if w := int(base/64) + i; w < len(at.seg.Accept) {
		return at.seg.Accept[w]
	}
	return 0
}

// acceptedWords returns the words of the tile at base with at least one accepted document.
func (at *part) acceptedWords(base uint32) (words uint64) {
	tile := at.seg.Accept[min(int(base/64), len(at.seg.Accept)):]
	for i, word := range tile[:min(len(tile), 64)] {
		words |= (word | -word) >> 63 << i
	}
	return words
}

// tilesAtWork returns those of the tiles of the sheet at lo that are in the current range.
func (at *part) tilesAtWork(lo uint32, tiles uint64) uint64 {
	if at.from > lo {
		tiles &= ^uint64(0) << ((at.from - lo) / tileDocs)
	}
	if last := (at.to - 1 - lo) / tileDocs; last < 63 {
		tiles &= 1<<(last+1) - 1
	}
	return tiles
}

// checkList refuses a list with documents beyond the segment.
func (at *part) checkList(t int) error {
	term := &at.seg.Terms[t]
	if last := term.Bounds.LastDoc(term.List); last >= at.seg.Docs {
		return &ListError{at.index, t, corrupt.New(-1, "the list ends at document %d of %d", last, at.seg.Docs)}
	}
	return nil
}

// A segmentPass finds the hits in the current range of the current segment. It may be run again
// with a later range.
type segmentPass struct {
	name    string // of the algorithm, for profiles
	run     func(*run) error
	byTiles bool // visits only tiles for which member.mine is true
	prunes  bool // skips documents that cannot enter

	// begin, unless nil, is called by each goroutine that takes part, and end, unless nil, when that has
	// finished.
	begin func(*run) (end func())

	order func(segments []int) // puts the segments to begin with first; nil for those of the best scores
}

// enlist begins a goroutine's part of the pass.
func (visit segmentPass) enlist(r *run) (end func()) {
	if visit.begin == nil {
		return nil
	}
	return visit.begin(r)
}

var runs = sync.Pool{New: func() any {
	r := new(run)
	r.eval.marks = &r.win.marks
	return r
}}

func newRun(ctx context.Context, p *blockmax.Plan) *run {
	r := runs.Get().(*run)
	r.query.ctx, r.query.plan = ctx, p
	r.out.reset(p)
	return r
}

// release returns the run to the pool, without references to the caller's data.
func (r *run) release() {
	r.query.ctx, r.query.plan, r.query.tree, r.at, r.parallel, r.visit = nil, nil, nil, part{}, Parallel{}, nil
	r.out.profile = nil
	r.out.found = r.out.found[:0] // an error may have left some
	r.leaveSegment()
	r.batch.docs = nil
	r.docs.forget()
	r.glance.forget()
	r.excerpts.forget()
	r.sets.forget()
	if r.win.torn {
		r.win = window{}
	}
	if invariants.Enabled {
		invariants.Check(r.win.matches == bitset{} && r.win.scores == scores{}, "a run leaves matches or scores in its window")
	}
	runs.Put(r)
}

// pass runs one algorithm over all segments. tree says what matches, for any algorithm.
func (r *run) pass(visit segmentPass, tree *blockmax.Node) error {
	if err := r.passSegments(visit, tree); err != nil {
		return err
	}
	return functionErr(r.query.plan)
}

func (r *run) passSegments(visit segmentPass, tree *blockmax.Node) error {
	r.query.tree = tree
	r.query.orderSegments()
	if visit.order != nil {
		visit.order(r.query.order)
	}
	r.out.beginPass(visit.name)
	for i := range r.query.plan.Segments {
		r.out.listBlocks += blocksBelow(tree, &r.query.plan.Segments[i])
	}
	if r.parallel.Pool != nil {
		if shared, err := r.parallel.share(r, visit); shared {
			return err
		}
	}
	if end := visit.enlist(r); end != nil {
		defer end()
	}
	for _, i := range r.query.order {
		if err := r.enter(i); err != nil {
			return err
		}
		if r.at.seg.Docs == 0 || r.hopeless(visit) {
			continue
		}
		if err := r.passSheets(visit); err != nil {
			return err
		}
	}
	return nil
}

// enter makes segment i the current one.
func (r *run) enter(i int) error {
	seg := &r.query.plan.Segments[i]
	r.leaveSegment()
	r.at = part{seg: seg, index: i, rankWeight: r.query.plan.RankWeight, to: seg.Docs}
	r.out.base = seg.Base
	if seg.Rank != nil {
		highest := uint16(0)
		for _, m := range seg.RankTile {
			highest = max(highest, m)
		}
		r.at.rankMax = blockmax.Contribution(r.at.rankWeight, highest)
	}
	if f := r.query.plan.Outer; f != nil {
		r.at.outer, r.at.numbers = f, seg.Functions[f.Number]
		r.at.numberMax = r.at.numbers.Highest()
	}
	return r.query.ctx.Err()
}

// leaveSegment closes the cursors on the current segment.
func (r *run) leaveSegment() {
	r.docs.close()
	r.tiled.close()
	r.wordNeeds.bounds, r.wordNeeds.numbers = nil, nil
	r.docSets.close()
	r.eval.root = nil
	for _, t := range r.eval.together[:r.eval.nears] {
		t.forget()
	}
	r.eval.nears = 0
	for _, t := range r.eval.combined[:r.eval.words] {
		t.forget()
	}
	r.eval.words = 0
	r.eval.branches.forget()
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

// tailDone reports whether neither doc nor any later document of this segment can enter.
func (r *run) tailDone(doc uint32) bool {
	return r.at.seg.Tail != nil && r.at.seg.Tail[doc/blockmax.TileDocs] < r.out.need(doc)
}

// offer passes a matching, accepted document to the collector, with what comes behind its score. Numbers of
// functions are looked up only where the bound of the tile reaches the threshold.
func (r *run) offer(doc, score uint32) {
	if w := &r.wordNeeds; w.numbers != nil && doc/tileDocs == w.tile {
		r.out.offer(doc, r.at.outer.Apply(score, w.numbers[doc%tileDocs]))
		return
	}
	if r.at.outer != nil && r.at.over(score, doc, doc) < r.out.threshold(doc) {
		return
	}
	r.out.offer(doc, r.at.final(doc, score))
}

// offerCandidates passes all candidates to the collector.
func (r *run) offerCandidates() {
	if r.out.counting {
		return
	}
	for p, doc := range r.cands.docs[:r.cands.n] {
		r.offer(doc, r.cands.score[p])
	}
}

// A ListError says which list could not be read. The wrapped error, a *corrupt.Error or one of the
// list's Loader, names the block and the offset.
type ListError struct {
	Segment int // index into Plan.Segments
	Term    int // index into Plan.Weights
	Err     error
}

func (e *ListError) Error() string {
	return fmt.Sprintf("cpuexec: list of term %d in segment %d of the plan: %v", e.Term, e.Segment, e.Err)
}

// Unwrap returns the wrapped error.
func (e *ListError) Unwrap() error { return e.Err }
