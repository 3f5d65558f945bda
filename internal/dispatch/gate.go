package dispatch

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"
)

// A gate admits queries to the cores that compute them: the one that is due first comes first.
//
// Earliest deadline first is optimal while all queries can be in time. Beyond that it would make
// each one a little late. So the line has only queries that are estimated to be in time. When a new
// one makes others late, the longest of those due before is taken out, until the rest is in time
// (Moore 1968). Queries that cannot be in time compute when nobody else waits, or fail.
type gate struct {
	always, more int // cores for all queries, and those that are reserved while devices work

	mu    sync.Mutex
	free  int // cores that no query has; negative after resize, until enough of them leave
	spare int // the same, of the reserved ones
	line  []*job
	late  []*job        // the shortest first; counts has them apart
	tardy int           // of those, how many compute
	load  time.Duration // estimated cost of the queries that compute

	counts *gauges // what others think that cores have to do; may be nil
}

// lateShare: at most one core in so many computes queries that will be late, without the help of
// others. They are long, and nobody interrupts them when others arrive.
const lateShare = 8

func (g *gate) open(always, more int) {
	g.always, g.more = always, more
	g.free, g.spare = always, more
}

// resize changes how many cores there are for all queries. Others become reserved ones.
func (g *gate) resize(always int, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	more := always - g.always
	g.always, g.free = g.always+more, g.free+more
	g.more, g.spare = g.more-more, g.spare-more
	for g.free > 0 {
		j := g.next(false, now)
		if j == nil {
			return
		}
		g.free--
		g.admit(j, false)
	}
}

// computing is how many queries have a core.
func (g *gate) computing() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.always + g.more - g.free - g.spare
}

// enter gives a job a core, puts it in line, or refuses it. Whatever becomes of it, it is told. It
// may have a reserved core only if reserved is set.
func (g *gate) enter(j *job, reserved bool, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	j.reserved = reserved
	least := j.cpu
	if g.free > g.always/4 {
		least = min(least, j.helped)
	}
	switch {
	case j.misses(now.Add(least)):
		g.refuse(j, now)
		g.useSpare(now)
	case g.free > 0:
		g.free--
		g.admit(j, false)
	case g.spare > 0 && g.maySpare(j, g.spare):
		g.spare--
		g.admit(j, true)
	default:
		g.line = slices.Insert(g.line, behind(g.line, j), j)
		if j.hasDeadline() {
			g.thin(now)
		}
	}
}

// behind is where a job belongs in a line that is in order of deadlines: mostly at the end.
func behind(line []*job, j *job) int {
	if n := len(line); n == 0 || !j.due.Before(line[n-1].due) {
		return n
	}
	i, _ := slices.BinarySearchFunc(line, j, func(a, b *job) int { return cmp.Or(a.due.Compare(b.due), -1) })
	return i
}

func (g *gate) admit(j *job, onSpare bool) {
	j.onSpare = onSpare
	g.load += j.cpu
	j.tell(admitted)
}

// thin takes jobs out of the line until all that are left are estimated to be in time.
func (g *gate) thin(now time.Time) {
	for {
		longest, misses, before := -1, false, time.Duration(0)
		for i, j := range g.line {
			if j.hasDeadline() {
				if longest < 0 || j.cpu > g.line[longest].cpu {
					longest = i
				}
				if misses = now.Add(g.wait(before) + j.cpu).After(j.due); misses {
					break
				}
			}
			before += j.cpu
		}
		if !misses {
			return
		}
		j := g.line[longest]
		g.line = without(g.line, longest)
		g.refuse(j, now)
	}
}

// wait estimates when a job gets a core that has so much work before it in line. Those that compute
// are half done on average, and end one after another: the first soon, the last when a core has
// computed its share of all of them. Until then, the line has the cores that are free by then.
func (g *gate) wait(before time.Duration) time.Duration {
	cores := float64(g.always)
	last, work := float64(g.load)/cores, float64(before)
	if half := last / 2; work >= cores*half {
		return time.Duration(work/cores + half)
	}
	return time.Duration(max(last/(cores+1), math.Sqrt(2*last*work/cores)))
}

// refuse lets a job wait until nobody else does. A job that is to fail when it is late fails when
// that is certain, or if it would take half as long again as it may: work may take less than
// estimated.
func (g *gate) refuse(j *job, now time.Time) {
	work := time.Duration(0)
	for _, other := range g.line {
		work += other.cpu
	}
	end := now.Add(g.wait(work) + j.cpu)
	if j.query.FailLate && (j.misses(now.Add(min(j.cpu, j.helped))) || end.After(j.due.Add(j.due.Sub(now)/2))) {
		j.tell(late)
		return
	}
	g.late = slices.Insert(g.late, g.placeOfLate(j), j)
	g.counts.setAside(j, true)
}

// maySpare reports whether a job may have a reserved core, when so many are free: a query with a
// deadline may have half of them.
func (g *gate) maySpare(j *job, free int) bool {
	return j.reserved || j.hasDeadline() && free > g.more/2
}

// useSpare gives a late job a core if there is one that nobody wants.
func (g *gate) useSpare(now time.Time) {
	if g.free <= 0 || len(g.line) > 0 {
		return
	}
	if j := g.nextLate(false, now); j != nil {
		g.free--
		g.admit(j, false)
	}
}

// leave takes a core back and gives it to the next job.
func (g *gate) leave(j *job, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.load -= j.cpu
	if j.tardy {
		g.tardy--
	}
	cores := &g.free
	if j.onSpare {
		cores = &g.spare
	}
	if *cores >= 0 {
		if next := g.next(j.onSpare, now); next != nil {
			g.admit(next, j.onSpare)
			return
		}
	}
	*cores++
}

// next takes out the job that gets a core, or returns nil.
func (g *gate) next(spare bool, now time.Time) *job {
	for i := 0; i < len(g.line); {
		j := g.line[i]
		if spare && !g.maySpare(j, g.spare+1) {
			i++
			continue
		}
		g.line = without(g.line, i)
		if !j.misses(now.Add(j.cpu)) {
			return j
		}
		g.refuse(j, now)
	}
	return g.nextLate(spare, now)
}

// nextLate takes out the late job that gets a core, or returns nil: one that can be in time after
// all, or the shortest.
func (g *gate) nextLate(spare bool, now time.Time) *job {
	best, saved := -1, false
	for i := 0; i < min(len(g.late), mostLooked); i++ {
		j := g.late[i]
		if j.query.FailLate && j.misses(now.Add(min(j.cpu, j.helped))) {
			g.takeLate(i)
			i--
			j.tell(late)
			continue
		}
		if spare && !g.maySpare(j, g.spare+1) {
			continue
		}
		if saved = !j.misses(now.Add(j.cpu)); saved {
			best = i
			break
		}
		if best < 0 {
			best = i
		}
	}
	if best < 0 || !saved && (g.late[best].query.FailLate || g.tardy >= max(1, g.always/lateShare)) {
		return nil
	}
	j := g.takeLate(best)
	if j.tardy = !saved; j.tardy {
		g.tardy++
	}
	return j
}

// mostLooked is how many late jobs are looked at for one that can be in time: there may be thousands,
// and all that enter or leave wait meanwhile.
const mostLooked = 64

// placeOfLate is where the late jobs begin that take as long as j or longer.
func (g *gate) placeOfLate(j *job) int {
	i, _ := slices.BinarySearchFunc(g.late, j, func(a, b *job) int { return cmp.Or(cmp.Compare(a.cpu, b.cpu), 1) })
	return i
}

// takeLate takes out a late job.
func (g *gate) takeLate(i int) *job {
	j := g.late[i]
	g.late = without(g.late, i)
	g.counts.setAside(j, false)
	return j
}

// withdraw removes a job whose caller no longer waits. It reports false if the job has been told.
func (g *gate) withdraw(j *job) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.line, j); i >= 0 {
		g.line = without(g.line, i)
		return true
	}
	for i := g.placeOfLate(j); i < len(g.late) && g.late[i].cpu == j.cpu; i++ {
		if g.late[i] == j {
			g.takeLate(i)
			return true
		}
	}
	return false
}

// inTime reports whether a job with a deadline would be in time if it entered now.
func (g *gate) inTime(j *job, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	wait := time.Duration(0)
	if g.free <= 0 {
		before := time.Duration(0)
		for _, other := range g.line[:behind(g.line, j)] {
			before += other.cpu
		}
		wait = g.wait(before)
	}
	return !now.Add(wait + j.cpu).After(j.due)
}
