package cluster_test

import (
	"bytes"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/call"
	"github.com/riffle-search/riffle/cluster/embedded"
	"github.com/riffle-search/riffle/cluster/heartbeat"
	"github.com/riffle-search/riffle/cluster/node"
	"github.com/riffle-search/riffle/cluster/topology"
)

// until waits until a status is as it should be.
func (w *world) until(what string, good func(*cluster.Status) bool) *cluster.Status {
	w.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		st, err := w.client.Status(deadline(w.t))
		if err != nil {
			w.t.Fatal(err)
		}
		if good(st) {
			return st
		}
		if time.Now().After(end) {
			w.t.Fatalf("%s: %+v", what, st)
		}
	}
}

// TestStatus asks about a cluster before and after a node has stopped.
func TestStatus(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	x := w.create(2)
	var b riffle.Batch
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		b.Put(id, map[string]any{"year": 1})
	}
	if written, err := x.Write(deadline(t), &b); err != nil || written.Err() != nil {
		t.Fatal(err, written.Err())
	}
	st := w.until("all replicas have all entries", func(st *cluster.Status) bool {
		for _, s := range st.Indexes[0].Shards {
			for _, r := range s.Replicas {
				if r.State != string(node.Running) || r.Lag > 0 || r.Bytes == 0 {
					return false
				}
			}
		}
		return true
	})
	if len(st.Nodes) != 3 || len(st.Faults()) != 0 {
		t.Errorf("nodes %+v, faults %q", st.Nodes, st.Faults())
	}
	for _, n := range st.Nodes {
		if !n.Up || !n.Registered || n.Program == "" || n.Messages != 1 || n.Started.IsZero() {
			t.Errorf("%+v", n)
		}
	}
	docs := 0
	for _, s := range st.Indexes[0].Shards {
		if len(s.Replicas) != 2 || s.Replicas[0].Digest != s.Replicas[1].Digest || s.Replicas[0].Docs != s.Replicas[1].Docs {
			t.Errorf("%+v", s)
		}
		if s.Log.First != 1 || s.Log.Last == 0 || s.Log.Bytes == 0 || s.Log.Leader != "test" || s.Log.Error != "" {
			t.Errorf("log %+v", s.Log)
		}
		docs += s.Replicas[0].Docs
	}
	if docs != 6 {
		t.Errorf("%d documents", docs)
	}
	gone := st.Indexes[0].Shards[0].Replicas[1].Node
	w.stop(gone)
	// The others have a second to answer, in which the machine may stand still.
	st = w.until("all others answer", func(st *cluster.Status) bool {
		return !slices.ContainsFunc(st.Nodes, func(n cluster.NodeStatus) bool { return n.Up == (n.Name == gone) })
	})
	if i := slices.IndexFunc(st.Nodes, func(n cluster.NodeStatus) bool { return !n.Up }); len(st.Nodes) != 3 || i < 0 || st.Nodes[i].Name != gone {
		t.Errorf("without %s: %+v", gone, st.Nodes)
	}
	if r := st.Indexes[0].Shards[0].Replicas[1]; r.State != cluster.Silent || r.Lag != st.Indexes[0].Shards[0].Log.Last {
		t.Errorf("%+v", r)
	}
	if f := st.Faults(); len(f) < 2 || f[0] != "node "+gone+" does not answer" {
		t.Errorf("%q", f)
	}
}

// TestNames: a name belongs to a directory, and a directory to a name.
func TestNames(t *testing.T) {
	w := newWorld(t, "a")
	w.stop("a")
	w.start("a")
	w.stop("a")
	conn := w.connect()
	defer conn.Close()
	o := node.Options{Name: "a", Dir: t.TempDir(), Conn: conn}
	if _, err := node.Start(t.Context(), o); !errors.Is(err, topology.ErrNameTaken) {
		t.Errorf("another directory: %v", err)
	}
	o.TakeName = true
	n, err := node.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	n.Close()
	o.Dir, o.TakeName = filepath.Join(w.dir, "a"), false
	if _, err := node.Start(t.Context(), o); !errors.Is(err, topology.ErrNameTaken) {
		t.Errorf("the directory that had the name: %v", err)
	}
	o.Name = "b"
	if _, err := node.Start(t.Context(), o); err == nil {
		t.Error("a directory with another name")
	}
}

// TestStarted: a node that has started answers at once, though its connection is slow.
func TestStarted(t *testing.T) {
	server, err := embedded.Start(embedded.Options{Name: "test", Dir: t.TempDir(), Clients: "127.0.0.1:0", Open: true, MaxBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	slow, err := nats.Connect("nats://"+server.ClientAddress(), nats.SetCustomDialer(slowDialer{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(slow.Close)
	conn, err := server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	n, err := node.Start(t.Context(), node.Options{Name: "a", Dir: t.TempDir(), Conn: slow})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	if heard, err := heartbeat.Ask(deadline(t), conn, []string{"a"}, time.Minute); err != nil || len(heard) != 1 {
		t.Errorf("%v, %v", heard, err)
	}
	if _, err := call.Do(deadline(t), conn, "a", &call.Request{Verb: call.Ping}); err != nil {
		t.Error(err)
	}
}

// A slowDialer makes connections on which the subscriptions of a node take half a second.
type slowDialer struct{}

func (slowDialer) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	return slowConn{c}, err
}

type slowConn struct{ net.Conn }

func (c slowConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("SUB riffle-node.a.")) {
		time.Sleep(500 * time.Millisecond)
	}
	return c.Conn.Write(p)
}
