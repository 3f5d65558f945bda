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
	Device     time.Duration // that devices were at work on them

	OnGPU  int64 // queries that devices have answered alone
	OnBoth int64 // queries that the CPU has completed
	OnCPU  int64 // queries that the CPU has answered alone
	ToCPU  int64 // queries that a policy gave to the CPU

	TurnedAway    int64 // to the CPU, since the queue was full
	Withdrawn     int64 // callers that did not wait for their answer
	FailedBatches int64
	FailedOver    int64 // queries of failed batches, which the CPU answered
	LostDevices   int64

	Queued  int // queries that wait at the moment
	Running int // queries that the CPU computes at the moment

	meanBatch time.Duration // of the last few
}

// Stats returns current figures.
func (d *Dispatcher) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.stats
	s.Queued, s.Running = d.queue.len()+len(d.waiting), d.running
	return s
}

func (s *Stats) batch(b *batch, moved int64, took time.Duration) {
	s.Batches++
	s.Queries += int64(len(b.jobs))
	s.MovedBytes += moved
	s.Device += took
	s.meanBatch += (took - s.meanBatch) / 8
}

// answered counts what a device has answered whole; Dispatcher.end does so for the others.
func (s *Stats) answered(p *blockmax.Partial) {
	if len(p.Open) == 0 {
		s.OnGPU++
	}
}
