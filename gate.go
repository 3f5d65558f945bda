package riffle

import (
	"sync"
	"sync/atomic"
)

// A gate counts the calls that are under way, so that Close can turn new ones away and wait for
// the others. Every search passes it twice, so it costs one atomic addition each way.
type gate struct {
	state atomic.Int64  // calls under way, plus gateShut once Close has come
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
