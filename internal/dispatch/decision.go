package dispatch

import "time"

// A Decision is where a query went and why, with what was known then, and how long it took there. That
// of Query.Decision is complete when Wait returns.
type Decision struct {
	Why string // a sentence

	// Estimates of the time to an answer, with the waits, on the CPU and on a device, and the time that the
	// query waits for a core before. They are 0 if the policy does not compare these.
	CPU, CPUWait, GPU time.Duration

	Running int   // queries that the CPU computed then
	Queued  int   // queries that waited for devices
	Missing int64 // bytes of the query's lists that the best device had to copy first

	Waited time.Duration // for a core or a device
	OnCPU  time.Duration // the CPU worked for it
	OnGPU  time.Duration // a device worked for its batch

	// DeviceBlocks is how many blocks a device decoded for the query. It does not tell which.
	DeviceBlocks int64
}

// because notes why a query goes where it goes.
func (j *job) because(why string) {
	if x := j.query.Decision; x != nil {
		x.Why = why
	}
}

// waited notes that a query has waited until now, apart from the time that a device took.
func (j *job) waited(now time.Time) {
	if x := j.query.Decision; x != nil {
		x.Waited = max(0, now.Sub(j.arrived)-x.OnGPU-x.OnCPU)
	}
}

// worked notes that the CPU has worked for a query since a time.
func (j *job) worked(since, until time.Time) {
	if x := j.query.Decision; x != nil {
		x.OnCPU = until.Sub(since)
	}
}

const noneLeft = "no GPU is left"

// observe notes the load that a query meets, and what leaves no choice.
func (d *Dispatcher) observe(j *job, usable bool) {
	x := j.query.Decision
	if x == nil {
		return
	}
	*x = Decision{Running: int(d.running.Load()), Queued: int(d.queued.Load())}
	if len(d.devices) > 0 {
		x.Missing = d.leastMissing(j)
	}
	switch {
	case j.query.On == OnCPU:
		x.Why = "the search must run on the CPU"
	case len(d.devices) == 0:
		x.Why = "there is no GPU"
	case !usable:
		x.Why = noneLeft
	case j.query.On == OnGPU:
		x.Why = "the search must run on a GPU"
	default:
		if r, ok := d.devices[0].Device.(Refuser); ok {
			if err := r.Refuses(j.query.Plan); err != nil {
				x.Why = "the GPU cannot answer such a search: " + err.Error()
			}
		}
	}
}

// weigh notes the estimates by which Auto decides, and the rule that decided.
func (d *Dispatcher) weigh(j *job, w weighing) {
	x := j.query.Decision
	if x == nil {
		return
	}
	x.CPU, x.CPUWait, x.GPU = w.cpu, w.wait, w.gpu
	switch {
	case w.trial && w.onCPU:
		x.Why = "the CPU had no search for a while and gets this one, to keep its estimates true"
	case w.trial:
		x.Why = "the GPU had no search for a while and gets this one, to keep its estimates true"
	case w.onCPU:
		x.Why = "the CPU is estimated to answer first"
	case w.cpu > w.gpu:
		x.Why = "the GPU is estimated to answer first"
	case w.late:
		x.Why = "the GPU is estimated to answer first, if the search is one of the slowest for its estimate"
	default:
		x.Why = "cores are scarce, and the search would take one for long"
	}
}

// A weighing is what Auto compares.
type weighing struct {
	cpu, wait, gpu time.Duration
	late           bool // on the CPU, in the worst case
	trial, onCPU   bool
}
