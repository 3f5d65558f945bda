package dispatch

import (
	"time"

	"github.com/riffle-search/riffle/postings"
)

// hostShare is the part of the time of a batch that the host takes before the device computes, of a
// Device that does not say.
const hostShare = 0.3

// lead is how long the host takes for a batch of n queries before the device computes, which takes
// cost.
func (dev *deviceState) lead(n int, cost time.Duration) time.Duration {
	if lead := dev.said(n); lead > 0 {
		return lead
	}
	return time.Duration(hostShare * float64(cost))
}

// said is what the device says about that, or 0.
func (dev *deviceState) said(n int) time.Duration {
	if l, ok := dev.Device.(Leader); ok {
		return l.Lead(n)
	}
	return 0
}

// ready reports whether a batch should start now on a device, and if not, when to look again:
// never, while nothing waits. An idle device takes whatever waits. A busy one gets its next batch
// shortly before it is done, since a query that arrives meanwhile would have to wait for one more
// batch. It gets a full batch at once.
func (d *Dispatcher) ready(dev *deviceState, now time.Time) (start bool, wait time.Duration) {
	first := d.queue.first(forDevices, forEither, forCPU, forLate)
	if first == nil {
		return false, -1
	}
	wait = time.Hour // a batch that ends makes its worker look again
	n := d.queue.len() - len(d.queue.jobs[forLate])
	switch full := n >= d.options.MaxCount || d.queue.bytes >= d.options.MaxBytes; {
	case len(dev.line.batches) == 0 || full && len(dev.line.batches) < d.options.Depth:
		return true, 0
	case len(dev.line.batches) < d.options.Depth:
		next := d.model.BatchCost(&first.features, n) + d.queue.gpu/time.Duration(d.alive)
		// A device that is done sooner than estimated must not wait for its next batch.
		wait = dev.line.left(now) - dev.lead(min(n, d.options.MaxCount), next) - d.unsure
		// Where the host takes longer than the device, it works on one batch while the device computes another,
		// and when it is done, on a third.
		if n := len(dev.line.batches); n > 1 {
			last := dev.line.batches[n-1]
			wait = max(wait, last.began.Add(dev.said(len(last.jobs))).Sub(now))
		}
	}
	if d.options.Delay > 0 {
		wait = min(wait, first.arrived.Add(d.options.Delay).Sub(now))
	}
	return wait <= 0, wait
}

// A batch is some jobs for a device.
type batch struct {
	jobs  []*job
	plans []*Plan
	bytes int64         // of all their lists, missing on the device
	cost  time.Duration // estimated, on the device
	after time.Duration // until the device can begin with it, as estimated when it began
	began time.Time

	overtaken bool // the device was seen to be done with a later one, so it is with this one

	lists map[*postings.List]struct{}
}

func (b *batch) reset() {
	clear(b.jobs)
	clear(b.plans)
	b.jobs, b.plans, b.bytes, b.cost, b.overtaken = b.jobs[:0], b.plans[:0], 0, 0, false
	if b.lists == nil {
		b.lists = map[*postings.List]struct{}{}
	}
	clear(b.lists)
}

// form takes jobs out of the queue for a batch on a device: those for devices, then those for
// either, and if there are none, some that wait for the CPU, or that will be late. The first may
// have any number of bytes.
func (d *Dispatcher) form(dev *deviceState, b *batch) {
	b.reset()
	d.sortOut(dev, time.Now())
	most := d.options.MaxCount
	for _, g := range [...]group{forDevices, forEither, forCPU, forLate} {
		if g >= forCPU && g != forEither && len(b.jobs) > 0 {
			break
		}
		if g == forLate {
			most = max(1, most/lateBatch)
		}
		jobs, n := d.queue.jobs[g], 0
		for n < len(jobs) && len(b.jobs) < most && b.add(jobs[n], dev, d.options.MaxBytes) {
			n++
		}
		d.queue.takeFirst(g, n)
	}
	if len(b.jobs) > 0 {
		b.cost += d.model.BatchCost(&b.jobs[0].features, len(b.jobs))
	}
}

// lateBatch: while nothing else waits, late queries get batches of one in so many of MaxCount. Nobody
// interrupts these when others arrive.
const lateBatch = 16

// lateMargin: if queries of a batch would be late, others are taken out until it is done 3 % of its time
// sooner than it must be. Otherwise the next small error would make all of its queries late.
const lateMargin = 1.03

// sortOut takes queries out of the queue that the next batch would answer too late: first those that no
// batch answers in time, then those that are late when all that wait are in it, since all its queries
// are answered when it is done. Each that is taken out lets the batch be done sooner, unless another one
// takes its place.
func (d *Dispatcher) sortOut(dev *deviceState, now time.Time) {
	first := d.queue.first(forDevices, forEither)
	if first == nil || !first.hasDeadline() {
		return
	}
	features := first.features // it may be taken out, and its caller be done with it
	left, slowness := dev.line.left(now), d.slowness()
	end := func(n int, cost time.Duration) time.Time {
		return now.Add(time.Duration(float64(left+d.model.BatchCost(&features, n)+cost) * slowness))
	}
	take := func(hopeless func(*job) bool) {
		for _, g := range [...]group{forDevices, forEither} {
			for _, j := range d.queue.takeWhile(g, hopeless) {
				d.miss(j)
			}
		}
	}
	alone := end(1, 0)
	take(func(j *job) bool { return j.misses(alone) })
	n, cost, waiting := 0, time.Duration(0), 0
	for _, g := range [...]group{forDevices, forEither} {
		for _, j := range d.queue.jobs[g][:min(len(d.queue.jobs[g]), d.options.MaxCount-n)] {
			n, cost = n+1, cost+j.gpu
		}
		waiting += len(d.queue.jobs[g])
	}
	usual := slowness
	take(func(j *job) bool {
		if n == 0 || !j.misses(end(n, cost)) {
			return false
		}
		slowness = usual * lateMargin
		if waiting--; waiting < n {
			n, cost = n-1, cost-j.gpu
		}
		return true
	})
}

// add adds a job, unless its lists bring too many bytes to the batch. Lists already in the batch,
// and resident bytes, count nothing.
func (b *batch) add(j *job, dev *deviceState, maxBytes int64) bool {
	bytes := j.small
	for i := range j.lacks {
		l := &j.lacks[i]
		if _, there := b.lists[l.list]; there {
			continue
		}
		// Harmless if the job does not fit, since the batch is then full.
		b.lists[l.list] = struct{}{}
		bytes += l.missing(dev)
	}
	if b.bytes+bytes > maxBytes && len(b.jobs) > 0 {
		return false
	}
	b.bytes += bytes
	b.cost += j.gpu
	b.jobs, b.plans = append(b.jobs, j), append(b.plans, j.query.Plan)
	j.state = taken
	return true
}
