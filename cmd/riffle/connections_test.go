package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"
	"time"
)

// TestConnectionsAreBounded: at the bound the connection that has been idle longest makes room, busy ones stay, and
// while all are busy a new client waits until one is not.
func TestConnectionsAreBounded(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const most = 3
	bounded := limitConnections(listener.(*net.TCPListener), most)
	release := make(chan struct{})
	h := &http.Server{ConnState: bounded.state, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-release
		}
	})}
	go h.Serve(bounded)
	defer h.Close()
	dial := func(path string) *bufio.Reader {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
		return bufio.NewReader(conn)
	}
	answered := func(r *bufio.Reader) error {
		answer, err := http.ReadResponse(r, nil)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = errors.New(answer.Status)
		}
		return err
	}
	waitFor := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("never: " + what)
			}
		}
	}
	idle := func() int {
		bounded.mu.Lock()
		defer bounded.mu.Unlock()
		return bounded.idle.Len()
	}
	slow := dial("/slow")
	var first, second *bufio.Reader
	for i, r := range []**bufio.Reader{&first, &second} {
		*r = dial("/")
		if err := answered(*r); err != nil {
			t.Fatal(err)
		}
		waitFor("idle", func() bool { return idle() == i+1 })
	}
	third := dial("/") // takes the place of first
	if err := answered(third); err != nil {
		t.Fatal(err)
	}
	if _, err := first.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection that has been idle longest is open: %v", err)
	}
	busy := []*bufio.Reader{slow, dial("/slow"), dial("/slow")} // the places of second and third
	waitFor("all busy", func() bool { return len(bounded.slots) == most && idle() == 0 })
	late := dial("/")
	waitFor("waiting", func() bool { bounded.mu.Lock(); defer bounded.mu.Unlock(); return bounded.waiting })
	if n := len(bounded.slots); n != most {
		t.Errorf("%d connections are open", n)
	}
	close(release)
	for i, r := range append(busy, late) {
		if err := answered(r); err != nil {
			t.Errorf("busy connection %d: %v", i, err)
		}
	}
}

// TestConnectionsEnd: clients that have connected before the end, and that there was no room for, are answered.
func TestConnectionsEnd(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	bounded := limitConnections(listener.(*net.TCPListener), 1)
	release := make(chan struct{})
	h := &http.Server{ConnState: bounded.state, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		<-release
	})}
	served := make(chan error, 1)
	go func() { served <- h.Serve(bounded) }()
	var all []*bufio.Reader
	for range 20 {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		all = append(all, bufio.NewReader(conn))
	}
	bounded.end()
	if err := <-served; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve: %v", err)
	}
	close(release)
	if err := h.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	for i, r := range all {
		if answer, err := http.ReadResponse(r, nil); err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("client %d: %v %v", i, answer, err)
		}
	}
	if n := len(bounded.slots); n != 0 {
		t.Errorf("%d slots are taken", n)
	}
}

// TestConnectionsClose: a client that waits for a place does not keep the listener from closing, and is not left open.
func TestConnectionsClose(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	bounded := limitConnections(listener.(*net.TCPListener), 1)
	accepted := make(chan error)
	go func() {
		for {
			_, err := bounded.Accept()
			accepted <- err
			if err != nil {
				return
			}
		}
	}()
	for range 2 {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
	if err := bounded.Close(); err != nil {
		t.Error(err)
	}
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v, want %v", err, net.ErrClosed)
	}
}
