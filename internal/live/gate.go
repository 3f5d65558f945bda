package live

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/store"
)

// A gate counts running calls, so that Close can refuse new ones and wait for the others. Every
// search passes it twice, so it costs one atomic addition each way.
type gate struct {
	_     [64]byte     // puts neighbors, which every search reads, on other cache lines
	state atomic.Int64 // running calls, plus gateShut after shut
	_     [64]byte
	idle  chan struct{} // closed when the gate is shut and no call is inside
	once  sync.Once     // closes idle
}

const gateShut = 1 << 62

// enter announces a call, which ends with leave. It returns false once the gate is shut.
func (g *gate) enter() bool {
	if g.state.Add(1) < gateShut {
		return true
	}
	g.leave()
	return false
}

func (g *gate) leave() {
	if g.state.Add(-1) == gateShut {
		g.once.Do(func() { close(g.idle) })
	}
}

// shut refuses new calls and waits for running ones. It is called once.
func (g *gate) shut() {
	g.enter()
	g.state.Add(gateShut)
	g.leave()
	<-g.idle
}

// Begin announces a call for which Close waits; it ends with End.
func (ix *Index) Begin() error {
	if !ix.calls.enter() {
		return store.ErrClosed
	}
	return nil
}

// End ends a call that Begin has announced.
func (ix *Index) End() { ix.calls.leave() }

// UntilClose returns a context that also ends when the Index is closed.
func (ix *Index) UntilClose(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ix.background, cancel)
	return ctx, func() { stop(); cancel() }
}

// OrClosed returns the error of a call that Close may have interrupted.
func (ix *Index) OrClosed(err error) error {
	if ix.background.Err() != nil && errors.Is(err, context.Canceled) {
		return store.ErrClosed
	}
	return err
}

// apart runs work on a goroutine of its own, which Close interrupts and waits for. It returns when
// the work ends or ctx does, so that the caller does not wait for a disk that hangs. The work then
// ends when it next checks its context.
func (ix *Index) apart(ctx context.Context, work func(context.Context) error) error {
	if err := ix.Begin(); err != nil {
		return err
	}
	defer ix.End()
	ctx, cancel := ix.UntilClose(ctx)
	done := make(chan error, 1)
	ix.work.Go(func() {
		defer cancel()
		done <- work(ctx)
	})
	select {
	case err := <-done:
		return ix.OrClosed(err)
	case <-ctx.Done():
	}
	select {
	case err := <-done: // both have happened
		return ix.OrClosed(err)
	default:
		return ix.OrClosed(ctx.Err())
	}
}
