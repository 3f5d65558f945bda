package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riffle-search/riffle"
)

// A trouble is a fault of a disk that lasts for a while.
type trouble interface {
	over() bool // it will not recur
	failed()    // a call has failed meanwhile
}

// endure leads a life through a trouble. Calls may fail while it lasts, with a truthful error.
// Acknowledged changes stay, and others happen as a whole or not at all. When the trouble is over,
// Close and Open in the same process repair everything.
func (v *living) endure(t trouble) error {
	if err := v.reopen(t); err != nil {
		return err
	}
	for i, s := range v.steps {
		v.at.Store(int64(i))
		if err := v.endureStep(t, s); err != nil {
			_ = v.close()
			return when(err, "step %d, %v", i, s)
		}
	}
	if err := v.close(); err != nil && !t.over() {
		return truthful(err)
	}
	return nil
}

// callTime is how long a call with a context may take in a trouble.
const callTime = 5 * time.Second

// endureStep retries a step until it succeeds.
func (v *living) endureStep(t trouble, s step) error {
	for try := 0; ; try++ {
		troubled := !t.over()
		err := v.tryStep(s)
		if err == nil {
			return nil
		}
		if err := truthful(err); err != nil {
			return err
		}
		if !troubled && try > 1 {
			return fmt.Errorf("fails when all is well again: %w", err)
		}
		t.failed()
		if v.e != nil {
			applied := v.promises().applied // nothing of a failed batch
			if err := v.compare(applied, applied); err != nil {
				return err
			}
		}
		// The call itself may succeed the second time; if not, a new Engine must.
		if v.e == nil || try > 0 {
			if err := v.reopen(t); err != nil {
				return err
			}
		}
	}
}

// tryStep tries a step, unless an earlier try has done it.
func (v *living) tryStep(s step) error {
	ctx, cancel := context.WithTimeout(background, callTime)
	defer cancel()
	v.ctx = ctx
	for v.e != nil && v.promises().applied < v.reached { // without durability a failure may lose some
		if err := v.apply(v.promises().applied + 1); err != nil {
			return err
		}
	}
	if s.kind == stepApply {
		if v.promises().applied < s.batch {
			if err := v.apply(s.batch); err != nil {
				return err
			}
		}
		v.reached = s.batch
		return nil
	}
	if s.kind != stepReopen && s.kind != stepSchema && s.kind != stepReadOnly {
		return v.step(s)
	}
	// Steps that close continue where they failed.
	if v.e != nil {
		if err := v.close(); err != nil {
			return err
		}
		if s.kind == stepSchema {
			v.schema = min(v.schema+1, len(schemas)-1)
		}
		if s.kind == stepReadOnly {
			if err := v.read(); err != nil {
				return err
			}
		}
	}
	return v.open()
}

// reopen closes the engine, if there is one, opens another, and checks which state it has. It fails
// only when the trouble is over.
func (v *living) reopen(t trouble) error {
	err := v.close()
	if truth := truthful(err); truth != nil {
		return fmt.Errorf("close: %w", truth)
	}
	for try := 0; ; try++ {
		troubled := !t.over()
		if err = v.open(); err == nil {
			break
		}
		if truth := truthful(err); truth != nil {
			return truth
		}
		if !troubled && try > 0 {
			return fmt.Errorf("open, when all is well again: %w", err)
		}
		t.failed()
	}
	p := v.promises()
	return v.compare(p.least, p.most)
}

// compare checks which state the engine has, as far as reads work. It must be one of first to last.
func (v *living) compare(first, last int) error {
	state, _, err := v.life.state(v.e, first, last)
	switch {
	case err == nil:
		v.promise(func(p *promises) { p.applied = state })
		return nil
	case isMismatch(err):
		return when(err, "batches %d to %d", first, last)
	}
	return truthful(err)
}

// truthful returns an error unless a failing disk may cause err.
func truthful(err error) error {
	switch {
	case err == nil:
		return nil
	case isMismatch(err):
		return err
	case errors.Is(err, riffle.ErrCorrupt), errors.Is(err, riffle.ErrFormat):
		return fmt.Errorf("a failing disk passes for damage: %w", err)
	case errors.Is(err, riffle.ErrLocked):
		return fmt.Errorf("locked by itself: %w", err)
	}
	return nil
}
