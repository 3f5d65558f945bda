package dispatch

import (
	"sync/atomic"
	"time"
)

// dues sums up what waiting queries cost a device, by when they are due. Any goroutine reads it
// without a lock.
type dues struct {
	start time.Time
	on    atomic.Bool            // there was a query with a deadline: others are not counted before
	cost  [dueSlots]atomic.Int64 // of the queries due in each slot, a ring
}

// A query due later than all slots counts in the last.
const (
	dueSlot  = time.Millisecond
	dueSlots = 1024
)

// slot is where a deadline counts, seen from now.
func (d *dues) slot(due, now time.Time) int64 {
	first := int64(now.Sub(d.start) / dueSlot)
	return min(max(first, int64(due.Sub(d.start)/dueSlot)), first+dueSlots-1)
}

func (d *dues) add(slot int64, cost time.Duration) { d.cost[slot%dueSlots].Add(int64(cost)) }

// before is the cost of all queries that are due no later.
func (d *dues) before(due, now time.Time) (sum time.Duration) {
	for slot, last := int64(now.Sub(d.start)/dueSlot), d.slot(due, now); slot <= last; slot++ {
		sum += time.Duration(d.cost[slot%dueSlots].Load())
	}
	return sum
}
