package dispatch

import "time"

// auto decides whether the CPU computes a query. Three rules:
//
//   - The CPU must be estimated to end first, even if it takes as much longer as estimates often
//     fall short. A batch ends when it was estimated to; a query with bounds seldom does.
//   - Cores go to the queries that spare devices most. Of those that the first rule admits, the CPU
//     gets the ones with the least time on a core for a time on a device: those below a ratio,
//     which falls while queries wait for cores, a quarter as long as for a device, and rises while
//     they do not.
//   - When a side has had none of trialEvery queries, for trialPause, the next one tries it: only
//     queries teach what queries cost.
func (d *Dispatcher) auto(j *job) (onCPU bool) {
	cores, helped := cap(d.cores), false
	if d.quiet() {
		cores += cap(d.spare)
		helped = d.running < cores/4
	}
	wait, gpu := d.cpuWait(cores), d.gpuWait(j)+j.gpu
	onCPU = wait+d.model.slowest(&j.features, helped) <= gpu && d.running < mostWaiting*cores
	if onCPU {
		onCPU = float64(j.cpu) <= d.ratio*float64(j.gpu)
		d.adjust(4*wait < gpu)
	}
	if onCPU {
		return !d.gpuTrial.due(j.arrived)
	}
	return d.running < cores && j.cpu < longestTrial && d.cpuTrial.due(j.arrived)
}

// A trialClock says when a side is to be tried that the policy has not chosen for a while.
type trialClock struct {
	queries int // since the side was last used
	used    time.Time
}

// due counts a query that goes to the other side, and reports whether it should not.
func (c *trialClock) due(now time.Time) bool {
	if c.queries++; c.queries < trialEvery || now.Sub(c.used) < trialPause {
		return false
	}
	c.use(now)
	return true
}

func (c *trialClock) use(now time.Time) { c.queries, c.used = 0, now }

const (
	// mostWaiting is how many queries a core has at most, while a device could take the next one:
	// their estimates may be far too low.
	mostWaiting = 8

	trialEvery   = 256
	trialPause   = 20 * time.Millisecond
	longestTrial = 20 * time.Millisecond // of an estimate: what a trial costs a core

	// From mostRatio it takes some 300 queries to any ratio that matters.
	mostRatio, leastRatio = 1e6, 1
	ratioUp, ratioDown    = 1 + 1.0/64, 1 - 1.0/32
)

// adjust moves the ratio of a core's time to a device's.
func (d *Dispatcher) adjust(spare bool) {
	if spare {
		d.ratio = min(mostRatio, d.ratio*ratioUp)
	} else {
		d.ratio = max(leastRatio, d.ratio*ratioDown)
	}
}

// cpuWait is how long a query waits for a core: until those are done that already wait for one.
func (d *Dispatcher) cpuWait(cores int) time.Duration {
	if d.running < cores {
		return 0
	}
	waiting := float64(d.running+1-cores) / float64(d.running)
	return time.Duration(waiting * float64(d.load) / float64(cores))
}

// gpuWait is how long a query waits until its batch begins, plus what the other queries of the
// batch take. It waits for the batches that the first free device has begun, and for the queries
// ahead of it.
func (d *Dispatcher) gpuWait(j *job) time.Duration {
	_, wait := d.firstFree(j.arrived)
	batches := d.queue.len() / d.options.MaxCount
	each := d.model.BatchCost(&j.features)
	return wait + each + (d.queue.gpu+time.Duration(batches)*each)/time.Duration(d.alive)
}
