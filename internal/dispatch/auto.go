package dispatch

import (
	"math"
	"time"
)

// auto decides whether the CPU computes a query. Three rules:
//
//   - The CPU must be estimated to answer first, both on average and if the query is one of the
//     three in a hundred that exceed their estimates most, on either side (answers.go).
//   - Cores go to the queries that spare devices most: those that take less than a ratio of the
//     device's time on a core. The ratio falls while cores are scarce and rises while they are not.
//     Batches need cores, too, and starve when queries take all of them.
//   - When a side has had none of trialEvery queries, for trialPause, the next one tries it: only
//     queries teach what queries cost.
func (d *Dispatcher) auto(j *job) (onCPU bool) {
	cores, helped := int64(d.gate.always), d.helped(0)
	if j.quiet = d.quiet(); j.quiet {
		cores += int64(d.gate.more)
	}
	wait, now := d.cpuWait(cores), j.arrived.Sub(d.start)
	onGPU, usual := d.gpuTime(j), d.model.known.Load().onDevice(j.quiet)
	gpu, gpuLatest := time.Duration(float64(onGPU)*usual.late), time.Duration(float64(onGPU)*usual.latest)
	d.price(now, 4*wait > gpu)
	own, latest := d.model.response(&j.features, helped)
	late, crowded := wait+latest > gpuLatest, d.running.Load() >= mostWaiting*cores
	first := wait+own <= gpu && !late && !crowded &&
		float64(j.cpu) <= math.Float64frombits(d.ratio.Load())*float64(j.gpu)
	if onCPU = first; first {
		onCPU = !d.gpuTrial.due(now)
	} else {
		onCPU = d.running.Load() < cores && j.cpu < longestTrial && d.cpuTrial.due(now)
	}
	d.weigh(j, weighing{cpu: wait + own, wait: wait, gpu: gpu, late: late, crowded: crowded, trial: onCPU != first, onCPU: onCPU})
	if j.expected = onGPU; onCPU {
		j.expected = wait + own
	}
	return onCPU
}

const (
	// mostWaiting is how many queries a core has at most, while a device could take the next one:
	// their estimates may be far too low.
	mostWaiting = 8

	trialEvery   = 512
	trialPause   = 20 * time.Millisecond
	longestTrial = 20 * time.Millisecond // of an estimate: what a trial costs a core

	// The ratio is moved every pricePause, in proportion to how far the share of the cores that work
	// is from fullCores, or from quietCores while devices have little to do.
	pricePause            = time.Millisecond
	fullCores, quietCores = 0.5, 0.9
	priceStep             = 2
	mostRatio, leastRatio = 10_000, 0.25
)

// helped reports whether other cores would help with a query, beside those that already run: there
// are enough that have nothing to do.
func (d *Dispatcher) helped(those int64) bool {
	return d.quiet() && d.running.Load()-those < int64(d.gate.always+d.gate.more)/4
}

// price moves the ratio of a core's time to a device's. One of the goroutines that call it does.
// Crowded cores, for which queries wait long, count as if all worked.
func (d *Dispatcher) price(now time.Duration, crowded bool) {
	last := d.priced.Load()
	if int64(now)-last < int64(pricePause) || !d.priced.CompareAndSwap(last, int64(now)) {
		return
	}
	d.model.calm(time.Duration(int64(now) - last))
	busy := 0.0
	if d.processTime != nil {
		spent := int64(d.processTime()) - d.rescues.Load()
		busy = float64(spent-d.spent.Swap(spent)) / float64((int64(now)-last)*int64(d.options.Cores))
	}
	if crowded {
		busy = 1
	}
	full := fullCores
	if d.quiet() {
		full = quietCores
	}
	ratio := math.Float64frombits(d.ratio.Load()) * math.Exp(priceStep*(full-max(0, min(busy, 1))))
	d.ratio.Store(math.Float64bits(max(leastRatio, min(mostRatio, ratio))))
}

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
