package dispatch

import "time"

// auto decides whether the CPU computes a query. Three rules:
//
//   - The CPU must be estimated to answer first, both on average and if the query is one of the
//     three in two hundred that exceed their estimates most, on either side (answers.go).
//   - A core's time has a price (price.go), which counts as if the CPU answered later.
//   - When a side has had none of trialEvery queries, for trialPause, the next one tries it: only
//     queries teach what queries cost.
func (d *Dispatcher) auto(j *job) (onCPU bool) {
	cores, helped := d.cores.Load(), d.helped(0)
	if j.quiet = d.quiet(); j.quiet {
		cores = d.mostCores
	}
	now := j.arrived.Sub(d.start)
	d.price(now)
	known := d.model.known.Load()
	onGPU, usual := d.gpuTime(j), known.onDevice(j.quiet)
	gpu, gpuLatest := usual.of(onGPU)
	own, latest := d.model.response(&j.features, helped)
	wait := d.cpuWait(cores)
	cpu := time.Duration(float64(wait+own) * known.cpuLate)
	cpuLatest := time.Duration(float64(wait+latest) * known.cpuLate)
	price := d.prices.of(j.cpu)
	late := cpuLatest+price > gpuLatest
	first := cpu+price <= gpu && !late
	if onCPU = first; first {
		onCPU = !d.gpuTrial.due(now)
	} else {
		onCPU = d.running.Load() < cores && j.cpu < longestTrial && d.cpuTrial.due(now)
	}
	d.weigh(j, weighing{cpu: cpu, wait: wait, gpu: gpu, late: late, trial: onCPU != first, onCPU: onCPU})
	if j.expected = onGPU; onCPU {
		j.expected = wait + own
	}
	return onCPU
}

const (
	// hostTime is what a query costs cores that a device answers: in a batch, and for two wake-ups more.
	hostTime = 3 * time.Microsecond

	trialEvery   = 512
	trialPause   = 20 * time.Millisecond
	longestTrial = 20 * time.Millisecond // of an estimate: what a trial costs a core
)

// helped reports whether other cores would help with a query, beside those that already run: there
// are enough that have nothing to do.
func (d *Dispatcher) helped(those int64) bool {
	return d.quiet() && d.running.Load()-those < d.mostCores/4
}

// cpuWait is how long a query waits for a core: until those are done that already wait for one. It is
// estimated by what these cost, and by how often a query has been done lately, since costs may be
// estimated far too low.
func (d *Dispatcher) cpuWait(cores int64) time.Duration {
	running := d.running.Load()
	if running < cores {
		return 0
	}
	before := running + 1 - cores
	wait := time.Duration(float64(before) / float64(running) * float64(d.load.Load()) / float64(cores))
	if before > cores {
		wait = max(wait, time.Duration(before*d.prices.each.Load()))
	}
	return wait
}

// gpuTime is how long a query takes on a device. It waits for the batches that the first free
// device has begun, and for those of the queries ahead of it that do not fit in its batch.
func (d *Dispatcher) gpuTime(j *job) time.Duration {
	wait := max(0, d.start.Add(time.Duration(d.free.Load())).Sub(j.arrived))
	queued, most := int(d.queued.Load()), d.options.MaxCount
	own := d.model.BatchCost(&j.features, min(queued, most-1)+1)
	others := time.Duration(queued/most) * d.model.BatchCost(&j.features, most)
	return wait + own + (time.Duration(d.gpu.Load())+others)/time.Duration(max(1, len(d.devices))) + j.gpu
}
