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
// batches before it does not count. If one of these is seen later, it is not known what either of them
// took: all the time counts as that of the first one seen.
//
// Mostly the goroutine of the one before waits for a core. But hosts of batches work side by side, so a
// small one can also reach the device before a large one. So one before counts as done, too, only if at
// least half of its estimate has passed.
func (t *timeline) end(b *batch, now time.Time) (took time.Duration, known bool) {
	at, from := t.remove(b), b.began
	if t.since.After(from) {
		from = t.since
	}
	if !b.overtaken {
		took, known = max(0, now.Sub(from)), at == 0
		passed := now.Sub(t.since)
		for _, before := range t.batches[:at] {
			if before.overtaken = before.overtaken || passed >= before.cost/2; !before.overtaken {
				break
			}
			passed -= before.cost
		}
	}
	if now.After(t.since) {
		t.since = now
	}
	return took, known
}

// fail removes a batch that failed. If it was the oldest, the device computes the next from now on; it says
// nothing of those before.
func (t *timeline) fail(b *batch, now time.Time) {
	if t.remove(b) == 0 && now.After(t.since) {
		t.since = now
	}
}

// remove removes a batch. It returns its place.
func (t *timeline) remove(b *batch) (at int) {
	at = slices.Index(t.batches, b)
	t.batches = slices.Delete(t.batches, at, at+1)
	return at
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
