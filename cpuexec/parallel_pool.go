package cpuexec

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A Pool is a bounded set of goroutines, its workers, that help with queries. One
// Pool serves all queries of an engine, whatever their policies. The workers start
// with the first query that wants help.
//
// Of a pool for n cores n-1 goroutines are workers, as each query has a goroutine
// already. No more than n are at work at a time: a worker joins a query only while
// there are fewer, and leaves between two tasks when there are more. (DOCP is the
// exception.)
//
// A worker with nothing to do looks for work for some time before it sleeps. A
// query finds one that looks within about a microsecond; to wake one that sleeps
// takes five to fifty, as long as a short query.
type Pool struct {
	cores int
	spin  time.Duration
	slots []atomic.Pointer[job] // open jobs

	turn     sync.Mutex // of DOCP: the query at work
	start    sync.Once
	workers  sync.WaitGroup
	closed   atomic.Bool // takes no more jobs
	stopping atomic.Bool // workers end

	// What many goroutines write has cache lines of its own.
	_         [64]byte
	running   atomic.Int32 // goroutines at work, with a query of their own or helping
	open      atomic.Int32 // jobs published
	_         [64]byte
	published atomic.Uint64 // jobs so far: what workers that look for work watch
	demand    atomic.Int32  // helpers that the last job expected: more need not look
	_         [64]byte
	looking   atomic.Int32 // workers that look for work
	sleeping  atomic.Int32 // len(asleep)
	_         [64]byte

	mu     sync.Mutex
	asleep []*worker
}

// A worker is one goroutine of a Pool.
type worker struct {
	id   int           // from 1; 0 is the owner of a job
	wake chan struct{} // one slot
	last uint64        // ticket of the last job that it has nothing left to do in
}

// DefaultSpin is how long a worker looks for work before it sleeps.
const DefaultSpin = 50 * time.Microsecond

// NewPool returns a pool for so many cores, GOMAXPROCS when it is 0, whose workers
// look for work for the given time before they sleep, DefaultSpin when it is 0.
// The caller closes it.
func NewPool(cores int, spin time.Duration) *Pool {
	if cores <= 0 {
		cores = runtime.GOMAXPROCS(0)
	}
	cores = min(cores, maxCores)
	if spin == 0 {
		spin = DefaultSpin
	}
	return &Pool{cores: cores, spin: spin, slots: make([]atomic.Pointer[job], 4*cores)}
}

// maxCores is what fits in job.claimed.
const maxCores = 64

// Close waits for the queries that are shared at the moment, and ends the workers.
// Later queries run whole.
func (p *Pool) Close() {
	p.closed.Store(true)
	for p.open.Load() > 0 {
		time.Sleep(50 * time.Microsecond)
	}
	p.stopping.Store(true)
	p.published.Add(1)
	p.start.Do(func() {}) // none start from now on
	for p.wakeOne() {
	}
	p.workers.Wait()
}

// idle returns how many cores have nothing to do.
func (p *Pool) idle() int { return max(0, p.cores-int(p.running.Load())) }

// crowded reports whether more goroutines are at work than there are cores.
func (p *Pool) crowded() bool { return p.running.Load() > int32(p.cores) }

// publish puts a job up for help, and calls the helpers it expects. It reports false
// when the pool takes no job.
func (p *Pool) publish(j *job) bool {
	p.open.Add(1)
	if p.closed.Load() {
		p.open.Add(-1)
		return false
	}
	p.start.Do(p.launch)
	ticket := p.published.Add(1)
	j.open(ticket)
	for i := range p.slots {
		j.slot = int((ticket + uint64(i)) % uint64(len(p.slots)))
		if p.slots[j.slot].CompareAndSwap(nil, j) {
			p.demand.Store(int32(j.helpers))
			p.published.Add(1)
			p.call(j)
			return true
		}
	}
	// There are four queries a core in the pool, so help is unlikely to come. The
	// owner works alone.
	j.slot = -1
	return true
}

// withdraw takes a job out of the pool.
func (p *Pool) withdraw(j *job) {
	if j.slot >= 0 {
		p.slots[j.slot].Store(nil)
	}
	p.open.Add(-1)
}

// launch starts the workers.
func (p *Pool) launch() {
	for id := 1; id < p.cores; id++ {
		w := &worker{id: id, wake: make(chan struct{}, 1)}
		p.workers.Go(func() { p.serve(w) })
	}
}

// serve is the life of a worker.
func (p *Pool) serve(w *worker) {
	for {
		seen := p.published.Load()
		if j := p.oldest(w); j != nil {
			p.help(w, j)
			continue
		}
		if p.stopping.Load() {
			return
		}
		if !p.look(seen) {
			p.sleep(w, seen)
		}
	}
}

func (p *Pool) help(w *worker, j *job) {
	p.running.Add(1)
	if ticket := j.help(w.id); ticket != 0 {
		w.last = ticket
	}
	p.running.Add(-1)
}

// oldest returns the oldest job that w can help with; w is nil for whichever worker may
// come. What the owner of a job writes while it works is looked at last.
func (p *Pool) oldest(w *worker) (oldest *job) {
	full, age := w != nil && p.idle() == 0, uint64(0)
	for i := range p.slots {
		j := p.slots[i].Load()
		if j == nil {
			continue
		}
		ticket := j.ticket.Load()
		if oldest != nil && age < ticket {
			continue
		}
		if fixed := j.fixed.Load(); fixed && w == nil || !fixed && full || w != nil && w.last == ticket {
			continue
		}
		if j.hasFree() {
			oldest, age = j, ticket
		}
	}
	return oldest
}

// full reports whether more than delta grains of all jobs wait for somebody to work on
// them.
func (p *Pool) full(delta int) bool {
	if p.open.Load() == 0 {
		return false
	}
	for i := range p.slots {
		if j := p.slots[i].Load(); j != nil && !j.fixed.Load() {
			if delta -= j.waiting(); delta < 0 {
				return true
			}
		}
	}
	return false
}

// look waits until a job is published after the first seen ones, or a worker is to
// end. It reports false when the worker should sleep: nothing came for some time, or
// there is no core left for it, or enough others look.
func (p *Pool) look(seen uint64) bool {
	if n := p.looking.Add(1); n > p.demand.Load() || int(n) > p.idle() {
		p.looking.Add(-1)
		return false
	}
	defer p.looking.Add(-1)
	before, spent := time.Now(), time.Duration(0)
	for i := 1; p.published.Load() == seen; i++ {
		spinPause()
		if i%64 > 0 {
			continue
		}
		if i%256 == 0 {
			runtime.Gosched() // something else may want the core
		}
		now := time.Now()
		spent += min(now.Sub(before), 10*time.Microsecond) // more of it was not spent here
		before = now
		if spent > p.spin || p.idle() == 0 {
			return false
		}
	}
	return true
}

// sleep waits to be woken, unless a job has been published after the first seen
// ones.
func (p *Pool) sleep(w *worker, seen uint64) {
	p.mu.Lock()
	p.asleep = append(p.asleep, w)
	p.sleeping.Store(int32(len(p.asleep)))
	p.mu.Unlock()
	if p.published.Load() != seen && p.rise(w) {
		return
	}
	<-w.wake
}

// rise takes a worker off the list of those asleep. It reports false when it has
// been woken already.
func (p *Pool) rise(w *worker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.asleep {
		if other == w {
			p.asleep = append(p.asleep[:i], p.asleep[i+1:]...)
			p.sleeping.Store(int32(len(p.asleep)))
			return true
		}
	}
	return false
}

// wakeOne wakes the worker that fell asleep last. It reports false when all are
// awake.
func (p *Pool) wakeOne() bool {
	p.mu.Lock()
	n := len(p.asleep) - 1
	if n < 0 {
		p.mu.Unlock()
		return false
	}
	w := p.asleep[n]
	p.asleep = p.asleep[:n]
	p.sleeping.Store(int32(n))
	p.mu.Unlock()
	w.wake <- struct{}{}
	return true
}

// call sees to it that the helpers which a job expects come. A worker that looks for
// work comes by itself. (One that has just ceased to look is counted, too, and may be
// the one that is woken instead of another; so a fixed job, which needs them all, wakes
// all.)
func (p *Pool) call(j *job) {
	if j.fixed.Load() {
		for p.wakeOne() {
		}
		return
	}
	if j.units >= wakeUnits {
		j.wanted.Store(int32(j.helpers) - p.looking.Load())
		p.wakeFor(j)
	}
}

// wakeUnits is the least size of a query for which sleeping workers are woken. A
// shorter one would be over before they come, and to wake one costs the owner some
// microseconds.
const wakeUnits = 8

// wakeFor wakes two of the workers that a job wants. Each wakes two more when it
// joins, so that the owner need not wake them all.
func (p *Pool) wakeFor(j *job) {
	for range 2 {
		if j.wanted.Load() <= 0 || j.wanted.Add(-1) < 0 || p.sleeping.Load() == 0 || !p.wakeOne() {
			return
		}
	}
}

// coreIdle is called when a query has ended: another may have waited for its core.
func (p *Pool) coreIdle() {
	if p.open.Load() > 0 && p.sleeping.Load() > 0 && p.looking.Load() == 0 && p.idle() > 0 && p.oldest(nil) != nil {
		p.wakeOne()
	}
}
