package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riffle-search/riffle/cluster/oplog"
)

// compare returns an error unless the log continues where the replica stands. With deep it reads the
// message that the replica applied last.
func (r *Replica) compare(ctx context.Context, deep bool) error {
	p := r.Position() // before the bounds: the log only grows
	b, err := r.log.Bounds(ctx)
	if err != nil {
		return err
	}
	r.logLast.Store(b.Last)
	diverged := func(format string, args ...any) error {
		if !b.Sure {
			return fmt.Errorf("%w: entry %d of the replica: %s", errUnsure, p.Sequence, fmt.Sprintf(format, args...))
		}
		return &DivergedError{Position: p, Why: fmt.Sprintf(format, args...)}
	}
	switch {
	case p.Sequence > 0 && p.Identity != b.Identity:
		return diverged("it is log %s, not %s", b.Identity, p.Identity)
	case b.Last < p.Sequence:
		return diverged("it ends with entry %d", b.Last)
	case b.First > p.Sequence+1:
		return fmt.Errorf("%w: it begins with entry %d, the replica needs %d", ErrTooFarBehind, b.First, p.Sequence+1)
	case !deep || p.Sequence == 0 || b.First > p.Sequence: // nothing to read, or it has been trimmed
		return nil
	}
	e, err := r.log.Get(ctx, p.Sequence)
	if _, trimmed := errors.AsType[*oplog.GapError](err); trimmed { // meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := oplog.Parse(e.Data); err != nil && !e.Foreign() {
		return diverged("its entry %d is damaged: %v", e.Sequence, err)
	}
	if sum := oplog.Checksum(e.Data); sum != p.Checksum {
		return diverged("the message of its entry %d has checksum %016x, not %016x", e.Sequence, sum, p.Checksum)
	}
	return nil
}

// errUnsure says that the log seems to differ, by a server that has no quorum behind it.
var errUnsure = errors.New("replica: whether the log has changed is not sure")

// sure is how many comparisons in a row must find a difference. A server that was the leader of a
// stream, and does not know yet that another one is, may answer with an old end of the log.
const sure = 4

// untilSure calls compare until it finds no difference, or has found one often enough.
func (r *Replica) untilSure(ctx context.Context, compare func() error) (err error) {
	for range sure {
		if err = compare(); !differs(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(r.checkEvery()):
		}
	}
	return err
}

// differs reports whether the index of a replica must be replaced.
func differs(err error) bool {
	_, diverged := errors.AsType[*DivergedError](err)
	return diverged || errors.Is(err, ErrTooFarBehind)
}

func (r *Replica) checkEvery() time.Duration {
	if r.options.CheckEvery > 0 {
		return r.options.CheckEvery
	}
	return time.Second
}

// watch compares the log with the position until ctx ends, and cancels when they differ. That the log
// does not answer is no reason: its reader decides.
func (r *Replica) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(r.checkEvery())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := r.untilSure(ctx, func() error { return r.compare(ctx, false) }); differs(err) {
			cancel(err)
			return
		}
	}
}
