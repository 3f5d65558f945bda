package riffle

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
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

// begin announces a call that Close waits for; it ends with e.calls.leave.
func (e *Engine) begin() error {
	if !e.calls.enter() {
		return ErrClosed
	}
	return nil
}

// untilClose returns a context that also ends when the Engine is closed.
func (e *Engine) untilClose(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(e.background, cancel)
	return ctx, func() { stop(); cancel() }
}

// orClosed is the error of a call that Close may have broken off.
func (e *Engine) orClosed(err error) error {
	if e.background.Err() != nil && errors.Is(err, context.Canceled) {
		return ErrClosed
	}
	return err
}

// apart runs work in a goroutine of its own, which Close breaks off and waits for. It returns when
// the work ends or ctx does, so that the caller does not wait for a disk that hangs; the work then
// ends when it next looks at its context.
func (e *Engine) apart(ctx context.Context, work func(context.Context) error) error {
	if err := e.begin(); err != nil {
		return err
	}
	defer e.calls.leave()
	ctx, cancel := e.untilClose(ctx)
	done := make(chan error, 1)
	e.work.Go(func() {
		defer cancel()
		done <- work(ctx)
	})
	select {
	case err := <-done:
		return e.orClosed(err)
	case <-ctx.Done():
	}
	select {
	case err := <-done: // both have come
		return e.orClosed(err)
	default:
		return e.orClosed(ctx.Err())
	}
}
