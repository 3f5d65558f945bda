package main

import (
	"container/list"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// A connections is a listener with a bounded number of open connections, and one more that waits. At the bound the
// connection that has been idle longest is closed. While all are busy, clients wait in the system's queue. So memory
// does not grow with the number of clients, and clients that keep connections cannot lock others out.
type connections struct {
	*net.TCPListener
	slots  chan struct{} // one for each open connection
	ends   chan struct{} // closed by end
	closed chan struct{}
	close  func() error

	mu      sync.Mutex
	idle    list.List // of *connection, the one that has been idle longest first
	waiting bool      // a connection has no slot yet
	endBy   time.Time // see end
}

// A connection has a slot until it is closed, unless it was accepted in the end.
type connection struct {
	*net.TCPConn
	of    *connections
	close func() error
	idle  *list.Element // nil while it is busy; of.mu
}

func limitConnections(l *net.TCPListener, most int) *connections {
	c := &connections{TCPListener: l, slots: make(chan struct{}, most), ends: make(chan struct{}), closed: make(chan struct{})}
	c.close = sync.OnceValue(func() error {
		close(c.closed)
		return l.Close()
	})
	return c
}

// Close stops listening.
func (c *connections) Close() error { return c.close() }

const (
	queueEmpty = 50 * time.Millisecond // without a connection: then none waits in the system's queue
	endWithin  = time.Second           // also if clients go on connecting
)

// end makes Accept return all connections that wait in the system's queue, beyond the bound, too, and then net.ErrClosed.
// Closing the listener alone would reset them, although their clients may have sent requests.
func (c *connections) end() {
	c.mu.Lock()
	c.endBy = time.Now().Add(endWithin)
	c.mu.Unlock()
	close(c.ends)
	c.endSoon()
}

// endSoon sets for how long Accept waits, if the end has come.
func (c *connections) endSoon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.endBy.IsZero() {
		return
	}
	by := time.Now().Add(queueEmpty)
	if by.After(c.endBy) {
		by = c.endBy
	}
	c.SetDeadline(by)
}

// Accept returns the next connection for which there is room.
func (c *connections) Accept() (net.Conn, error) {
	conn, err := c.AcceptTCP()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, net.ErrClosed
	}
	if err != nil {
		return nil, err
	}
	c.endSoon()
	n := &connection{TCPConn: conn, of: c}
	slot, err := c.slot()
	if err != nil {
		conn.Close()
		return nil, err
	}
	n.close = sync.OnceValue(func() error {
		c.busy(n)
		if slot {
			<-c.slots
		}
		return conn.Close()
	})
	return n, nil
}

// slot waits for a slot, which there is unless the end has come.
func (c *connections) slot() (ok bool, err error) {
	select {
	case c.slots <- struct{}{}:
		return true, nil
	default:
	}
	c.want(true)
	defer c.want(false)
	c.closeIdle()
	select {
	case c.slots <- struct{}{}:
		return true, nil
	case <-c.ends:
		return false, nil
	case <-c.closed:
		return false, net.ErrClosed
	}
}

// Close gives the slot back.
func (n *connection) Close() error { return n.close() }

// want notes whether a connection waits for a slot.
func (c *connections) want(slot bool) {
	c.mu.Lock()
	c.waiting = slot
	c.mu.Unlock()
}

// closeIdle closes the connection that has been idle longest if one waits for its slot.
func (c *connections) closeIdle() {
	c.mu.Lock()
	var oldest *connection
	if first := c.idle.Front(); first != nil && c.waiting {
		oldest, c.waiting = first.Value.(*connection), false
	}
	c.mu.Unlock()
	if oldest != nil {
		oldest.Close()
	}
}

// busy takes a connection from the idle ones.
func (c *connections) busy(n *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.idle != nil {
		c.idle.Remove(n.idle)
		n.idle = nil
	}
}

// state is called by http.Server when a connection becomes busy or idle.
func (c *connections) state(conn net.Conn, s http.ConnState) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	n := conn.(*connection)
	if s != http.StateIdle {
		c.busy(n)
		return
	}
	c.mu.Lock()
	if n.idle == nil {
		n.idle = c.idle.PushBack(n)
	}
	c.mu.Unlock()
	c.closeIdle()
}
