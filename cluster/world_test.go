package cluster_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/embedded"
	"github.com/riffle-search/riffle/cluster/jetlog"
	"github.com/riffle-search/riffle/cluster/node"
	"github.com/riffle-search/riffle/cluster/scatter/scattertest"
)

// A world is a server of NATS, nodes and a client in this process.
type world struct {
	t      *testing.T
	server *embedded.Server
	dir    string
	nodes  map[string]*node.Node
	conns  map[string]*nats.Conn
	client *cluster.Client
	js     jetstream.JetStream

	configure func(*node.Options) // of nodes that start; may be nil
}

func newWorld(t *testing.T, nodes ...string) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), nodes: map[string]*node.Node{}, conns: map[string]*nats.Conn{}}
	var err error
	w.server, err = embedded.Start(embedded.Options{Name: "test", Dir: filepath.Join(w.dir, "nats"), MaxBytes: 64 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.server.Close)
	for _, name := range nodes {
		w.start(name)
	}
	t.Cleanup(func() {
		for name := range w.nodes {
			w.stop(name)
		}
	})
	conn := w.connect()
	t.Cleanup(conn.Close)
	if w.client, err = cluster.Connect(t.Context(), conn, &cluster.Options{FollowEvery: 50 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.client.Close(); err != nil {
			t.Error(err)
		}
	})
	if w.js, err = jetstream.New(conn); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) connect() *nats.Conn {
	w.t.Helper()
	c, err := w.server.Connect()
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) start(name string) {
	w.t.Helper()
	w.conns[name] = w.connect()
	o := node.Options{
		Name: name, Dir: filepath.Join(w.dir, name), Conn: w.conns[name], RetryAfter: 20 * time.Millisecond, BeatEvery: 50 * time.Millisecond, CheckEvery: 100 * time.Millisecond,
		LeaveAfter: 50 * time.Millisecond, Engine: riffle.Options{Durability: riffle.SyncNone},
	}
	if w.configure != nil {
		w.configure(&o)
	}
	n, err := node.Start(w.t.Context(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.nodes[name] = n
}

func (w *world) stop(name string) {
	w.t.Helper()
	w.nodes[name].Close()
	w.conns[name].Close()
	delete(w.nodes, name)
	delete(w.conns, name)
}

// create creates an index with two replicas of each shard on the nodes a, b and c.
func (w *world) create(shards int) *cluster.Index {
	w.t.Helper()
	err := w.client.Create(w.t.Context(), cluster.IndexOptions{
		Name: "books", Shards: shards, Replicas: 2, Nodes: []string{"a", "b", "c"}, Schema: scattertest.Schema, LogBytes: 64 << 20,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	x, err := w.client.Index(w.t.Context(), "books")
	if err != nil {
		w.t.Fatal(err)
	}
	return x
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// report logs where replicas and logs are.
func (w *world) report(token cluster.Token) {
	w.t.Logf("token %v", token.Sequences)
	for i := range token.Sequences {
		log, err := jetlog.Open(w.t.Context(), w.js, w.config("books", i))
		if err != nil {
			w.t.Log(err)
			continue
		}
		b, err := log.Bounds(w.t.Context())
		w.t.Logf("log %d: %d to %d, %v", i, b.First, b.Last, err)
	}
	for name, n := range w.nodes {
		for _, s := range n.Status() {
			w.t.Logf("node %s, shard %d: %s at %d, %v", name, s.Shard, s.State, s.Position.Sequence, s.Err)
		}
	}
}

// running waits until all replicas of a node run.
func (w *world) running(name string) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		all := w.nodes[name].Status()
		if len(all) > 0 && !slices.ContainsFunc(all, func(s node.Status) bool { return s.State != node.Running }) {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("node %s: %+v", name, all)
		}
	}
}

// equalDigests waits until all replicas have applied what a token stands for, and compares them.
func (w *world) equalDigests(shards int, token cluster.Token) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		of := make([][]node.Status, shards)
		behind := false
		for _, n := range w.nodes {
			for _, s := range n.Status() {
				of[s.Shard] = append(of[s.Shard], s)
				behind = behind || s.State != node.Running || s.Position.Sequence < token.Sequences[s.Shard]
			}
		}
		for i := range of {
			behind = behind || len(of[i]) != 2 || of[i][0].Position.Sequence != of[i][1].Position.Sequence
		}
		if behind {
			if time.Now().After(end) {
				w.t.Fatalf("replicas stay behind: %+v", of)
			}
			continue
		}
		for i := range of {
			if of[i][0].Position != of[i][1].Position || of[i][0].Refused+of[i][1].Refused > 0 {
				w.t.Errorf("replicas of shard %d: %+v", i, of[i])
			}
		}
		return
	}
}
