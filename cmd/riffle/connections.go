package main

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// A connections is a listener with a bounded number of open connections, and one more that waits. At the bound the
// connection that has been idle longest is closed. While all are busy, clients wait in the system's queue. So memory
// does not grow with the number of clients, and clients that keep connections cannot lock others out.
type connections struct {
	*net.TCPListener
	slots  chan struct{} // one for each open connection
	closed chan struct{}
	close  func() error

	mu      sync.Mutex
	idle    list.List // of *connection, the one that has been idle longest first
	waiting bool      // a connection has no slot yet
}

// A connection has a slot until it is closed.
type connection struct {
	*net.TCPConn
	of    *connections
	close func() error
	idle  *list.Element // nil while it is busy; of.mu
}

func limitConnections(l *net.TCPListener, most int) *connections {
	c := &connections{TCPListener: l, slots: make(chan struct{}, most), closed: make(chan struct{})}
	c.close = sync.OnceValue(func() error {
		close(c.closed)
		return l.Close()
	})
	return c
}

// Close stops listening.
func (c *connections) Close() error { return c.close() }

// Accept returns the next connection for which there is room.
func (c *connections) Accept() (net.Conn, error) {
	conn, err := c.AcceptTCP()
	if err != nil {
		return nil, err
	}
	select {
	case c.slots <- struct{}{}:
	default:
		c.want(true)
		c.closeIdle()
		select {
		case c.slots <- struct{}{}:
		case <-c.closed:
			conn.Close()
			return nil, net.ErrClosed
		}
		c.want(false)
	}
	n := &connection{TCPConn: conn, of: c}
	n.close = sync.OnceValue(func() error {
		c.busy(n)
		<-c.slots
		return conn.Close()
	})
	return n, nil
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
