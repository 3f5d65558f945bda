package cluster_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/node"
	"github.com/riffle-search/riffle/cluster/scatter"
	"github.com/riffle-search/riffle/cluster/topology"
)

// nodesOf returns the nodes that have replicas of shard 0 of books.
func (w *world) nodesOf() []string {
	w.t.Helper()
	st, err := w.client.Status(deadline(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, r := range st.Indexes[0].Shards[0].Replicas {
		names = append(names, r.Node)
	}
	slices.Sort(names)
	return names
}

// TestMove moves a replica back and forth while a writer changes documents and reads them with tokens: no
// read fails, and none misses a change. The new replica comes from a copy, since the log is trimmed.
func TestMove(t *testing.T) {
	w := newWorld(t)
	w.configure = func(o *node.Options) { o.Server.LeaseFor = 200 * time.Millisecond }
	for _, name := range []string{"a", "b", "c"} {
		w.start(name)
	}
	x := w.createOn("a", "b")
	w.put(x, 0, 20)
	w.equal(2)
	w.trim(20)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for n := 20; ctx.Err() == nil; n++ {
			token := w.put(x, n, n+1)
			r, err := x.Search(deadline(t), riffle.All{}, &cluster.SearchOptions{Token: token, Options: scatter.Options{SearchOptions: riffle.SearchOptions{ExactTotal: true}}})
			if err != nil || r.Total != n+1 {
				t.Errorf("%d documents: %+v, %v", n+1, r, err)
				return
			}
		}
	})
	for range 2 {
		for _, s := range [][2]string{{"a", "c"}, {"b", "a"}, {"c", "b"}} {
			if err := w.client.Move(deadline(t), "books", 0, s[0], s[1]); err != nil {
				t.Fatal(err)
			}
			if err := w.client.Move(deadline(t), "books", 0, s[0], s[1]); err != nil {
				t.Errorf("a second time: %v", err)
			}
			if names := w.nodesOf(); slices.Contains(names, s[0]) || len(names) != 2 || len(w.folders(s[0], "0*")) != 0 {
				t.Errorf("after %v: %q, files %q", s, names, w.folders(s[0], "0*"))
			}
		}
	}
	stop()
	running.Wait()
	w.equal(2)
	if err := w.client.Move(deadline(t), "books", 0, "c", "d"); err == nil {
		t.Error("moved from where it is not")
	}
	if err := w.client.Move(deadline(t), "books", 0, "a", "d"); !errors.Is(err, topology.ErrNoNode) {
		t.Errorf("moved to a node that nobody knows: %v", err)
	}
	if err := w.client.Move(deadline(t), "books", 1, "a", "b"); err == nil {
		t.Error("moved a shard that is not there")
	}
}

// untilJoins runs a call until the map says that a node that is away joins shard 0 of books, ends its context then, and
// returns its error.
func (w *world) untilJoins(name string, call func(context.Context) error) error {
	w.t.Helper()
	ctx, cancel := context.WithCancel(deadline(w.t))
	done := make(chan error, 1)
	go func() { done <- call(ctx) }()
	w.until(name+" joins", func(st *cluster.Status) bool {
		return slices.ContainsFunc(st.Indexes[0].Shards[0].Replicas, func(r cluster.ReplicaStatus) bool { return r.Node == name && r.Joining })
	})
	cancel()
	return <-done
}

// TestMoveInterrupted calls moves off, kills the node that joins, and goes on. At no moment has the shard fewer than
// two replicas that run.
func TestMoveInterrupted(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	x := w.createOn("a", "b")
	w.put(x, 0, 5)
	w.equal(2)
	w.stop("c")
	if err := w.untilJoins("c", func(ctx context.Context) error { return w.client.Move(ctx, "books", 0, "a", "c") }); !errors.Is(err, context.Canceled) {
		t.Fatalf("to a node that is away: %v", err)
	}
	st, err := w.client.Status(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if r := st.Indexes[0].Shards[0].Replicas; len(r) != 3 || r[0].State != string(node.Running) || r[1].State != string(node.Running) || r[2].Node != "c" || !r[2].Joining {
		t.Errorf("meanwhile: %+v", r)
	}
	w.start("c")
	if err := w.client.Move(deadline(t), "books", 0, "a", "c"); err != nil {
		t.Fatal(err)
	}
	w.stop("a")
	if err := w.client.AddReplica(deadline(t), "books", 0, "c"); err != nil {
		t.Errorf("one that is there: %v", err)
	}
	if err := w.untilJoins("a", func(ctx context.Context) error { return w.client.AddReplica(ctx, "books", 0, "a") }); !errors.Is(err, context.Canceled) {
		t.Errorf("on a node that is away: %v", err)
	}
	if err := w.client.RemoveReplica(deadline(t), "books", 0, "a"); err != nil { // calls it off
		t.Error(err)
	}
	w.start("a")
	if err := w.client.RemoveReplica(deadline(t), "books", 0, "b"); err != nil {
		t.Error(err)
	}
	if err := w.client.RemoveReplica(deadline(t), "books", 0, "c"); err == nil {
		t.Error("the last one is gone")
	}
	if err := w.client.AddReplica(deadline(t), "books", 0, "a"); err != nil {
		t.Error(err)
	}
	if n := w.equal(2).Indexes[0].Shards[0].Replicas; n[0].Docs != 5 || n[1].Docs != 5 {
		t.Errorf("%+v", n)
	}
}

// TestNodesComeAndGo fills a new node, and drains one that runs and one that does not.
func TestNodesComeAndGo(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	x := w.create(4)
	var b riffle.Batch
	for n := range 40 {
		b.Put(fmt.Sprint("d", n), map[string]any{"year": n})
	}
	written, err := x.Write(deadline(t), &b)
	if err != nil || written.Err() != nil {
		t.Fatal(err, written.Err())
	}
	load := func(st *cluster.Status) map[string]int {
		of := map[string]int{}
		for _, s := range st.Indexes[0].Shards {
			for _, r := range s.Replicas {
				of[r.Node]++
			}
		}
		return of
	}
	w.start("d")
	steps := 0
	if err := w.client.AddNode(deadline(t), "d", func(topology.Step) { steps++ }); err != nil {
		t.Fatal(err)
	}
	if got := load(w.equal(2)); got["d"] != 2 || steps != 2 {
		t.Errorf("%v after %d steps", got, steps)
	}
	if err := w.client.Drain(deadline(t), "a", nil); err != nil {
		t.Fatal(err)
	}
	if got := load(w.equal(2)); got["a"] != 0 || got["b"]+got["c"]+got["d"] != 8 {
		t.Errorf("%v", got)
	}
	if err := w.client.Create(deadline(t), cluster.IndexOptions{Name: "other", Shards: 3, Replicas: 3, LogBytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	st, err := w.client.Status(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if n := st.Nodes[0]; n.Name != "a" || n.Replicas != 0 || !n.Drained {
		t.Errorf("%+v", n)
	}
	if err := w.client.Drop(deadline(t), "other"); err != nil {
		t.Fatal(err)
	}
	w.stop("b")
	if err := w.client.AddNode(deadline(t), "a", nil); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Drain(deadline(t), "b", nil); err != nil {
		t.Fatal(err)
	}
	if got := load(w.equal(2)); got["b"] != 0 || got["a"]+got["c"]+got["d"] != 8 {
		t.Errorf("%v", got)
	}
	if err := w.client.Drain(deadline(t), "c", nil); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Drain(deadline(t), "d", nil); err == nil {
		t.Error("two replicas of each shard are on one node")
	}
	if st, err = w.client.Status(deadline(t)); err != nil || st.Nodes[3].Name != "d" || st.Nodes[3].Drained {
		t.Errorf("%+v: %v", st.Nodes, err)
	}
	found, err := x.Count(deadline(t), riffle.All{}, &cluster.SearchOptions{Token: written.Token})
	if err != nil || found != 40 {
		t.Errorf("%d documents: %v", found, err)
	}
	w.start("b") // removes what it had
	w.wait("b removes its replicas", func() bool { return len(w.folders("b", "*")) == 0 })
}

// TestCreateFails: an index whose nodes do not answer is not made, and leaves nothing.
func TestCreateFails(t *testing.T) {
	w := newWorld(t, "a")
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := w.client.Create(short, cluster.IndexOptions{Name: "books", Shards: 2, Replicas: 1, Nodes: []string{"away"}, LogBytes: 1 << 20})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if names, err := w.client.Indexes(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("%q: %v", names, err)
	}
	for name := range w.js.StreamNames(t.Context()).Name() {
		if name != "KV_"+topology.Bucket {
			t.Errorf("%s is left", name)
		}
	}
	w.createOn("a")
}

// TestTrim trims a log while a replica is away, and afterwards.
func TestTrim(t *testing.T) {
	w := newWorld(t)
	w.configure = func(o *node.Options) { o.Engine.Durability = riffle.SyncBatch }
	for _, name := range []string{"a", "b"} {
		w.start(name)
	}
	create := func(keep topology.Keep) *cluster.Index {
		t.Helper()
		err := w.client.Create(deadline(t), cluster.IndexOptions{Name: "books", Shards: 1, Replicas: 2, Nodes: []string{"a", "b"}, LogBytes: 1 << 20, Keep: keep})
		if err != nil {
			t.Fatal(err)
		}
		x, err := w.client.Index(t.Context(), "books")
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	trim := func() cluster.Trimmed {
		t.Helper()
		all, err := w.client.Trim(deadline(t), "books")
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v: %v", all, err)
		}
		return all[0]
	}
	x := create(topology.Keep{Messages: 3})
	w.put(x, 0, 10)
	w.equal(2)
	w.stop("a")
	w.put(x, 10, 12)
	w.equal1("b")
	if got := trim(); got.First != 1 || got.Held != "the replica on node a is silent" {
		t.Errorf("while a node is away: %+v", got)
	}
	w.start("a")
	w.equal(2)
	if got := trim(); got.First != 10 || got.Before != 1 || got.Last != 12 || got.Held != "" {
		t.Errorf("%+v", got)
	}
	w.put(x, 12, 13) // behind trimmed lanes
	w.equal(2)
	if got := trim(); got.First != 11 || got.Before != 10 {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct {
		keep  topology.Keep
		first uint64
	}{{topology.Keep{}, 1}, {topology.Keep{Age: time.Hour}, 1}, {topology.Keep{Age: time.Nanosecond}, 11}, {topology.Keep{Bytes: 1}, 11}, {topology.Keep{Bytes: 1, Messages: 2}, 9}} {
		if err := w.client.Drop(deadline(t), "books"); err != nil {
			t.Fatal(err)
		}
		w.put(create(c.keep), 0, 10)
		w.equal(2)
		if got := trim(); got.First != c.first {
			t.Errorf("%+v: %+v", c.keep, got)
		}
	}
	if err := w.client.Drop(deadline(t), "books"); err != nil {
		t.Fatal(err)
	}
	x = create(topology.Keep{})
	for n := range 4 { // of a message of some 240,000 bytes each
		var b riffle.Batch
		b.Put(fmt.Sprint("d", n), map[string]any{"text": random(240_000)})
		if written, err := x.Write(deadline(t), &b); err != nil || written.Err() != nil {
			t.Fatal(err, written.Err())
		}
	}
	if st, err := w.client.Status(deadline(t)); err != nil || len(st.Faults()) == 0 || !strings.Contains(st.Faults()[0], "% full") {
		t.Errorf("%q: %v", st.Faults(), err)
	}
	if err := w.client.Create(deadline(t), cluster.IndexOptions{Name: "bad", Shards: 1, Replicas: 1, Nodes: []string{"a"}, Keep: topology.Keep{Age: -1}}); err == nil {
		t.Error("an age below zero")
	}
}

// random returns a text that is as long in a message as here.
func random(size int) string {
	rng := rand.NewChaCha8([32]byte{1})
	b := make([]byte, size*3/4)
	rng.Read(b)
	return base64.StdEncoding.EncodeToString(b)
}

// TestDropWhileAway: a node that was away while an index was dropped, and created again, removes what it had; what was
// moved aside stays.
func TestDropWhileAway(t *testing.T) {
	w := newWorld(t, "a", "b")
	x := w.createOn("a", "b")
	w.put(x, 0, 3)
	w.equal(2)
	w.alter("a", otherDigest)
	w.wait("moved aside", func() bool { return len(w.folders("a", "0.diverged-*")) == 1 })
	w.equal(2)
	w.stop("a")
	w.stop("b")
	ctx, cancel := context.WithCancel(deadline(t))
	defer cancel()
	if err := w.client.Drop(ctx, "books"); err != nil {
		t.Fatal(err)
	}
	w.start("b")
	w.wait("b has nothing", func() bool { return len(w.folders("b", "")) == 0 })
	x = w.createOn("b")
	w.put(x, 0, 3)
	w.start("a")
	w.wait("a has what was moved aside alone", func() bool {
		all := w.folders("a", "*")
		return len(all) == 1 && len(w.folders("a", "0.diverged-*")) == 1
	})
	streams := 0
	for range w.js.StreamNames(t.Context()).Name() {
		streams++
	}
	if streams != 2 { // the map, and one log
		t.Errorf("%d streams", streams)
	}
}
