package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/node"
	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/scatter"
	"github.com/riffle-search/riffle/cluster/topology"
)

// TestReindex divides an index into another number of shards, twice, while a writer changes documents and
// reads its writes. Nothing is lost, no read fails, and tokens of the old index are good for the new one. One time the
// documents come from copies, since the logs are trimmed, and one time from the logs.
func TestReindex(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	x := w.create(2)
	token := w.fill(x, 60)
	want := w.all(x, token)
	w.equal(2)
	for i := range 2 {
		w.trimShard(i, token.Sequences[i])
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var last cluster.Token
	running.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			last = last.And(w.put(x, 1000+n%5, 1001+n%5))
			r, err := x.Search(deadline(t), riffle.Match{Field: "year", Text: fmt.Sprint(1000 + n%5)}, &cluster.SearchOptions{Token: last})
			if err != nil || len(r.Hits) != 1 {
				t.Errorf("%d: %+v, %v", n, r, err)
				return
			}
		}
	})
	for i, shards := range []int{5, 1} {
		var steps []string
		err := w.client.Reindex(deadline(t), "books", cluster.ReindexOptions{Shards: shards, LogBytes: 64 << 20, Work: t.TempDir(), Progress: func(s string) { steps = append(steps, s) }})
		if err != nil {
			t.Fatal(err)
		}
		if copied := strings.Contains(strings.Join(steps, "\n"), "from a copy"); copied != (i == 0) {
			t.Errorf("steps %q", steps)
		}
		if x.Shards() != shards {
			t.Errorf("%d shards", x.Shards())
		}
		names, err := w.client.Indexes(t.Context())
		aliases, err2 := w.client.Aliases(t.Context())
		if err != nil || err2 != nil || len(names) != 1 || len(aliases) != 1 || aliases["books"] != names[0] {
			t.Errorf("%q, aliases %q: %v, %v", names, aliases, err, err2)
		}
	}
	stop()
	running.Wait()
	if n, err := x.Count(deadline(t), riffle.Match{Field: "year", Text: "1003"}, &cluster.SearchOptions{Token: token}); err != nil || n != 1 {
		t.Errorf("with the first token: %d, %v", n, err)
	}
	var b riffle.Batch
	for n := range 5 {
		b.Delete(fmt.Sprint("d", 1000+n))
	}
	written, err := x.Write(deadline(t), &b)
	if err != nil || written.Err() != nil {
		t.Fatal(err, written.Err())
	}
	if got := w.all(x, written.Token); got != want {
		t.Errorf("reindexed\n%s\nwant\n%s", got, want)
	}
	if r, err := w.client.Check(deadline(t), x2(w, t)); err != nil || len(r.Faults()) != 0 {
		t.Errorf("%q: %v", r.Faults(), err)
	}
	streams := 0
	for range w.js.StreamNames(t.Context()).Name() {
		streams++
	}
	if streams != 2 { // the map, and one log
		t.Errorf("%d streams", streams)
	}
	if err := w.client.Create(deadline(t), cluster.IndexOptions{Name: "books", Shards: 1, Replicas: 1}); !errors.Is(err, topology.ErrExists) {
		t.Errorf("an index with the name of an alias: %v", err)
	}
	if err := w.client.Drop(deadline(t), "books"); err != nil {
		t.Fatal(err)
	}
	if names, err := w.client.Indexes(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("%q: %v", names, err)
	}
	if _, err := w.client.Index(t.Context(), "books"); !errors.Is(err, topology.ErrNoIndex) {
		t.Error(err)
	}
}

// x2 returns the index that the alias books stands for.
func x2(w *world, t *testing.T) string {
	t.Helper()
	aliases, err := w.client.Aliases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return aliases["books"]
}

// TestReindexInterrupted ends a call in the midst of its steps, and calls it again. Before the logs are sealed the old index
// goes on; afterwards writes wait, and go on with the new index.
func TestReindexInterrupted(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	x := w.create(2)
	w.put(x, 0, 10)
	for _, at := range []string{"reading", "sealing"} {
		ctx, cancel := context.WithCancel(deadline(t))
		defer cancel()
		err := w.client.Reindex(ctx, "books", cluster.ReindexOptions{Shards: 3, LogBytes: 64 << 20, Progress: func(s string) {
			if strings.Contains(s, at) {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("ended at %s: %v", at, err)
		}
		if n, err := x.Count(deadline(t), riffle.All{}, nil); err != nil || n != 10 {
			t.Errorf("ended at %s: %d documents, %v", at, n, err)
		}
		if at == "reading" {
			w.put(x, 0, 2)
			if names, err := w.client.Indexes(t.Context()); err != nil || len(names) != 1 {
				t.Errorf("%q: %v", names, err)
			}
		}
	}
	seal(t, w) // as the call that ended may have
	var b riffle.Batch
	b.Put("late", map[string]any{"year": 7})
	for wait := 200 * time.Millisecond; ; wait *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		written, err := x.Write(ctx, &b)
		cancel()
		if err == nil && errors.Is(written.Err(), oplog.ErrSealed) {
			break
		}
		// On a slow machine the log may not have answered in that time.
		if err != nil || !errors.Is(written.Err(), context.DeadlineExceeded) || wait > 10*time.Second {
			t.Fatalf("to sealed logs: %v, %+v", err, written)
		}
	}
	done := make(chan *cluster.Written)
	go func() {
		written, err := x.Write(deadline(t), &b)
		if err != nil {
			t.Error(err)
		}
		done <- written
	}()
	got := make(chan error)
	go func() {
		_, err := x.Get(deadline(t), "d3", cluster.GetOptions{Linearizable: true})
		got <- err
	}()
	if err := w.client.Reindex(deadline(t), "books", cluster.ReindexOptions{Shards: 3, LogBytes: 64 << 20}); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Errorf("a linearizable get that waited: %v", err)
	}
	written := <-done
	if written == nil || written.Err() != nil {
		t.Fatalf("a write that waited: %+v", written)
	}
	r, err := x.Search(deadline(t), riffle.All{}, &cluster.SearchOptions{Token: written.Token, Options: scatter.Options{SearchOptions: riffle.SearchOptions{ExactTotal: true}}})
	if err != nil || r.Total != 11 || x.Shards() != 3 {
		t.Errorf("%+v in %d shards: %v", r, x.Shards(), err)
	}
}

// TestReindexAlias: when only the alias is left to be set, as after a call that failed then, or while another one is about
// to set it, the new index is not made anew, because there may be changes in it that nobody else has.
func TestReindexAlias(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	x := w.create(2)
	w.put(x, 0, 10)
	ctx, cancel := context.WithCancel(deadline(t))
	defer cancel()
	err := w.client.Reindex(ctx, "books", cluster.ReindexOptions{Shards: 3, LogBytes: 64 << 20, Progress: func(s string) {
		if strings.Contains(s, "dropping") {
			w.put(x, 10, 11)
			if err := w.client.DeleteAlias(deadline(t), "books"); err != nil {
				t.Error(err)
			}
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for _, shards := range []int{3, 1} {
		if err := w.client.Reindex(deadline(t), "books", cluster.ReindexOptions{Shards: shards, LogBytes: 64 << 20}); err != nil {
			t.Fatal(err)
		}
		token := w.put(x, 11, 12)
		if n, err := x.Count(deadline(t), riffle.All{}, &cluster.SearchOptions{Token: token}); err != nil || n != 12 || x.Shards() != shards {
			t.Errorf("%d documents in %d shards: %v", n, x.Shards(), err)
		}
	}
	if names, err := w.client.Indexes(t.Context()); err != nil || len(names) != 1 {
		t.Errorf("%q: %v", names, err)
	}
}

// seal seals the logs of books.
func seal(t *testing.T, w *world) {
	t.Helper()
	for i := range 2 {
		if _, err := w.logOf(i).Seal(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.logOf(i).Append(deadline(t), "x", 0, oplog.Message{ID: "1", Data: []byte("x")}); !errors.Is(err, oplog.ErrSealed) {
			t.Errorf("to a sealed log: %v", err)
		}
	}
}

// TestReindexTrim: a log is not trimmed while another index is made of it.
func TestReindexTrim(t *testing.T) {
	w := newWorld(t)
	w.configure = func(o *node.Options) { o.Engine.Durability = riffle.SyncBatch }
	w.start("a")
	err := w.client.Create(deadline(t), cluster.IndexOptions{Name: "books", Shards: 1, Replicas: 1, Nodes: []string{"a"}, LogBytes: 1 << 20, Keep: topology.Keep{Messages: 1}})
	if err != nil {
		t.Fatal(err)
	}
	x, err := w.client.Index(t.Context(), "books")
	if err != nil {
		t.Fatal(err)
	}
	w.put(x, 0, 10)
	w.equal(1)
	err = w.client.Reindex(deadline(t), "books", cluster.ReindexOptions{Shards: 2, LogBytes: 1 << 20, Progress: func(s string) {
		if !strings.Contains(s, "reading") {
			return
		}
		if all, err := w.client.Trim(deadline(t), "books"); err != nil || all[0].First != 1 || !strings.Contains(all[0].Held, "books-2") {
			t.Errorf("%+v: %v", all, err)
		}
	}})
	if err != nil {
		t.Error(err)
	}
}

// TestReindexFull makes an index anew whose log has not the space for all documents at a time.
func TestReindexFull(t *testing.T) {
	w := newWorld(t)
	w.configure = func(o *node.Options) { o.Engine.Durability = riffle.SyncBatch }
	w.start("a")
	x := w.createOn("a")
	rng := rand.New(rand.NewPCG(7, 8))
	const documents = 60
	for n := range documents {
		text := make([]byte, 30_000) // of which a message has about 23,000
		for i := range text {
			text[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[rng.IntN(64)]
		}
		var b riffle.Batch
		b.Put(fmt.Sprint("d", n), map[string]any{"year": n, "note": string(text)})
		if written, err := x.Write(deadline(t), &b); err != nil || written.Err() != nil {
			t.Fatal(err, written.Err())
		}
	}
	if err := w.client.Reindex(deadline(t), "books", cluster.ReindexOptions{LogBytes: 512 << 10}); err != nil {
		t.Fatal(err)
	}
	if n, err := x.Count(deadline(t), riffle.All{}, nil); err != nil || n != documents {
		t.Errorf("%d documents: %v", n, err)
	}
	st, err := w.client.Status(deadline(t))
	if err != nil || st.Indexes[0].Shards[0].Log.First == 1 {
		t.Errorf("%+v: %v", st, err)
	}
}

// TestReindexNotStored: fields that are not stored come from the log, and if that was trimmed nothing is done.
func TestReindexNotStored(t *testing.T) {
	w := newWorld(t, "a")
	schema := &riffle.Schema{Fields: map[string]riffle.Field{"text": {Type: riffle.FieldText, NoStore: true}}}
	err := w.client.Create(deadline(t), cluster.IndexOptions{Name: "books", Shards: 1, Replicas: 1, Nodes: []string{"a"}, LogBytes: 64 << 20, Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	x, err := w.client.Index(t.Context(), "books")
	if err != nil {
		t.Fatal(err)
	}
	var b riffle.Batch
	b.Put("a", map[string]any{"text": "call me ishmael"})
	written, err := x.Write(deadline(t), &b)
	if err != nil || written.Err() != nil {
		t.Fatal(err, written.Err())
	}
	if err := w.client.Reindex(deadline(t), "books", cluster.ReindexOptions{Shards: 2, LogBytes: 64 << 20}); err != nil {
		t.Fatal(err)
	}
	if n, err := x.Count(deadline(t), riffle.Match{Field: "text", Text: "ishmael"}, &cluster.SearchOptions{Token: written.Token}); err != nil || n != 1 {
		t.Errorf("%d documents: %v", n, err)
	}
	name := x2(w, t)
	if written, err = x.Write(deadline(t), &b); err != nil || written.Err() != nil {
		t.Fatal(err, written.Err())
	}
	shard := topology.ShardOf("a", 2)
	w.trimOf(name, shard, written.Token.Sequences[shard])
	if err := w.client.Reindex(deadline(t), "books", cluster.ReindexOptions{Shards: 1, LogBytes: 64 << 20}); !errors.Is(err, cluster.ErrNotStored) {
		t.Errorf("%v", err)
	}
	if x2(w, t) != name || x.Shards() != 2 {
		t.Error("it was reindexed nevertheless")
	}
}

// TestAliases lets names stand for indexes.
func TestAliases(t *testing.T) {
	w := newWorld(t, "a")
	w.put(w.createOn("a"), 0, 3)
	if err := w.client.SetAlias(deadline(t), "all", "", "nothing"); !errors.Is(err, topology.ErrNoIndex) {
		t.Error(err)
	}
	if err := w.client.SetAlias(deadline(t), "all", "", "books"); err != nil {
		t.Fatal(err)
	}
	all, err := w.client.Index(t.Context(), "all")
	if err != nil {
		t.Fatal(err)
	}
	if doc, err := all.Get(deadline(t), "d1", cluster.GetOptions{Linearizable: true}); err != nil || doc["year"] != int64(1) {
		t.Errorf("%v: %v", doc, err)
	}
	if err := w.client.Create(deadline(t), cluster.IndexOptions{Name: "other", Shards: 1, Replicas: 1, LogBytes: 64 << 20}); err != nil {
		t.Fatal(err)
	}
	if err := w.client.SetAlias(deadline(t), "all", "", "other"); !errors.Is(err, topology.ErrExists) {
		t.Errorf("an alias that stands for another index: %v", err)
	}
	if err := w.client.SetAlias(deadline(t), "all", "books", "other"); err != nil {
		t.Fatal(err)
	}
	w.wait("the client follows", func() bool {
		n, err := all.Count(deadline(t), riffle.All{}, nil)
		return err == nil && n == 0
	})
	if err := w.client.DeleteAlias(deadline(t), "all"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.Index(t.Context(), "all"); !errors.Is(err, topology.ErrNoIndex) {
		t.Error(err)
	}
}

// TestAlterSchema adds a field while a writer writes; what it writes by the old schema is not refused. A replica that
// is made later has the schema, too.
func TestAlterSchema(t *testing.T) {
	w := newWorld(t, "a", "b")
	x := w.createOn("a")
	w.put(x, 0, 3)
	schema := x.Schema()
	bad := &riffle.Schema{Fields: map[string]riffle.Field{"year": {Type: riffle.FieldText}}}
	if err := w.client.AlterSchema(deadline(t), "books", bad); err == nil {
		t.Error("a number becomes a text")
	}
	schema.Fields["tally"] = riffle.Field{Type: riffle.FieldNumber}
	ended := make(chan error)
	go func() { ended <- w.client.AlterSchema(deadline(t), "books", schema) }()
	for n := 0; ; n++ {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
		default:
			w.put(x, 10+n, 11+n)
			continue
		}
		break
	}
	if err := w.client.AlterSchema(deadline(t), "books", schema); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if _, err := w.client.Index(deadline(t), "books"); err != nil { // looks at the map
		t.Fatal(err)
	}
	var wrong, right riffle.Batch
	wrong.Put("x", map[string]any{"tally": "many"})
	if _, err := x.Write(deadline(t), &wrong); err == nil {
		t.Error("a text in a field of numbers")
	}
	right.Put("x", map[string]any{"tally": 5})
	written, err := x.Write(deadline(t), &right)
	if err != nil || written.Err() != nil {
		t.Fatal(err, written.Err())
	}
	if err := w.client.AddReplica(deadline(t), "books", 0, "b"); err != nil {
		t.Fatal(err)
	}
	w.equal(2)
	for _, name := range []string{"a", "b"} {
		if st := w.nodes[name].Status()[0]; st.Refused != 0 {
			t.Errorf("node %s has refused %d changes", name, st.Refused)
		}
	}
	if n, err := x.Count(deadline(t), riffle.Range{Field: "tally", From: 5}, &cluster.SearchOptions{Token: written.Token}); err != nil || n != 1 {
		t.Errorf("%d documents: %v", n, err)
	}
}
