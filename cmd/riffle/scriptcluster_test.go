package main

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/nats-io/nats.go"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/embedded"
	"github.com/riffle-search/riffle/cluster/node"
)

// A scriptCluster is a cluster in the process of a script.
type scriptCluster struct {
	dir    string
	url    string
	server *embedded.Server
	client *cluster.Client
	up     map[string]func() // closes a node
}

// startCluster starts a server of NATS and a client.
func startCluster(t *testing.T) *scriptCluster {
	t.Helper()
	w := &scriptCluster{dir: t.TempDir(), up: map[string]func(){}}
	var err error
	w.server, err = embedded.Start(embedded.Options{Name: "test", Dir: filepath.Join(w.dir, "nats"), Clients: "127.0.0.1:0", Open: true, MaxBytes: 16 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.server.Close)
	w.url = "nats://" + w.server.ClientAddress()
	conn := w.connect(t)
	t.Cleanup(conn.Close)
	if w.client, err = cluster.Connect(t.Context(), conn, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, stop := range w.up {
			stop()
		}
		w.client.Close()
	})
	return w
}

func (w *scriptCluster) connect(t *testing.T) *nats.Conn {
	t.Helper()
	c, err := w.server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// nodes starts the nodes named, and stops all others.
func (w *scriptCluster) nodes(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var up []string
	d.ScanArgs(t, "up", &up)
	stay := map[string]bool{}
	for _, name := range up {
		stay[name] = true
		if w.up[name] != nil {
			continue
		}
		conn := w.connect(t)
		n, err := node.Start(t.Context(), node.Options{
			Name: name, Dir: filepath.Join(w.dir, name), Conn: conn, BeatEvery: 50 * time.Millisecond, LeaveAfter: 50 * time.Millisecond,
			RetryAfter: 50 * time.Millisecond, Engine: riffle.Options{Durability: riffle.SyncNone},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.up[name] = func() { n.Close(); conn.Close() }
	}
	for name, stop := range w.up {
		if !stay[name] {
			stop()
			delete(w.up, name)
		}
	}
	return ""
}

// fill creates an index with two replicas of each shard, and documents whose field n counts from 0.
func (w *scriptCluster) fill(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	o := cluster.IndexOptions{Replicas: 2, LogBytes: 64 << 20}
	var docs int
	d.ScanArgs(t, "index", &o.Name)
	d.ScanArgs(t, "shards", &o.Shards)
	d.ScanArgs(t, "docs", &docs)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.client.Create(ctx, o); err != nil {
		t.Fatal(err)
	}
	x, err := w.client.Index(ctx, o.Name)
	if err != nil {
		t.Fatal(err)
	}
	var b riffle.Batch
	for n := range docs {
		b.Put(fmt.Sprint("d", n), map[string]any{"n": n, "text": "call me ishmael"})
	}
	written, err := x.Write(ctx, &b)
	if err == nil {
		err = written.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	w.settle(ctx, t, o.Name)
	return ""
}

// settle waits until all replicas of an index have applied all entries. One replica is enough for a write
// to be acknowledged, while another one may still be opening.
func (w *scriptCluster) settle(ctx context.Context, t *testing.T, index string) {
	t.Helper()
	for {
		s, err := w.client.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		busy := false
		for _, x := range s.Indexes {
			for _, shard := range x.Shards {
				for _, r := range shard.Replicas {
					busy = busy || x.Name == index && (r.State != string(node.Running) || r.Sequence < shard.Log.Last)
				}
			}
		}
		if !busy {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
