package dispatch

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Cores are for more than queries: arrivals, clients, batches and all else that the process does need
// them, and they starve when queries take all of them. Go has no priorities. A goroutine that is to
// feed a device waits until one of those that compute has finished, or for 10 ms.
//
// So a core has a price: how long a query may wait elsewhere, for each moment that it would take of a
// core. While cores are idle, it is nothing. When more than a share of them work, it rises, and the
// queries that take most of a core go to devices first. And no more queries compute at a time than the
// other work leaves cores for (gate.resize), with a reserve while devices have much to do: without it p99 of
// gutenberg's queries was ten times as high at three quarters of the load. While they have little to do,
// the reserve makes queries wait for cores that are idle: twice as long as they take, at a quarter.
//
// Go's scheduler says how many cores work at the moment. The time that the process has spent on cores is no
// measure of it: Linux adds that of other threads only when the timer ticks, every 4 ms on many systems, so that
// from one millisecond to the next nearly none of the cores seem to work, or more than there are. And when other
// processes take the cores, it is low although cores are scarce.
//
// Long queries have a price of their own, which rises sooner, and fewer cores. What waits for a core
// waits until a query is done: for some 30 µs behind short ones, for milliseconds behind long ones. With
// the limits of short ones p99 was ten times as high on GOV2's lists.
type priceClock struct {
	short, long atomic.Uint64 // prices, bits of a float64
	moved       atomic.Int64  // when it was last moved, after Dispatcher.start

	mu     sync.Mutex // of the goroutine that moves it
	length float64    // of a query that computes, in nanoseconds, smoothed
	others float64    // cores that others than queries take, smoothed
	done   int64      // queries that the CPU had computed then
	rate   float64    // of queries that it computes, a nanosecond, smoothed

	each atomic.Int64 // time between two of these queries, in nanoseconds
}

const (
	pricePause = time.Millisecond
	priceStep  = 4 // how fast it rises and falls, by the share of the cores that is beyond what is full

	fullShort, fullLong  = 0.85, 0.5 // shares of the cores
	longQuery            = 200 * time.Microsecond
	leastPrice, topPrice = 0.02, 300 // below the least a core costs nothing

	// The reserve of cores for other work, as a share of what it takes, and how fast that is learned.
	reserve   = 0.25
	othersLag = 16 * pricePause
)

// of is what a query's time on a core costs, beside itself.
func (p *priceClock) of(cpu time.Duration) time.Duration {
	price := &p.short
	if cpu >= longQuery {
		price = &p.long
	}
	if times := math.Float64frombits(price.Load()); times > leastPrice {
		return time.Duration(times * float64(max(0, cpu-hostTime)))
	}
	return 0
}

// move moves a price for some share of the cores that work.
func move(price *atomic.Uint64, working, full float64) {
	now := max(leastPrice, math.Float64frombits(price.Load())) * math.Exp(priceStep*(working-full))
	price.Store(math.Float64bits(max(leastPrice, min(topPrice, now))))
}

// price moves the price, at most every pricePause. One of the goroutines that call it does.
func (d *Dispatcher) price(now time.Duration) {
	p := &d.prices
	last := p.moved.Load()
	passed := now - time.Duration(last)
	if passed < pricePause || !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	if !p.moved.CompareAndSwap(last, int64(now)) {
		return
	}
	d.model.calm(passed)
	working := float64(d.working())
	share := min(1, max(0, working-float64(d.rescuing.Load()))/float64(d.options.Cores))
	move(&p.short, share, fullShort)
	move(&p.long, share, fullLong)

	lag := min(1, float64(passed)/float64(othersLag))
	done := d.computed.Load()
	p.rate += (float64(done-p.done)/float64(passed) - p.rate) * lag
	p.done = done
	p.each.Store(int64(min(float64(time.Second), 1/max(p.rate, 1e-9))))

	computing := float64(min(int64(d.gate.computing()), d.running.Load()))
	p.others += (max(0, working-computing) - p.others) * lag
	if running := d.running.Load(); running > 0 {
		p.length += (float64(d.load.Load())/float64(running) - p.length) * lag
	}
	other := p.others
	if p.length >= float64(longQuery) || !d.quiet() {
		other *= 1 + reserve
	}
	cores := int64(float64(d.options.Cores) - other)
	if p.length >= float64(longQuery) {
		cores = min(cores, int64(d.options.Cores/2))
	}
	cores = max(1, min(d.mostCores, cores))
	if cores != d.cores.Load() {
		d.cores.Store(cores)
		d.gate.resize(int(cores), time.Now())
	}
}
