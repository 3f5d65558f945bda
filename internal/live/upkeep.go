package live

import "time"

// kickMerge wakes the merger.
func (ix *Index) kickMerge() {
	select {
	case ix.mergeKick <- struct{}{}:
	default:
	}
}

// mergeLoop does the background work until the Index is closed.
func (ix *Index) mergeLoop() {
	timer := time.NewTimer(mostPause)
	defer timer.Stop()
	for {
		select {
		case <-ix.background.Done():
			return
		case <-ix.mergeKick:
		case <-timer.C:
		}
		timer.Stop()
		if next := ix.upkeep(); !next.IsZero() {
			timer.Reset(max(time.Millisecond, next.Sub(ix.now())))
		}
	}
}

// upkeep does the background work that is due. It returns when the next attempt at failed work is
// due, or the zero time.
func (ix *Index) upkeep() (next time.Time) {
	later := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	later(ix.retrySeal())
	later(ix.paced(&ix.adoptPause, ix.adopt))
	later(ix.paced(&ix.dropPause, ix.dropUnused))
	if ix.opts.Merge.Disabled {
		return next
	}
	for ix.mergeNext() {
		later(ix.paced(&ix.dropPause, ix.dropUnused))
	}
	later(ix.nextMerge())
	return next
}

// paced does some work unless it has just failed, and notifies the Listener of a failure. It
// returns when to retry, or the zero time.
func (ix *Index) paced(b *backoff, work func() error) time.Time {
	if !b.due(ix.now()) {
		return b.next
	}
	err := work()
	if err == nil || ix.background.Err() != nil {
		b.reset()
		return time.Time{}
	}
	b.fail(ix.now())
	ix.opts.failed(err)
	return b.next
}
