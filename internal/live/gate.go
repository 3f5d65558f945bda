package live

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/store"
)

// A gate counts the calls that are under way, so that Close can turn new ones away and wait for
// the others. Every search passes it twice, so it costs one atomic addition each way.
type gate struct {
	_     [64]byte     // the neighbours are read by every search, and are on other cache lines
	state atomic.Int64 // calls under way, plus gateShut once Close has come
	_     [64]byte
	idle  chan struct{} // closed when the gate is shut and nobody is inside
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

// shut turns new calls away and waits for those that are under way. It is called once.
func (g *gate) shut() {
	g.enter()
	g.state.Add(gateShut)
	g.leave()
	<-g.idle
}

// Begin announces a call that Close waits for; it ends with End.
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

// OrClosed is the error of a call that Close may have broken off.
func (ix *Index) OrClosed(err error) error {
	if ix.background.Err() != nil && errors.Is(err, context.Canceled) {
		return store.ErrClosed
	}
	return err
}

// apart runs work in a goroutine of its own, which Close breaks off and waits for. It returns when
// the work ends or ctx does, so that the caller does not wait for a disk that hangs; the work then
// ends when it next looks at its context.
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
	case err := <-done: // both have come
		return ix.OrClosed(err)
	default:
		return ix.OrClosed(ctx.Err())
	}
}
