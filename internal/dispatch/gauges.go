package dispatch

import (
	"sync/atomic"
	"time"
)

// Gauges are what Auto reads without a lock. Hundreds of goroutines that waited for one mutex would
// keep those from running that feed the devices.
type gauges struct {
	// Written with Dispatcher.mu held (gauge).
	usable atomic.Bool  // a device can take queries
	queued atomic.Int64 // queries that wait for devices
	gpu    atomic.Int64 // their estimated cost there, in nanoseconds
	begun  atomic.Int64 // queries in batches under way
	free   atomic.Int64 // when the first device will be done with its batches, after Dispatcher.start

	slower atomic.Uint64 // bits of a float64: how many times as long as estimated batches take, of late

	running atomic.Int64 // queries that the CPU computes, or is about to
	load    atomic.Int64 // their estimated cost, in nanoseconds

	// Queries of the CPU that those two do not count, because others go before them: rescued ones, and late ones that wait until nobody else does.
	apart atomic.Int64

	computed, completed, given, turnedAway, refusals atomic.Int64 // of Stats

	cores atomic.Int64 // that all queries may have: gate.always

	// Of Auto (price.go).
	prices             priceClock
	rescuing           atomic.Int64 // rescued queries that the CPU computes
	gpuTrial, cpuTrial trialClock
}

// gauge sets the gauges that Dispatcher.mu guards.
func (d *Dispatcher) gauge(now time.Time) {
	d.usable.Store(d.alive > 0 && !d.closed)
	d.queued.Store(int64(d.queue.len()))
	d.gpu.Store(int64(d.queue.gpu))
	begun := 0
	for _, dev := range d.devices {
		for _, b := range dev.line.batches {
			begun += len(b.jobs)
		}
	}
	d.begun.Store(int64(begun))
	_, left := d.firstFree(now)
	d.free.Store(int64(now.Add(left).Sub(d.start)))
}

// quiet reports whether devices have so little to do that feeding them takes no core.
func (d *Dispatcher) quiet() bool { return d.queued.Load()+d.begun.Load() < quietQueries }

const quietQueries = 16

// take counts a query that the CPU will compute.
func (d *Dispatcher) take(j *job) {
	j.granted = true
	d.count(j, 1)
}

// leave counts it no longer: it has been computed, or its caller has given up.
func (d *Dispatcher) leave(j *job) {
	d.count(j, -1)
}

// count adds queries like j, of which n may be negative, to those that the CPU has, or to those apart.
func (g *gauges) count(j *job, n int64) {
	if j.rescued {
		g.apart.Add(n)
		return
	}
	g.running.Add(n)
	g.load.Add(n * int64(j.cpu))
}

// setAside moves a query to those apart, or back.
func (g *gauges) setAside(j *job, aside bool) {
	if g == nil || j.rescued {
		return
	}
	n := int64(1)
	if !aside {
		n = -1
	}
	g.count(j, -n)
	g.apart.Add(n)
}

// A trialClock says when a side is to be tried that the policy has not chosen for a while.
type trialClock struct {
	queries atomic.Int64 // since the side was last used
	used    atomic.Int64 // when, after Dispatcher.start
}

// due counts a query that goes to the other side, and reports whether it should not.
func (c *trialClock) due(now time.Duration) bool {
	if c.queries.Add(1) < trialEvery || now-time.Duration(c.used.Load()) < trialPause {
		return false
	}
	c.use(now)
	return true
}

func (c *trialClock) use(now time.Duration) {
	c.queries.Store(0)
	c.used.Store(int64(now))
}
