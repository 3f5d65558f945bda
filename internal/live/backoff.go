package live

import "time"

// A backoff spaces the attempts at background work that keeps failing. The first pause is a second,
// and each failure doubles it up to ten minutes; success resets it. Without pauses a full disk
// would cost a core, and a damaged segment would be read again and again.
type backoff struct {
	tries int       // failures in a row
	next  time.Time // no attempt before then
}

const (
	leastPause = time.Second
	mostPause  = 10 * time.Minute
)

func (b *backoff) fail(now time.Time) {
	pause := mostPause
	if b.tries < 16 {
		pause = min(mostPause, leastPause<<b.tries)
	}
	b.tries++
	b.next = now.Add(pause)
}

func (b *backoff) reset() { *b = backoff{} }

func (b *backoff) due(now time.Time) bool { return !now.Before(b.next) }

// now returns the time that paces background work.
func (ix *Index) now() time.Time {
	if ix.opts.Now != nil {
		return ix.opts.Now()
	}
	return time.Now()
}
