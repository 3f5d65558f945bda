package cluster_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/jetlog"
	"github.com/riffle-search/riffle/cluster/node"
	"github.com/riffle-search/riffle/cluster/replica"
	"github.com/riffle-search/riffle/cluster/scatter/scattertest"
	"github.com/riffle-search/riffle/cluster/topology"
)

// createOn creates an index with a shard that has replicas on all of the nodes.
func (w *world) createOn(nodes ...string) *cluster.Index {
	w.t.Helper()
	err := w.client.Create(w.t.Context(), cluster.IndexOptions{
		Name: "books", Shards: 1, Replicas: len(nodes), Nodes: nodes, Schema: scattertest.Schema, LogBytes: 64 << 20,
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

// put puts documents with numbers, one message after the other.
func (w *world) put(x *cluster.Index, from, to int) (token cluster.Token) {
	w.t.Helper()
	for n := from; n < to; n++ {
		var b riffle.Batch
		b.Put(fmt.Sprint("d", n), map[string]any{"year": n})
		written, err := x.Write(deadline(w.t), &b)
		if err != nil || written.Err() != nil {
			w.t.Fatal(err, written.Err())
		}
		token = token.And(written.Token)
	}
	return token
}

// equal waits until so many replicas of each shard run at the end of the log, and have the same digest.
func (w *world) equal(replicas int) *cluster.Status {
	w.t.Helper()
	return w.until(fmt.Sprintf("%d equal replicas", replicas), func(st *cluster.Status) bool {
		for _, x := range st.Indexes {
			for _, s := range x.Shards {
				if len(s.Replicas) != replicas || slices.ContainsFunc(s.Replicas, func(r cluster.ReplicaStatus) bool {
					return r.State != string(node.Running) || r.Lag > 0 || r.Digest != s.Replicas[0].Digest || len(r.Differs) > 0
				}) {
					return false
				}
			}
		}
		return true
	})
}

// folders returns the folders of the shards that a node has, by a pattern for the shard.
func (w *world) folders(name, shard string) []string {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(w.dir, name, "books", "*", shard))
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

func (w *world) trim(before uint64) { w.t.Helper(); w.trimShard(0, before) }

func (w *world) trimShard(shard int, before uint64) {
	w.t.Helper()
	if err := w.logOf(shard).Trim(w.t.Context(), before); err != nil {
		w.t.Fatal(err)
	}
}

// entry returns the entry of the map of an index.
func (w *world) entry(index string) *topology.Index {
	w.t.Helper()
	m, err := topology.Open(w.t.Context(), w.js, 1)
	if err != nil {
		w.t.Fatal(err)
	}
	x, err := m.Get(w.t.Context(), index)
	if err != nil {
		w.t.Fatal(err)
	}
	return x
}

// config returns which log is that of a shard.
func (w *world) config(index string, shard int) jetlog.Config {
	w.t.Helper()
	return jetlog.Config{Index: index, Epoch: w.entry(index).Epoch, Shard: shard}
}

// trimOf trims the log of a shard of an index.
func (w *world) trimOf(index string, shard int, before uint64) {
	w.t.Helper()
	log, err := jetlog.Open(w.t.Context(), w.js, w.config(index, shard))
	if err == nil {
		err = log.Trim(w.t.Context(), before)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// logOf returns the log of a shard of books.
func (w *world) logOf(shard int) *jetlog.Log {
	w.t.Helper()
	log, err := jetlog.Open(w.t.Context(), w.js, w.config("books", shard))
	if err != nil {
		w.t.Fatal(err)
	}
	return log
}

// TestCopy: a replica whose files are lost, and one that was too long away, need entries that the log no
// longer has. They copy another one; half a copy from an earlier attempt is removed.
func TestCopy(t *testing.T) {
	for name, damage := range map[string]func(dir string) error{
		"lost":   os.RemoveAll,
		"behind": func(string) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "a", "b")
			x := w.createOn("a", "b")
			w.put(x, 0, 5)
			w.equal(2)
			w.stop("a")
			dir := w.folders("a", "0")[0]
			half := dir + ".copy"
			if err := errors.Join(damage(dir), os.MkdirAll(filepath.Join(half, "x"), 0o750)); err != nil {
				t.Fatal(err)
			}
			token := w.put(x, 5, 10)
			w.equal1("b")
			w.trim(9)
			w.start("a")
			w.equal(2)
			if all := w.folders("a", "0*"); len(all) != 1 {
				t.Errorf("left: %q", all)
			}
			if doc, err := x.Get(deadline(t), "d9", cluster.GetOptions{Token: token}); err != nil || doc["year"] != int64(9) {
				t.Errorf("%v: %v", doc, err)
			}
			for _, r := range w.put2(x, 10).Indexes[0].Shards[0].Replicas {
				if r.Docs != 11 {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// put2 puts a document, and waits until two replicas have it.
func (w *world) put2(x *cluster.Index, n int) *cluster.Status {
	w.t.Helper()
	w.put(x, n, n+1)
	return w.equal(2)
}

// TestCopyNew: a new replica far behind copies rather than reads the log.
func TestCopyNew(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.configure = func(o *node.Options) { o.CopyBehind = 5 }
	x := w.createOn("a", "b")
	w.put(x, 0, 10)
	w.equal(2)
	w.stop("a")
	dir := w.folders("a", "0")[0]
	// The log still has all; only a copy can bring what is not in it.
	w.alter("b", func(*replica.Position) {})
	w.equal1("b")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	w.start("a")
	for _, r := range w.equal(2).Indexes[0].Shards[0].Replicas {
		if r.Docs != 11 {
			t.Errorf("%+v", r)
		}
	}
}

// equal1 waits until the replica of a node is at the end of the log.
func (w *world) equal1(name string) {
	w.t.Helper()
	log, err := jetlog.Open(w.t.Context(), w.js, w.config("books", 0))
	if err != nil {
		w.t.Fatal(err)
	}
	b, err := log.Bounds(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.wait(name+" runs", func() bool {
		st := w.nodes[name].Status()
		return len(st) == 1 && st[0].State == node.Running && st[0].Position.Sequence == b.Last
	})
}

// wait waits until something is so.
func (w *world) wait(what string, so func() bool) {
	w.t.Helper()
	for end := time.Now().Add(20 * time.Second); !so(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatal(what)
		}
	}
}

// alter puts a document that is not in the log into the replica of a node, and changes its position.
func (w *world) alter(name string, change func(*replica.Position)) {
	w.t.Helper()
	w.stop(name)
	e, err := riffle.Open(w.folders(name, "0")[0], nil)
	if err != nil {
		w.t.Fatal(err)
	}
	at, err := e.Position()
	if err != nil {
		w.t.Fatal(err)
	}
	p, err := replica.ParsePosition(at)
	if err != nil {
		w.t.Fatal(err)
	}
	change(&p)
	b := riffle.Batch{Position: p.Append(nil)}
	b.Put("not in the log", map[string]any{"year": 1})
	if err := errors.Join(e.Apply(w.t.Context(), &b), e.Close()); err != nil {
		w.t.Fatal(err)
	}
	w.start(name)
}

func otherDigest(p *replica.Position) { p.Digest[0] ^= 1 }

// TestCondemned: a replica has read something else than the others, and the last message is the same. With
// three replicas the other two decide, with two the log. It is moved aside and copied or read anew.
func TestCondemned(t *testing.T) {
	for _, replicas := range []int{2, 3} {
		t.Run(fmt.Sprint("replicas=", replicas), func(t *testing.T) {
			nodes := []string{"a", "b", "c"}[:replicas]
			w := newWorld(t, nodes...)
			x := w.createOn(nodes...)
			w.put(x, 0, 5)
			w.equal(replicas)
			if replicas == 3 {
				w.trim(5) // it could not be read anew
			}
			w.alter("a", otherDigest)
			w.wait("moved aside", func() bool { return len(w.folders("a", "0.diverged-*")) == 1 })
			for _, r := range w.equal(replicas).Indexes[0].Shards[0].Replicas {
				if r.Docs != 5 {
					t.Errorf("%+v", r)
				}
			}
			for _, n := range nodes[1:] {
				if all := w.folders(n, "0*"); len(all) != 1 {
					t.Errorf("node %s has %q", n, all)
				}
			}
		})
	}
}

// TestUndecided: two replicas differ, and the log has no entry that could say which is right. Both go on and
// tell of each other.
func TestUndecided(t *testing.T) {
	w := newWorld(t, "a", "b")
	x := w.createOn("a", "b")
	w.put(x, 0, 5)
	w.equal(2)
	w.trim(5)
	w.alter("a", otherDigest)
	st := w.until("both differ", func(st *cluster.Status) bool {
		r := st.Indexes[0].Shards[0].Replicas
		return len(r) == 2 && slices.Equal(r[0].Differs, []string{r[1].Node}) && slices.Equal(r[1].Differs, []string{r[0].Node}) && w.nodesSay(r[0].Node, r[1].Node)
	})
	for _, r := range st.Indexes[0].Shards[0].Replicas {
		if r.State != string(node.Running) {
			t.Errorf("%+v", r)
		}
	}
	if f := st.Faults(); len(f) != 2 {
		t.Errorf("%q", f)
	}
}

// nodesSay reports whether two nodes have noticed that their replicas differ.
func (w *world) nodesSay(a, b string) bool {
	return slices.Equal(w.nodes[a].Status()[0].Differs, []string{b}) && slices.Equal(w.nodes[b].Status()[0].Differs, []string{a})
}
