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
	if !slices.ContainsFunc(t.batches, func(o *batch) bool { return !o.overtaken }) {
		t.since = now
	}
	b.after, b.began = t.left(now), now
	t.batches = append(t.batches, b)
}

// end removes a batch that was seen to be done. It returns how long the device took for it: the wait for
// batches before it does not count. If one of these is seen later, because its goroutine waited for a
// core, it is not known what either of them took: all the time counts as that of the first one seen.
func (t *timeline) end(b *batch, now time.Time) (took time.Duration, known bool) {
	at := slices.Index(t.batches, b)
	t.batches = slices.Delete(t.batches, at, at+1)
	if b.overtaken {
		return 0, false
	}
	for _, before := range t.batches[:at] {
		before.overtaken = true
	}
	from := b.began
	if t.since.After(from) {
		from = t.since
	}
	if now.After(t.since) {
		t.since = now
	}
	return max(0, now.Sub(from)), at == 0
}

// left estimates how long the device will take for what it has begun.
func (t *timeline) left(now time.Time) (left time.Duration) {
	first := true
	for _, b := range t.batches {
		switch {
		case b.overtaken:
		case first:
			left, first = max(0, b.cost-now.Sub(t.since)), false
		default:
			left += b.cost
		}
	}
	return left
}
