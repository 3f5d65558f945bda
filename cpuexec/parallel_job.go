package cpuexec

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/blockmax"
)

// A job is one pass of a query that several goroutines work on. It lies in the run
// of the goroutine that asked, its owner, which uses it again for later queries. A
// helper may hold a pointer to a job that is over, or to its successor; before join
// it reads nothing but atomics.
type job struct {
	// Set by the owner while the job is closed.
	owner    *run
	pool     *Pool
	slot     int // of the pool
	ctx      context.Context
	plan     *Plan
	tree     *blockmax.Node
	visit    segmentPass
	seed     uint32 // as in run
	counting bool
	cuts     []cuts // of each segment
	units    int
	helpers  int      // expected; the more they are, the smaller the tasks
	ends     []uint32 // memory of cuts
	cells    []int    // scratch memory of divide

	ticket atomic.Uint64 // of two jobs the older has the lower one
	limit  atomic.Int64  // units
	fixed  atomic.Bool   // unit i is for worker i alone (DOCP)

	// What many goroutines write has cache lines of its own.
	_       [64]byte
	next    atomic.Int64  // the first unit that nobody has taken
	claimed atomic.Uint64 // of a fixed job: the units taken, a bit each
	_       [64]byte
	state   atomic.Int64 // jobOpen, and how many helpers are at work
	wanted  atomic.Int32 // helpers still to be woken
	left    atomic.Int32 // of a fixed job: units not yet done
	failed  atomic.Bool
	done    chan struct{} // tells a sleeping owner to look again; one slot
	_       [64]byte
	worst   atomic.Uint64 // key of the worst hit in the collector once it is full, else 0
	_       [64]byte

	mu       sync.Mutex
	top      *blockmax.Collector // the owner's
	total    int                 // what helpers have counted
	pruned   bool
	work     blockmax.Work
	err      error
	panicked any
}

const jobOpen = 1 << 32

// open lets helpers join. The job must be closed.
func (j *job) open(ticket uint64) {
	if j.done == nil {
		j.done = make(chan struct{}, 1)
	}
	j.total, j.pruned, j.work, j.err, j.panicked = 0, false, blockmax.Work{}, nil, nil
	j.ticket.Store(ticket)
	j.limit.Store(int64(j.units))
	j.next.Store(0)
	j.claimed.Store(0)
	j.left.Store(int32(j.units))
	j.wanted.Store(0)
	j.worst.Store(0)
	j.failed.Store(false)
	j.state.Store(jobOpen)
}

// join makes the caller a helper, unless the job is over. Only from join to leave
// may a helper use the job.
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

// tell wakes the owner, should it sleep.
func (j *job) tell() {
	select {
	case j.done <- struct{}{}:
	default:
	}
}

// awaitSpins is how often an owner looks before it sleeps: for about as long as the
// last tasks of a query take.
const awaitSpins = 1000

// await waits until ready. Whoever makes it so calls tell.
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

// awaitAll waits until all units of a fixed job are done.
func (j *job) awaitAll() {
	j.await(func(j *job) bool { return j.left.Load() == 0 || j.failed.Load() })
}

// dissolve turns helpers away, waits for those at work, and makes what they have
// found and counted the owner's.
func (j *job) dissolve() error {
	j.pool.withdraw(j)
	j.state.Add(-jobOpen)
	j.await(func(j *job) bool { return j.state.Load() == 0 })
	r := j.owner
	r.total += j.total
	r.pruned = r.pruned || j.pruned
	r.work.Add(j.work)
	r.job = nil
	j.owner, j.ctx, j.plan, j.tree, j.visit, j.top = nil, nil, nil, nil, nil, nil
	if j.panicked != nil {
		panic(j.panicked)
	}
	return j.err
}

// waiting returns how many units nobody has taken yet.
func (j *job) waiting() int { return int(max(0, j.limit.Load()-j.next.Load())) }

// claim takes a task, units u to v-1; when these are equal none is left. Tasks are
// larger at first, and of one unit at the end.
func (j *job) claim(id int) (u, v int) {
	if j.fixed.Load() {
		if bit := uint64(1) << id; id < j.units && j.claimed.Or(bit)&bit == 0 {
			return id, id + 1
		}
		return 0, 0
	}
	for {
		u := j.next.Load()
		left := int64(j.units) - u
		if left <= 0 {
			return 0, 0
		}
		n := max(1, left/int64(2*(j.helpers+1)))
		if j.next.CompareAndSwap(u, u+n) {
			return int(u), int(u + n)
		}
	}
}

// A quota says how long a goroutine stays with a job.
type quota int

const (
	noQuota   quota = -1 // until no task is left
	whileIdle quota = -2 // as long as there is a core for it
)

// met reports whether a goroutine should leave before all tasks are taken. A quota
// of 0 or more is a δ.
func (q quota) met(p *Pool) bool {
	switch q {
	case noQuota:
		return false
	case whileIdle:
		return p.running.Load() > int32(p.cores)
	}
	return p.waiting() <= int(q)
}

// help joins the job and takes tasks until none is left or the quota is met. It
// returns the ticket of the job, or 0 when that was over.
func (j *job) help(id int, q quota) (ticket uint64) {
	if !j.join() {
		return 0
	}
	defer j.leave()
	ticket = j.ticket.Load()
	defer func() {
		if v := recover(); v != nil { // the owner will panic with it
			j.mu.Lock()
			j.panicked = v
			j.mu.Unlock()
			j.fail(nil)
		}
	}()
	j.pool.wakeFor(j)
	r := newRun(j.ctx, j.plan)
	r.job, r.tree, r.seed, r.counting, r.part = j, j.tree, j.seed, j.counting, part{}
	j.take(r, id, q)
	r.job = nil
	r.release()
	return ticket
}

// take takes tasks until none is left or the quota is met, and hands in what came
// out.
func (j *job) take(r *run, id int, q quota) {
	fixed, tasks := j.fixed.Load(), int64(0)
	for !j.failed.Load() {
		u, v := j.claim(id)
		if u == v {
			break
		}
		tasks++
		if err := j.do(r, u, v); err != nil {
			j.fail(err)
		}
		if fixed || q.met(j.pool) {
			break
		}
	}
	r.work.Tasks += tasks
	j.handIn(r)
	if fixed && tasks > 0 && j.left.Add(-1) == 0 {
		j.tell()
	}
}

// do works on units u to v-1.
func (j *job) do(r *run, u, v int) error {
	for s := range j.cuts {
		from, to := j.cuts[s].span(u, v)
		if from >= to {
			continue
		}
		if r.seg != &j.plan.Segments[s] {
			if err := r.enter(s); err != nil {
				return err
			}
		}
		r.from, r.to = from, to
		if err := j.visit(r); err != nil {
			return err
		}
	}
	return nil
}

// fail stops the job. The first error is the one that is reported.
func (j *job) fail(err error) {
	j.mu.Lock()
	if j.err == nil {
		j.err = err
	}
	j.mu.Unlock()
	j.failed.Store(true)
	j.tell()
}

// handIn hands in all that a run has found, and what a helper's has counted.
func (j *job) handIn(r *run) {
	for i := 1; !j.handOver(r); i++ {
		spinPause()
		if i%64 == 0 {
			runtime.Gosched()
		}
	}
	if r == j.owner {
		return
	}
	j.mu.Lock()
	j.total += r.total
	j.pruned = j.pruned || r.pruned
	j.work.Add(r.work)
	j.mu.Unlock()
}

// The rest is what a run calls.

// foundHits is how many hits a run keeps for itself when another goroutine has the
// collector.
const foundHits = 128

// need is Need of the collector. doc is a global number.
func (j *job) need(r *run, doc uint32) uint32 {
	if len(r.found) > 0 {
		j.handOver(r)
	}
	worst := j.worst.Load()
	if worst == 0 {
		return 0
	}
	need := uint32(worst >> 32)
	if doc >= ^uint32(worst) {
		need++
	}
	return need
}

// keep offers a document, by its global number, to the collector.
func (j *job) keep(r *run, doc, score uint32) {
	if hitKey(doc, score) <= j.worst.Load() {
		return
	}
	r.found = append(r.found, blockmax.Hit{Doc: doc, Score: score})
	if len(r.found) >= foundHits {
		j.handOver(r)
	}
}

// hitKey is larger the better a hit ranks.
func hitKey(doc, score uint32) uint64 { return uint64(score)<<32 | uint64(^doc) }

// handOver offers what a run has found to the collector, unless another goroutine
// is doing so; then it had better go on with its task.
func (j *job) handOver(r *run) bool {
	if len(r.found) == 0 {
		return true
	}
	if !j.mu.TryLock() {
		return false
	}
	for _, h := range r.found {
		j.top.Offer(h.Doc, h.Score)
	}
	if h, ok := j.top.Worst(); ok {
		j.worst.Store(hitKey(h.Doc, h.Score))
	}
	j.mu.Unlock()
	r.found = r.found[:0]
	return true
}
