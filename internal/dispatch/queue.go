package dispatch

import (
	"slices"
	"time"
)

// A group is who a waiting query is for. The three are those of Ding 2009; the policies other
// than Groups put all that waits in forDevices.
type group uint8

const (
	forDevices group = iota // much better on a device
	forCPU                  // much better on the CPU
	forEither
	groups
)

// A queue is the queries that wait, in order of arrival in each group.
type queue struct {
	jobs  [groups][]*job
	bytes int64         // of the lists of all of them: more than a device will lack
	gpu   time.Duration // what they would cost on a device, as estimated
}

func (q *queue) put(j *job, g group) {
	j.group = g
	q.jobs[g] = append(q.jobs[g], j)
	q.bytes += j.features.Bytes
	q.gpu += j.gpu
}

func (q *queue) len() (n int) {
	for _, jobs := range q.jobs {
		n += len(jobs)
	}
	return n
}

// gone forgets what a job counted for.
func (q *queue) gone(j *job) {
	q.bytes -= j.features.Bytes
	q.gpu -= j.gpu
}

// remove takes a job out. It reports false when it is not there.
func (q *queue) remove(j *job) bool {
	i := slices.Index(q.jobs[j.group], j)
	if i < 0 {
		return false
	}
	q.jobs[j.group] = slices.Delete(q.jobs[j.group], i, i+1)
	q.gone(j)
	return true
}

// takeFirst takes the first n jobs out of a group.
func (q *queue) takeFirst(g group, n int) {
	for _, j := range q.jobs[g][:n] {
		q.gone(j)
	}
	q.jobs[g] = slices.Delete(q.jobs[g], 0, n)
}

// takeAll takes all jobs out.
func (q *queue) takeAll() (all []*job) {
	for g := range q.jobs {
		all = append(all, q.jobs[g]...)
		q.jobs[g] = nil
	}
	q.bytes, q.gpu = 0, 0
	return all
}

// oldest returns the oldest job of the groups, nil when there is none.
func (q *queue) oldest(gs ...group) (oldest *job) {
	for _, g := range gs {
		if len(q.jobs[g]) > 0 && (oldest == nil || q.jobs[g][0].arrived.Before(oldest.arrived)) {
			oldest = q.jobs[g][0]
		}
	}
	return oldest
}

// takeForCPU takes the job out that an idle core does next: one of the CPU's own that has waited
// for long, or else the smallest of these, so that the average wait is short; then the oldest that
// is for either; and while no device has time, the oldest that is for devices. None that
// demands a device is taken.
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
		best = q.oldest(forEither)
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
