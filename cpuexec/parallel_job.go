package cpuexec

import (
	"context"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/blockmax"
)

// A job is one pass of a query that several goroutines share. It is part of the run of its owner,
// the calling goroutine, which reuses it for later queries. A helper may hold a pointer to a job
// that has ended, or to its successor. Before join it reads only atomics.
type job struct {
	// Set by the owner while the job is closed.
	owner    *run
	pool     *Pool
	slot     int // in the pool
	ctx      context.Context
	plan     *blockmax.Plan
	tree     *blockmax.Node
	visit    segmentPass
	seed     uint32 // as in run
	counting bool
	helpers  int // expected
	cores    int // of a fixed job
	division

	ticket atomic.Uint64 // lower for older jobs
	count  atomic.Int32  // pieces
	grains atomic.Int32  // weight of the query
	all    atomic.Int32  // units
	fixed  atomic.Bool   // one piece, whose units are the shares of the cores (DOCP)

	// Fields that many goroutines write have their own cache lines.
	_      [64]byte
	state  atomic.Int64 // jobOpen, and the number of active helpers
	joined atomic.Int32 // helpers so far
	wanted atomic.Int32 // helpers still to be woken
	left   atomic.Int32 // of a fixed job: units not yet done
	failed atomic.Bool
	done   chan struct{} // wakes a sleeping owner; one slot
	_      [64]byte
	worst  atomic.Uint64 // key of the worst hit in the collector once it is full, else 0
	_      [64]byte
	claims [maxPieces]claim // of the pieces

	mu       sync.Mutex
	top      *blockmax.Collector // the owner's
	total    int                 // counted by helpers
	pruned   bool
	work     blockmax.Work
	err      error
	panicked any
}

// A claim has a bit for each unit of a piece that is taken or does not exist.
type claim struct {
	taken atomic.Uint64
	_     [56]byte
}

// take claims a unit for the caller. It returns false if the unit is taken.
func (c *claim) take(unit int) bool {
	return c.taken.Load()>>unit&1 == 0 && c.taken.Or(1<<unit)>>unit&1 == 0
}

// free returns how many units are not taken.
func (c *claim) free() int { return 64 - bits.OnesCount64(c.taken.Load()) }

const jobOpen = 1 << 32

// open lets helpers join. The job must be closed.
func (j *job) open(ticket uint64) {
	if j.done == nil {
		j.done = make(chan struct{}, 1)
	}
	j.total, j.pruned, j.work, j.err, j.panicked = 0, false, blockmax.Work{}, nil, nil
	j.ticket.Store(ticket)
	j.joined.Store(0)
	j.wanted.Store(0)
	j.left.Store(int32(j.cores))
	j.worst.Store(0)
	j.failed.Store(false)
	j.state.Store(jobOpen)
}

// join makes the caller a helper, unless the job has ended. A helper may use the job only from join
// to leave.
func (j *job) join() bool {
	for {
		s := j.state.Load()
		if s&jobOpen == 0 {
			return false
		}
		if j.state.CompareAndSwap(s, s+1) {
			return true
		}
	}
}

func (j *job) leave() {
	if j.state.Add(-1) == 0 {
		j.tell()
	}
}

// tell wakes the owner if it sleeps.
func (j *job) tell() {
	select {
	case j.done <- struct{}{}:
	default:
	}
}

// awaitSpins is how often an owner polls before it sleeps: for about as long as the last units of a
// query take.
const awaitSpins = 1000

// await waits until ready returns true. The goroutine that changes the result must call tell.
func (j *job) await(ready func(*job) bool) {
	for i := 0; !ready(j); i++ {
		if i < awaitSpins {
			spinPause()
			continue
		}
		j.pool.running.Add(-1)
		<-j.done
		j.pool.running.Add(1)
	}
}

// awaitShares waits until all units of a fixed job are done.
func (j *job) awaitShares() {
	j.await(func(j *job) bool { return j.left.Load() == 0 || j.failed.Load() })
}

// dissolve refuses further helpers, waits for active ones, and takes over their hits and counts.
func (j *job) dissolve() error {
	j.pool.withdraw(j)
	j.state.Add(-jobOpen)
	j.await(func(j *job) bool { return j.state.Load() == 0 })
	r := j.owner
	r.out.total += j.total
	r.out.pruned = r.out.pruned || j.pruned
	r.out.work.Add(j.work)
	r.out.work.Tasks += r.share.units
	r.share, r.out.job = member{}, nil
	j.owner, j.ctx, j.plan, j.tree, j.visit, j.top = nil, nil, nil, nil, segmentPass{}, nil
	if j.panicked != nil {
		panic(j.panicked)
	}
	return j.err
}

// free returns how many units are not taken.
func (j *job) free() (units int) {
	for i := range j.count.Load() {
		units += j.claims[i].free()
	}
	return units
}

// hasFree reports whether a unit is not taken.
func (j *job) hasFree() bool {
	for i := range j.count.Load() {
		if j.claims[i].free() > 0 {
			return true
		}
	}
	return false
}

// waiting returns how many grains of the query are not taken, by the share of free units.
func (j *job) waiting() int {
	return j.free() * int(j.grains.Load()) / int(max(1, j.all.Load()))
}

// help joins the job and takes units until none is left or there is no core for the worker any
// more. It returns the ticket of the job, or 0 when there may be more work in it later.
func (j *job) help(id int) (ticket uint64) {
	if !j.join() {
		return 0
	}
	defer j.leave()
	ticket = j.ticket.Load()
	defer func() {
		if v := recover(); v != nil { // the owner will panic with the value
			j.mu.Lock()
			j.panicked = v
			j.mu.Unlock()
			j.fail(nil)
		}
	}()
	j.pool.wakeFor(j)
	r := newRun(j.ctx, j.plan)
	r.query.tree, r.out.seed, r.out.counting = j.tree, j.seed, j.counting
	r.share, r.out.job = member{job: j, turn: int(j.joined.Add(1))}, j
	j.takeAll(r, id)
	if r.share.leaving {
		ticket = 0
	}
	r.share, r.out.job = member{}, nil
	r.release()
	return ticket
}

// takeAll takes units until none is left or the goroutine must leave, and hands in the results.
func (j *job) takeAll(r *run, id int) {
	if end := j.visit.enlist(r); end != nil {
		defer end()
	}
	if j.fixed.Load() {
		j.takeShare(r, id)
		return
	}
	n := int(j.count.Load())
	first := r.share.turn * n / (j.helpers + 1) % n // spreads the goroutines over the pieces
	for at := 0; at < n && !r.share.leaving && !j.failed.Load(); {
		pieces, err := j.takePiece(r, (first+at)%n)
		if err != nil {
			j.fail(err)
			break
		}
		at += pieces
	}
	j.handIn(r)
}

// fewTiles is the fewest free tiles of a sheet for which a helper enters it.
const fewTiles = 5

// takePiece takes units of piece i. It returns the number of pieces that it has handled.
func (j *job) takePiece(r *run, i int) (pieces int, err error) {
	p, c := &j.pieces[i], &j.claims[i]
	to := p.to
	switch free := c.free(); {
	case free == 0, p.tiles && free < fewTiles && r.share.turn > 0:
		return 1, nil
	case p.tiles:
		r.share.claim, pieces = c, 1
	case c.take(0):
		pieces, to = j.takeMore(i)
	default:
		return 1, nil
	}
	if r.at.seg != &j.plan.Segments[p.segment] || p.from < r.at.to {
		if err := r.enter(p.segment); err != nil {
			return pieces, err
		}
	}
	r.at.from, r.at.to = p.from, to
	if !r.hopeless(j.visit) && !(p.tiles && r.hopelessSheet(j.visit)) {
		err = j.visit.run(r)
	}
	r.share.claim = nil
	if !p.tiles {
		r.share.took(pieces)
	} else if err == nil && !r.share.leaving {
		c.taken.Store(^uint64(0)) // units not taken cannot have hits
	}
	return pieces, err
}

// takeMore takes some of the pieces after piece i, which is a unit: many at first, fewer towards
// the end. It returns how many pieces the caller then has, and the end of the last one.
func (j *job) takeMore(i int) (pieces int, to uint32) {
	n := int(j.count.Load())
	want := (n - i) / (2 * (j.helpers + 1))
	for pieces = 1; pieces < want; pieces++ {
		next := &j.pieces[i+pieces]
		if next.tiles || next.segment != j.pieces[i].segment || !j.claims[i+pieces].take(0) {
			break
		}
	}
	return pieces, j.pieces[i+pieces-1].to
}

// takeShare searches one core's share of a fixed job.
func (j *job) takeShare(r *run, core int) {
	if core >= j.cores || !j.claims[0].take(core) {
		return
	}
	r.share.took(1)
	if err := j.doShare(r, core); err != nil {
		j.fail(err)
	}
	j.handIn(r)
	if j.left.Add(-1) == 0 {
		j.tell()
	}
}

func (j *job) doShare(r *run, core int) error {
	all, before := totalDocs(j.plan), uint32(0)
	for s := range j.plan.Segments {
		docs := j.plan.Segments[s].Docs
		from, to := evenEnd(core, j.cores, docs, before, all), evenEnd(core+1, j.cores, docs, before, all)
		before += docs
		if from == to {
			continue
		}
		if err := r.enter(s); err != nil {
			return err
		}
		r.at.from, r.at.to = from, to
		if err := j.visit.run(r); err != nil {
			return err
		}
	}
	return nil
}

// fail stops the job. It keeps the first error.
func (j *job) fail(err error) {
	j.mu.Lock()
	if j.err == nil {
		j.err = err
	}
	j.mu.Unlock()
	j.failed.Store(true)
	j.tell()
}

// handIn hands in all hits of a run and the counts of a helper's run.
func (j *job) handIn(r *run) {
	for i := 1; !j.handOver(&r.out); i++ {
		spinPause()
		if i%64 == 0 {
			runtime.Gosched()
		}
	}
	if r == j.owner {
		return
	}
	j.mu.Lock()
	j.total += r.out.total
	j.pruned = j.pruned || r.out.pruned
	j.work.Add(r.out.work)
	j.work.Tasks += r.share.units
	j.mu.Unlock()
}

// handOver offers the hits of a run to the collector. It returns false when another goroutine is
// doing so; the caller should then continue with its units.
func (j *job) handOver(o *results) bool {
	if len(o.found) == 0 {
		return true
	}
	if !j.mu.TryLock() {
		return false
	}
	for _, h := range o.found {
		j.top.Offer(h.Doc, h.Score)
	}
	if h, ok := j.top.Worst(); ok {
		j.worst.Store(hitKey(h.Doc, h.Score))
	}
	if o.profile != nil {
		o.raise(j.top)
	}
	j.mu.Unlock()
	o.found = o.found[:0]
	return true
}

// hitKey is larger for better hits.
func hitKey(doc, score uint32) uint64 { return uint64(score)<<32 | uint64(^doc) }
