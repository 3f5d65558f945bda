package cpuexec

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A Pool is a bounded set of goroutines, its workers, that help with queries. One Pool serves all
// queries of an engine, under any policy. The workers start with the first query that needs help.
//
// A pool for n cores has n-1 workers, because each query already has a goroutine. At most n
// goroutines work at a time: a worker joins a query only while there are fewer, and leaves between
// two tasks when there are more. (DOCP is the exception.)
//
// A worker without work polls for some time before it sleeps. A polling worker joins a query within
// about a microsecond. Waking a sleeping one takes five to fifty, as long as a short query.
type Pool struct {
	cores int
	spin  time.Duration
	slots []atomic.Pointer[job] // open jobs

	turn     sync.Mutex // of DOCP: held by the current query
	start    sync.Once
	workers  sync.WaitGroup
	closed   atomic.Bool // takes no more jobs
	stopping atomic.Bool // workers end

	// Fields that many goroutines write have their own cache lines.
	_         [64]byte
	running   atomic.Int32 // goroutines at work, on their own query or helping
	open      atomic.Int32 // jobs published
	_         [64]byte
	published atomic.Uint64 // jobs so far; polling workers watch it
	demand    atomic.Int32  // helpers that the last job expected: more need not poll
	_         [64]byte
	looking   atomic.Int32 // workers that poll
	sleeping  atomic.Int32 // len(asleep)
	_         [64]byte

	mu     sync.Mutex
	asleep []*worker
}

// A worker is one goroutine of a Pool.
type worker struct {
	id   int           // from 1; 0 is the owner of a job
	wake chan struct{} // one slot
	last uint64        // ticket of the last job that has no more work for it
}

// DefaultSpin is how long a worker polls before it sleeps.
const DefaultSpin = 50 * time.Microsecond

// NewPool returns a pool for the given number of cores, or GOMAXPROCS when it is 0. Its workers
// poll for the duration spin before they sleep, or DefaultSpin when it is 0. The caller closes it.
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

// maxCores is how many shares of cores fit in a claim.
const maxCores = 64

// Close waits for the queries that are being shared, and ends the workers. Later queries run whole.
func (p *Pool) Close() {
	p.closed.Store(true)
	for p.open.Load() > 0 {
		time.Sleep(50 * time.Microsecond)
	}
	p.stopping.Store(true)
	p.published.Add(1)
	p.start.Do(func() {}) // no workers start any more
	for p.wakeOne() {
	}
	p.workers.Wait()
}

// idle returns how many cores are idle.
func (p *Pool) idle() int { return max(0, p.cores-int(p.running.Load())) }

// crowded reports whether more goroutines work than there are cores.
func (p *Pool) crowded() bool { return p.running.Load() > int32(p.cores) }

// publish offers a job to the workers and calls as many helpers as it expects. It returns false
// when the pool is closed.
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
	// The pool has four queries per core, so help is unlikely. The owner works alone.
	j.slot = -1
	return true
}

// withdraw removes a job from the pool.
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

// serve is the main loop of a worker.
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

// oldest returns the oldest job that w can help with; a nil w stands for any worker. It reads the
// fields that the owner of a job writes last.
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

// full reports whether more than delta grains of all jobs are waiting for a goroutine.
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

// look polls until a job is published after the first seen ones, or a worker must end. It returns
// false when the worker should sleep: nothing came for some time, there is no core for it, or
// enough other workers poll.
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
			runtime.Gosched() // let other goroutines use the core
		}
		now := time.Now()
		spent += min(now.Sub(before), 10*time.Microsecond) // longer gaps were spent elsewhere
		before = now
		if spent > p.spin || p.idle() == 0 {
			return false
		}
	}
	return true
}

// sleep waits to be woken, unless a job has been published after the first seen ones.
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

// rise removes a worker from the list of sleepers. It returns false when the worker has already
// been woken.
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

// wakeOne wakes the worker that fell asleep last. It returns false when all are awake.
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

// call gets a job the helpers that it expects. Polling workers come without a call. (The count
// includes one that has just stopped polling, which may then be woken instead of another. So a
// fixed job, which needs all workers, wakes all.)
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

// wakeUnits is the least size of a query for which sleeping workers are woken. A shorter one would
// end before they come, and waking one costs the owner some microseconds.
const wakeUnits = 8

// wakeFor wakes two of the workers that a job needs. Each wakes two more when it joins, so that the
// owner need not wake all.
func (p *Pool) wakeFor(j *job) {
	for range 2 {
		if j.wanted.Load() <= 0 || j.wanted.Add(-1) < 0 || p.sleeping.Load() == 0 || !p.wakeOne() {
			return
		}
	}
}

// coreIdle is called at the end of a query, because another may wait for its core.
func (p *Pool) coreIdle() {
	if p.open.Load() > 0 && p.sleeping.Load() > 0 && p.looking.Load() == 0 && p.idle() > 0 && p.oldest(nil) != nil {
		p.wakeOne()
	}
}
