package dispatch

import (
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
	groups
)

// A queue is the waiting queries, in order of arrival in each group.
type queue struct {
	jobs  [groups][]*job
	bytes int64         // of all their lists: more than a device will lack
	gpu   time.Duration // their estimated cost on a device
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

// gone subtracts a job from the sums.
func (q *queue) gone(j *job) {
	q.bytes -= j.features.Bytes
	q.gpu -= j.gpu
}

// remove takes a job out. It reports false if the queue lacks it.
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

// takeForCPU removes and returns the next job for an idle core. The CPU's own jobs come first: the
// oldest if it has waited for long, or else the smallest, so that the average wait is short. Then
// comes the oldest job for either side and, if steal is set, the oldest one for devices that does
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
