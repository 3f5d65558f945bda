package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/call"
	"github.com/riffle-search/riffle/cluster/replica"
	"github.com/riffle-search/riffle/cluster/scatter"
	"github.com/riffle-search/riffle/cluster/scatter/scattertest"
	"github.com/riffle-search/riffle/cluster/topology"
)

// fill writes documents of all kinds and deletes some.
func (w *world) fill(x *cluster.Index, documents int) (token cluster.Token) {
	w.t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	for n := 0; n < documents; {
		var b riffle.Batch
		for range 1 + rng.IntN(20) {
			b.Put(fmt.Sprint("d", n), scattertest.Document(rng))
			n++
		}
		b.Delete(fmt.Sprint("d", rng.IntN(n)))
		written, err := x.Write(deadline(w.t), &b)
		if err != nil || written.Err() != nil {
			w.t.Fatal(err, written.Err())
		}
		token = token.And(written.Token)
	}
	return token
}

// all returns all documents of an index.
func (w *world) all(x *cluster.Index, token cluster.Token) string {
	w.t.Helper()
	r, err := x.Search(deadline(w.t), riffle.All{}, &cluster.SearchOptions{Token: token,
		Options: scatter.Options{SearchOptions: riffle.SearchOptions{K: 10_000, Load: []string{"*"}}}})
	if err != nil {
		w.t.Fatal(err)
	}
	docs := map[string]any{}
	for _, h := range r.Hits {
		docs[h.ID] = h.Fields
	}
	return fmt.Sprint(docs)
}

// TestCheck checks replicas while others write, and finds one with a document too many, and one with a damaged file.
func TestCheck(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	x := w.create(2)
	w.fill(x, 60)
	w.equal(2)
	ctx, stop := context.WithCancel(t.Context())
	writing := make(chan struct{})
	go func() {
		defer close(writing)
		for n := 0; ctx.Err() == nil; n++ {
			w.put(x, n, n+1)
		}
	}()
	r, err := w.client.Check(deadline(t), "books")
	stop()
	<-writing
	if err != nil || len(r.Faults()) != 0 || len(r.Shards) != 2 {
		t.Fatalf("%+v, faults %q: %v", r, r.Faults(), err)
	}
	for _, s := range r.Shards {
		if len(s.Replicas) != 2 || s.Replicas[0].Docs < 10 || s.Replicas[0].Documents == "" || s.Replicas[0].Terms == "" || s.Sequence == 0 {
			t.Errorf("%+v", s)
		}
	}
	if _, err := w.client.Check(deadline(t), "nothing"); !errors.Is(err, topology.ErrNoIndex) {
		t.Error(err)
	}
	if err := w.client.Drop(deadline(t), "books"); err != nil {
		t.Fatal(err)
	}
	w.put(w.createOn("a", "b"), 0, 3)
	w.equal(2)
	w.alter("a", func(*replica.Position) {}) // the same position, and another document
	w.equal(2)
	r, err = w.client.Check(deadline(t), "books")
	if err != nil {
		t.Fatal(err)
	}
	if f := r.Faults(); len(f) != 1 || !strings.Contains(f[0], "4 and 3 documents") && !strings.Contains(f[0], "3 and 4 documents") {
		t.Errorf("%q", f)
	}
	w.stop("a")
	if r, err = w.client.Check(deadline(t), "books"); err != nil {
		t.Fatal(err)
	}
	if f := r.Faults(); len(f) != 1 || !strings.Contains(f[0], "node a was not checked") {
		t.Errorf("%q", f)
	}
}

// TestBackup takes a backup, goes on writing, and makes the index again: beside the old one, and in its place. The
// new ones have the documents of the backup and take changes; their logs go on behind it.
func TestBackup(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	x := w.create(3)
	token := w.fill(x, 60)
	want := w.all(x, token)
	dir := filepath.Join(t.TempDir(), "backup")
	b, err := w.client.TakeBackup(deadline(t), "books", dir)
	if err != nil {
		t.Fatal(err)
	}
	docs := 0
	for _, s := range b.Shards {
		docs += s.Docs
	}
	if n, err := x.Count(deadline(t), riffle.All{}, nil); err != nil || n != docs {
		t.Errorf("the backup has %d documents, the index %d: %v", docs, n, err)
	}
	if _, err := w.client.TakeBackup(deadline(t), "books", dir); err == nil {
		t.Error("a second backup in one directory")
	}
	w.put(x, 1000, 1005)
	work := t.TempDir()
	restore := func(o cluster.RestoreOptions) *cluster.Index {
		t.Helper()
		o.LogBytes, o.Work = 64<<20, work
		if err := w.client.Restore(deadline(t), dir, o); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(work); err != nil || len(left) != 0 {
			t.Errorf("left of the restore: %v %v", left, err)
		}
		name := o.Name
		if name == "" {
			name = "books"
		}
		again, err := w.client.Index(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.all(again, cluster.Token{}); got != want {
			t.Errorf("restored as %s:\n%s\nwant\n%s", name, got, want)
		}
		return again
	}
	other := restore(cluster.RestoreOptions{Name: "other", Replicas: 3})
	token = w.put(other, 0, 5)
	if doc, err := other.Get(deadline(t), "d3", cluster.GetOptions{Token: token}); err != nil || doc["year"] != int64(3) {
		t.Errorf("%v: %v", doc, err)
	}
	for i, s := range token.Sequences {
		if s > 0 && s <= b.Shards[i].Sequence {
			t.Errorf("shard %d: entry %d after a backup of %d", i, s, b.Shards[i].Sequence)
		}
	}
	if r, err := w.client.Check(deadline(t), "other"); err != nil || len(r.Faults()) != 0 {
		t.Errorf("%q: %v", r.Faults(), err)
	}
	if err := w.client.Restore(deadline(t), dir, cluster.RestoreOptions{}); !errors.Is(err, topology.ErrExists) {
		t.Errorf("over an index: %v", err)
	}
	if err := w.client.Drop(deadline(t), "books"); err != nil {
		t.Fatal(err)
	}
	restore(cluster.RestoreOptions{})
	if err := b.Verify(dir); err != nil {
		t.Errorf("after restores: %v", err)
	}
}

// TestRestoreAgain: what a Restore that failed has left is replaced, unless its program still runs, or somebody has
// written to it. A backup and a check of an alias are of its index.
func TestRestoreAgain(t *testing.T) {
	w := newWorld(t, "a")
	x := w.createOn("a")
	w.put(x, 0, 5)
	if err := w.client.SetAlias(deadline(t), "shelf", "", "books"); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "backup")
	if b, err := w.client.TakeBackup(deadline(t), "shelf", dir); err != nil || b.Index.Name != "books" {
		t.Fatal(err)
	}
	if r, err := w.client.Check(deadline(t), "shelf"); err != nil || r.Index != "books" || len(r.Faults()) != 0 {
		t.Errorf("%+v: %v", r, err)
	}
	o := cluster.RestoreOptions{Name: "other", LogBytes: 64 << 20}
	if err := w.client.Restore(deadline(t), dir, o); err != nil {
		t.Fatal(err)
	}
	m, err := topology.Open(t.Context(), w.js, 1)
	if err != nil {
		t.Fatal(err)
	}
	abandon := func() { // as if its program had failed before the last step
		if err := m.Update(t.Context(), "other", func(x *topology.Index) error { x.Source = topology.RestorePrefix + "x"; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	abandon()
	stop, err := call.Listen(w.conns["a"], topology.RestorePrefix+"x", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.conns["a"].Flush(); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Restore(deadline(t), dir, o); !errors.Is(err, topology.ErrExists) {
		t.Errorf("while another program restores it: %v", err)
	}
	if err := errors.Join(stop(), w.conns["a"].Flush()); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Restore(deadline(t), dir, o); err != nil {
		t.Error(err)
	}
	abandon()
	other, err := w.client.Index(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	w.put(other, 5, 6)
	if err := w.client.Restore(deadline(t), dir, o); !errors.Is(err, topology.ErrExists) {
		t.Errorf("over changes: %v", err)
	}
	if doc, err := other.Get(deadline(t), "d5", cluster.GetOptions{Linearizable: true}); err != nil || doc["year"] != int64(5) {
		t.Errorf("%v: %v", doc, err)
	}
}

// TestBackupRefused: a backup that is damaged, or no backup, makes no index.
func TestBackupRefused(t *testing.T) {
	w := newWorld(t, "a")
	x := w.createOn("a")
	w.put(x, 0, 5)
	dir := filepath.Join(t.TempDir(), "backup")
	if _, err := w.client.TakeBackup(deadline(t), "nothing", dir); !errors.Is(err, topology.ErrNoIndex) {
		t.Error(err)
	}
	if _, err := w.client.TakeBackup(deadline(t), "books", dir); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Restore(deadline(t), t.TempDir(), cluster.RestoreOptions{Name: "other"}); err == nil {
		t.Error("an empty directory is a backup")
	}
	if err := w.client.Restore(deadline(t), dir, cluster.RestoreOptions{Name: "other", Replicas: 2}); err == nil {
		t.Error("two replicas on a node")
	}
	tables, err := filepath.Glob(filepath.Join(dir, "0", "*"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	for _, f := range tables {
		if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() && info.Size() > 100 {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			data[50] ^= 1
			if err := os.WriteFile(f, data, 0o640); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if err := w.client.Restore(deadline(t), dir, cluster.RestoreOptions{Name: "other"}); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a damaged one: %v", err)
	}
	if names, err := w.client.Indexes(t.Context()); err != nil || len(names) != 1 {
		t.Errorf("%q: %v", names, err)
	}
}
