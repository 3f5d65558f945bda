package dispatch

import (
	"time"

	"github.com/riffle-search/riffle/blockmax"
)

// Stats are figures since a Dispatcher was made.
type Stats struct {
	Batches    int64         // that devices have answered
	Queries    int64         // in them
	MovedBytes int64         // that they brought to devices
	Device     time.Duration // time that devices worked on them

	OnGPU  int64 // queries answered by devices alone
	OnBoth int64 // queries completed by the CPU
	OnCPU  int64 // queries answered by the CPU alone
	ToCPU  int64 // queries that a policy gave to the CPU

	// Queries that devices cannot answer, which the CPU answered alone: their plans are of a form or a
	// size that devices refuse, or all their segments are small. Sorts, aggregations and what else is
	// meant for the CPU do not count, and with policy Processors only queries that demand a device do.
	Refused int64

	TurnedAway    int64 // queries for the CPU because the queue was full
	Withdrawn     int64 // queries whose callers stopped waiting
	FailedBatches int64
	FailedOver    int64 // queries of failed batches, which the CPU answered
	LostDevices   int64

	Queued  int // queries waiting now
	Running int // queries that the CPU computes now
}

// Stats returns current figures.
func (d *Dispatcher) Stats() Stats {
	d.lock()
	defer d.unlock()
	s := d.stats
	s.OnCPU, s.OnBoth, s.ToCPU, s.TurnedAway = d.computed.Load(), d.completed.Load(), d.given.Load(), d.turnedAway.Load()
	s.Refused = d.refusals.Load()
	s.Queued, s.Running = d.queue.len()+len(d.waiting), int(d.running.Load()+d.apart.Load())
	return s
}

// Lost returns why a device gets no further batch, or nil: it is lost, or has failed too often.
func (d *Dispatcher) Lost(device int) error {
	d.lock()
	defer d.unlock()
	return d.devices[device].why
}

func (s *Stats) batch(b *batch, moved int64, took time.Duration) {
	s.Batches++
	s.Queries += int64(len(b.jobs))
	s.MovedBytes += moved
	s.Device += took
}

// answered counts a complete answer of a device; Dispatcher.end counts the others.
func (s *Stats) answered(p *blockmax.Partial) {
	if len(p.Open) == 0 {
		s.OnGPU++
	}
}
