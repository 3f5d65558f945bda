package dispatch

import (
	"slices"
	"time"
)

// A timeline is the batches that a device has begun, the oldest first. The device computes them one
// after another. What the host does for a batch overlaps with the batch before.
type timeline struct {
	batches []*batch
	since   time.Time // since when the device computes the oldest
}

// begin adds a batch.
func (t *timeline) begin(b *batch, now time.Time) {
	if len(t.batches) == 0 {
		t.since = now
	}
	b.after, b.began = t.left(now), now
	t.batches = append(t.batches, b)
}

// end removes a batch that is done. It returns how long the device took for it: the wait for
// batches before it does not count.
func (t *timeline) end(b *batch, now time.Time) (took time.Duration) {
	from := b.began
	if t.since.After(from) {
		from = t.since
	}
	t.since = now
	t.batches = slices.DeleteFunc(t.batches, func(o *batch) bool { return o == b })
	return now.Sub(from)
}

// left estimates how long the device will take for what it has begun.
func (t *timeline) left(now time.Time) (left time.Duration) {
	for i, b := range t.batches {
		if i == 0 {
			left = max(0, b.cost-now.Sub(t.since))
			continue
		}
		left += b.cost
	}
	return left
}
