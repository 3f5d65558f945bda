package dispatch

import (
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// ready reports whether a batch should start now on a device, and if not, when to look again:
// never, while nothing waits. Except under Auto, an idle device takes whatever waits. Under Auto it
// would take single queries that the CPU answers sooner: the p99 of an H200 with 16 cores doubled
// at a twentieth of its load.
func (d *Dispatcher) ready(dev *deviceState, now time.Time) (start bool, after time.Duration) {
	oldest := d.queue.oldest(forDevices, forEither, forCPU)
	if oldest == nil {
		return false, -1
	}
	wait := oldest.arrived.Add(d.options.Delay).Sub(now)
	full := d.queue.len() >= d.options.MaxCount || d.queue.bytes >= d.options.MaxBytes
	idle := dev.batches == 0 && d.options.Policy != Auto
	return wait <= 0 || full || idle, wait
}

// A batch is some jobs for a device.
type batch struct {
	jobs  []*job
	plans []*Plan
	bytes int64 // of all their lists, missing on the device
	lists map[*postings.List]struct{}
}

func (b *batch) reset() {
	clear(b.jobs)
	clear(b.plans)
	b.jobs, b.plans, b.bytes = b.jobs[:0], b.plans[:0], 0
	if b.lists == nil {
		b.lists = map[*postings.List]struct{}{}
	}
	clear(b.lists)
}

// form takes jobs out of the queue for a batch on a device: those for devices, then those for
// either, and if there are none, some that wait for the CPU. The first may have any number of
// bytes.
func (d *Dispatcher) form(dev *deviceState, b *batch) {
	b.reset()
	for _, g := range [...]group{forDevices, forEither, forCPU} {
		if g == forCPU && len(b.jobs) > 0 {
			break
		}
		jobs, n := d.queue.jobs[g], 0
		for n < len(jobs) && len(b.jobs) < d.options.MaxCount && b.add(jobs[n], dev, d.options.MaxBytes) {
			n++
		}
		d.queue.takeFirst(g, n)
	}
}

// add adds a job, unless its lists bring too many bytes to the batch. Lists already in the batch,
// and resident bytes, count nothing.
func (b *batch) add(j *job, dev *deviceState, maxBytes int64) bool {
	bytes := int64(0)
	for s := range j.query.Plan.Segments {
		for t := range j.query.Plan.Segments[s].Terms {
			term := &j.query.Plan.Segments[s].Terms[t]
			if term.Bounds == nil {
				continue
			}
			if _, there := b.lists[term.List]; there {
				continue
			}
			// Harmless if the job does not fit, since the batch is then full.
			b.lists[term.List] = struct{}{}
			bytes += missing(term, dev)
		}
	}
	if b.bytes+bytes > maxBytes && len(b.jobs) > 0 {
		return false
	}
	b.bytes += bytes
	b.jobs, b.plans = append(b.jobs, j), append(b.plans, j.query.Plan)
	j.state = taken
	return true
}

// missing is how many bytes of a list are not on a device.
func missing(t *blockmax.Term, dev Device) int64 {
	bytes := listBytes(t.List)
	if t.Key == 0 || dev == nil {
		return bytes
	}
	return max(0, bytes-dev.Resident(t.Key))
}

// listBytes is the size of a list's payload.
func listBytes(l *postings.List) int64 {
	return postings.RowBytes * int64(l.PayloadRows())
}
