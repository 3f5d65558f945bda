package dispatch

import (
	"math"
	"time"
)

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
	cores, helped := int64(cap(d.cores)), false
	if d.quiet() {
		cores += int64(cap(d.spare))
		helped = d.running.Load() < cores/4
	}
	wait, gpu, now := d.cpuWait(cores), d.gpuTime(j), j.arrived.Sub(d.start)
	onCPU = wait+d.model.slowest(&j.features, helped) <= gpu && d.running.Load() < mostWaiting*cores
	if onCPU {
		onCPU = float64(j.cpu) <= math.Float64frombits(d.ratio.Load())*float64(j.gpu)
		d.adjust(4*wait < gpu)
	}
	if onCPU {
		return !d.gpuTrial.due(now)
	}
	return d.running.Load() < cores && j.cpu < longestTrial && d.cpuTrial.due(now)
}

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

// cpuWait is how long a query waits for a core: until those are done that already wait for one.
func (d *Dispatcher) cpuWait(cores int64) time.Duration {
	running := d.running.Load()
	if running < cores {
		return 0
	}
	waiting := float64(running+1-cores) / float64(running)
	return time.Duration(waiting * float64(d.load.Load()) / float64(cores))
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
