package dispatch

import (
	"cmp"
	"slices"
	"time"
)

// A group says which processors a waiting query is for. The three are those of Ding 2009. Policies
// other than Groups put all waiting queries in forDevices.
type group uint8

const (
	forDevices group = iota // much better on a device
	forCPU                  // much better on the CPU
	forEither
	forLate // will miss their deadlines: for a device when nothing else waits
	groups
)

// A queue is the waiting queries, those due first at the front of each group. Without deadlines
// that is the order of arrival.
type queue struct {
	dues  *dues // of what waits; may be nil
	jobs  [groups][]*job
	bytes int64         // of all their lists, without those of forLate: more than a device will lack
	gpu   time.Duration // their estimated cost on a device, likewise
}

func (q *queue) put(j *job, g group) {
	j.group = g
	q.jobs[g] = slices.Insert(q.jobs[g], behind(q.jobs[g], j), j)
	if j.counted = g != forLate && q.dues != nil && q.dues.on.Load(); j.counted {
		j.slot = q.dues.slot(j.due, j.arrived)
		q.dues.add(j.slot, j.gpu)
	}
	if g != forLate {
		q.bytes += j.features.Bytes
		q.gpu += j.gpu
	}
}

func (q *queue) len() (n int) {
	for _, jobs := range q.jobs {
		n += len(jobs)
	}
	return n
}

// gone subtracts a job from the sums.
func (q *queue) gone(j *job) {
	if j.group != forLate {
		q.bytes -= j.features.Bytes
		q.gpu -= j.gpu
	}
	if j.counted {
		q.dues.add(j.slot, -j.gpu)
	}
}

// remove takes a job out. It reports false if the queue lacks it.
func (q *queue) remove(j *job) bool {
	i := slices.Index(q.jobs[j.group], j)
	if i < 0 {
		return false
	}
	q.jobs[j.group] = without(q.jobs[j.group], i)
	q.gone(j)
	return true
}

// takeFirst takes the first n jobs out of a group.
func (q *queue) takeFirst(g group, n int) {
	for _, j := range q.jobs[g][:n] {
		q.gone(j)
	}
	q.jobs[g] = dropFirst(q.jobs[g], n)
}

// dropFirst removes the first n jobs from a line. Those of a long line do not move: a backlog may have a
// hundred thousand, and all who want to join it would wait for the lock meanwhile. A short line keeps its
// memory so.
func dropFirst(line []*job, n int) []*job {
	if left := len(line) - n; left <= max(n, shortLine) {
		return slices.Delete(line, 0, n)
	}
	clear(line[:n])
	return line[n:]
}

// shortLine is how many jobs may move when those before them leave.
const shortLine = 64

// without removes a job from a line, mostly the first.
func without(line []*job, i int) []*job {
	if i == 0 {
		return dropFirst(line, 1)
	}
	return slices.Delete(line, i, i+1)
}

// takeAll takes all jobs out.
func (q *queue) takeAll() (all []*job) {
	for g := range q.jobs {
		for _, j := range q.jobs[g] {
			q.gone(j)
		}
		all = append(all, q.jobs[g]...)
		q.jobs[g] = nil
	}
	return all
}

// first returns the job of the groups that is due first, nil when there is none.
func (q *queue) first(gs ...group) (first *job) {
	for _, g := range gs {
		if len(q.jobs[g]) == 0 {
			continue
		}
		j := q.jobs[g][0]
		if first == nil || cmp.Or(j.due.Compare(first.due), j.arrived.Compare(first.arrived)) < 0 {
			first = j
		}
	}
	return first
}

// takeWhile takes jobs out of the front of a group, up to the first that does not belong to those.
func (q *queue) takeWhile(g group, belongs func(*job) bool) (taken []*job) {
	n := 0
	for n < len(q.jobs[g]) && belongs(q.jobs[g][n]) {
		n++
	}
	taken = slices.Clone(q.jobs[g][:n])
	q.takeFirst(g, n)
	return taken
}

// takeForCPU removes and returns the next job for an idle core. The CPU's own jobs come first: the
// oldest if it has waited for long, or else the smallest, so that the average wait is short. Then
// comes the first job for either side and, if steal is set, the oldest one for devices that does
// not demand a device.
func (q *queue) takeForCPU(now time.Time, long time.Duration, steal bool) *job {
	var best *job
	for i, j := range q.jobs[forCPU] {
		if i == 0 && now.Sub(j.arrived) >= long {
			best = j
			break
		}
		if best == nil || j.cpu < best.cpu {
			best = j
		}
	}
	if best == nil {
		best = q.first(forEither)
	}
	if best == nil && steal {
		if i := slices.IndexFunc(q.jobs[forDevices], func(j *job) bool { return j.query.On != OnGPU }); i >= 0 {
			best = q.jobs[forDevices][i]
		}
	}
	if best != nil {
		q.remove(best)
	}
	return best
}
