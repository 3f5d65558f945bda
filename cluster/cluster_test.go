package cluster_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/jetlog"
	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/scatter"
	"github.com/riffle-search/riffle/cluster/scatter/scattertest"
	"github.com/riffle-search/riffle/cluster/topology"
)

// TestExact writes documents, feeds one index with the logs, shard after shard, and compares searches.
func TestExact(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	const shards, documents = 3, 300
	x := w.create(shards)
	rng := rand.New(rand.NewPCG(1, 2))
	var token cluster.Token
	for n := 0; n < documents; {
		var b riffle.Batch
		for range 1 + rng.IntN(40) {
			b.Put(fmt.Sprint("d", n), scattertest.Document(rng))
			n++
		}
		written, err := x.Write(deadline(t), &b)
		if err != nil || written.Err() != nil {
			t.Fatal(err, written.Err())
		}
		token = token.And(written.Token)
	}
	one, err := riffle.Open(t.TempDir(), &riffle.Options{Schema: scattertest.Schema, Durability: riffle.SyncNone})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	for i := range shards {
		w.feed(one, i)
	}
	for n := range 100 {
		q := scattertest.Query(rng, rng.IntN(3))
		o := riffle.SearchOptions{K: 1 + rng.IntN(20), ExactTotal: true, Now: time.Unix(0, 0), Load: []string{"*"}, Highlight: &riffle.HighlightOptions{}}
		got, err := x.Search(deadline(t), q, &cluster.SearchOptions{Options: scatter.Options{SearchOptions: o}, Token: token})
		want, wantErr := one.Search(t.Context(), q, &o)
		if err != nil || wantErr != nil {
			t.Fatalf("query %d: %v, one index says %v: %#v", n, err, wantErr, q)
		}
		scattertest.Compare(t, fmt.Sprintf("query %d: %#v", n, q), got, want)
	}
}

// feed applies the log of a shard to an index.
func (w *world) feed(e *riffle.Engine, shard int) {
	w.t.Helper()
	log, err := jetlog.Open(w.t.Context(), w.js, w.config("books", shard))
	if err != nil {
		w.t.Fatal(err)
	}
	bounds, err := log.Bounds(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if bounds.Last == 0 {
		return
	}
	for entry, err := range log.Read(w.t.Context(), 1) {
		if err != nil {
			w.t.Fatal(err)
		}
		r, err := oplog.Parse(entry.Data)
		if err != nil {
			w.t.Fatal(err)
		}
		var b riffle.Batch
		for change, err := range oplog.EachChange(r.Body) {
			if err := errors.Join(err, b.AddEncoded(change)); err != nil {
				w.t.Fatal(err)
			}
		}
		if err := e.Apply(w.t.Context(), &b); err != nil {
			w.t.Fatal(err)
		}
		if entry.Sequence == bounds.Last {
			return
		}
	}
}

// TestChanges lets writers change documents of their own, while nodes stop and start. Every read with
// a token, and every linearizable one, sees the writer's last change; in the end the cluster has what
// the writers know, and replicas of a shard have equal digests.
func TestChanges(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	x := w.create(4)
	const writers, rounds = 4, 60
	all := make([]map[string]int64, writers)
	var running sync.WaitGroup
	for i := range writers {
		all[i] = map[string]int64{}
		running.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 3))
			mine := all[i]
			var token cluster.Token
			for n := range rounds {
				var b riffle.Batch
				for range 1 + rng.IntN(3) {
					id := fmt.Sprintf("w%d-%d", i, rng.IntN(10))
					if rng.IntN(4) == 0 {
						b.Delete(id)
						delete(mine, id)
					} else {
						b.Put(id, map[string]any{"year": n, "tag": fmt.Sprint("w", i)})
						mine[id] = int64(n)
					}
				}
				written, err := x.Write(deadline(t), &b)
				if err != nil || written.Err() != nil {
					t.Error(err, written.Err())
					return
				}
				token = token.And(written.Token)
				id := fmt.Sprintf("w%d-%d", i, rng.IntN(10))
				for _, o := range []cluster.GetOptions{{Token: token}, {Linearizable: true}} {
					doc, err := x.Get(deadline(t), id, o)
					want, there := mine[id]
					if there != (err == nil) || err != nil && !errors.Is(err, riffle.ErrNotFound) || there && doc["year"] != want {
						t.Errorf("%s is %v, want %d %v: %v", id, doc["year"], want, there, err)
						return
					}
				}
				found, err := x.Search(deadline(t), riffle.Term{Field: "tag", Value: fmt.Sprint("w", i)}, &cluster.SearchOptions{Token: token,
					Options: scatter.Options{SearchOptions: riffle.SearchOptions{ExactTotal: true}}})
				if err != nil {
					w.report(token)
				}
				if err != nil || found.Total != len(mine) {
					t.Errorf("writer %d finds %+v of %d: %v", i, found, len(mine), err)
					return
				}
			}
		})
	}
	stopped := make(chan struct{})
	go func() { running.Wait(); close(stopped) }()
	for n := 0; ; n++ {
		select {
		case <-stopped:
		case <-time.After(50 * time.Millisecond):
			name := []string{"a", "b", "c"}[n%3]
			w.stop(name)
			time.Sleep(20 * time.Millisecond)
			w.start(name)
			w.running(name)
			continue
		}
		break
	}
	want := map[string]int64{}
	for _, mine := range all {
		maps.Copy(want, mine)
	}
	var token cluster.Token
	for range 4 { // writes to every shard, with high probability
		var b riffle.Batch
		for n := range 40 {
			b.Delete(fmt.Sprint("nobody", n))
		}
		written, err := x.Write(deadline(t), &b)
		if err != nil || written.Err() != nil {
			t.Fatal(err, written.Err())
		}
		token = written.Token
	}
	r, err := x.Search(deadline(t), riffle.All{}, &cluster.SearchOptions{Token: token, Options: scatter.Options{SearchOptions: riffle.SearchOptions{K: 1000, Load: []string{"year"}}}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, h := range r.Hits {
		got[h.ID] = h.Fields["year"].(int64)
	}
	if !maps.Equal(got, want) {
		t.Errorf("%d documents, want %d", len(got), len(want))
	}
	w.equalDigests(4, token)
}

// TestDrop drops an index and creates one of the same name.
func TestDrop(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	var old cluster.Token
	for range 3 {
		x := w.create(2)
		if n, err := x.Count(deadline(t), riffle.All{}, nil); err != nil || n != 0 {
			t.Fatalf("a new index has %d documents: %v", n, err)
		}
		var b riffle.Batch
		b.Put("a", map[string]any{"year": 1})
		written, err := x.Write(deadline(t), &b)
		if err != nil || written.Err() != nil {
			t.Fatal(err, written.Err())
		}
		if _, err := x.Get(deadline(t), "a", cluster.GetOptions{Token: written.Token}); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Get(deadline(t), "a", cluster.GetOptions{Token: old}); !old.IsZero() && (err == nil || errors.Is(err, riffle.ErrNotFound)) {
			t.Errorf("with the token of another index: %v", err)
		}
		old = written.Token
		if err := w.client.Create(t.Context(), cluster.IndexOptions{Name: "books", Shards: 1, Replicas: 1, Nodes: []string{"a"}}); !errors.Is(err, topology.ErrExists) {
			t.Error(err)
		}
		if err := w.client.Drop(deadline(t), "books"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.client.Index(t.Context(), "books"); !errors.Is(err, topology.ErrNoIndex) {
			t.Error(err)
		}
	}
}

// TestDiverged exchanges the log of a shard behind its replicas. They read the new one, and what they
// had stays beside it.
func TestDiverged(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	x := w.create(1)
	put := func(id string) cluster.Token {
		t.Helper()
		var b riffle.Batch
		b.Put(id, map[string]any{"year": 1})
		written, err := x.Write(deadline(t), &b)
		if err != nil || written.Err() != nil {
			t.Fatal(err, written.Err())
		}
		return written.Token
	}
	if _, err := x.Get(deadline(t), "old", cluster.GetOptions{Token: put("old")}); err != nil {
		t.Fatal(err)
	}
	w.equalDigests(1, cluster.Token{Sequences: []uint64{1}})
	config := w.config("books", 0)
	config.MaxBytes = 64 << 20
	if err := jetlog.Delete(t.Context(), w.js, config); err != nil {
		t.Fatal(err)
	}
	if _, err := jetlog.Create(t.Context(), w.js, config); err != nil {
		t.Fatal(err)
	}
	token := put("new")
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		aside, err := filepath.Glob(filepath.Join(w.dir, "*", "books", "*", "0.diverged-*"))
		if err != nil {
			t.Fatal(err)
		}
		if len(aside) == 2 {
			break
		}
		if time.Now().After(end) {
			w.report(token)
			t.Fatalf("moved aside: %q", aside)
		}
	}
	w.equalDigests(1, token)
	if n, err := x.Count(deadline(t), riffle.All{}, nil); err != nil || n != 1 {
		t.Errorf("%d documents: %v", n, err)
	}
}

func TestRefusedWrites(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	x := w.create(2)
	for name, fill := range map[string]func(*riffle.Batch){
		"bad value": func(b *riffle.Batch) { b.Put("a", map[string]any{"year": "x"}) },
		"condition": func(b *riffle.Batch) { b.PutIf("a", map[string]any{"year": 1}, 7) },
		"position":  func(b *riffle.Batch) { b.Delete("a"); b.Position = []byte("x") },
		"no id":     func(b *riffle.Batch) { b.Delete("") },
	} {
		var b riffle.Batch
		b.Put("good", map[string]any{"year": 1})
		fill(&b)
		if written, err := x.Write(deadline(t), &b); err == nil {
			t.Errorf("%s: %+v", name, written)
		}
	}
	var b riffle.Batch
	b.Put("\xff", map[string]any{"year": 1})
	written, err := x.Write(deadline(t), &b)
	if err != nil || written.Err() != nil {
		t.Fatal(err, written.Err())
	}
	if doc, err := x.Get(deadline(t), "\xff", cluster.GetOptions{Token: written.Token}); err != nil || doc["year"] != int64(1) {
		t.Errorf("%v: %v", doc, err)
	}
	found, err := x.Search(deadline(t), riffle.All{}, &cluster.SearchOptions{Token: written.Token})
	if err != nil || len(found.Hits) != 1 {
		t.Errorf("%+v: %v", found, err)
	}
}

func TestTokens(t *testing.T) {
	a := cluster.Token{Epoch: 7, Sequences: []uint64{1, 9}}
	b := cluster.Token{Epoch: 7, Sequences: []uint64{4, 2}}
	if got := a.And(b); got.String() != (cluster.Token{Epoch: 7, Sequences: []uint64{4, 9}}).String() {
		t.Errorf("%+v", got)
	}
	for _, want := range []cluster.Token{{}, a, b} {
		if got, err := cluster.ParseToken(want.String()); err != nil || got.String() != want.String() || got.IsZero() != want.IsZero() {
			t.Errorf("%+v came back as %+v: %v", want, got, err)
		}
	}
	for _, bad := range []string{"x", "e30", "!"} {
		if got, err := cluster.ParseToken(bad); err == nil {
			t.Errorf("%q is %+v", bad, got)
		}
	}
}

// TestFields checks what the API asks of an index besides searches.
func TestFields(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	x := w.create(3)
	if q, err := x.ParseQuery(deadline(t), "rare", nil, cluster.Token{}); err != nil {
		t.Errorf("before there is a text: %v", err)
	} else if n, err := x.Count(deadline(t), q, nil); err != nil || n != 0 {
		t.Errorf("before there is a text, %d documents have a word: %v", n, err)
	}
	var b riffle.Batch
	for i := range 20 {
		b.Put(fmt.Sprint("d", i), map[string]any{"added": "rare words", "n": i})
	}
	written, err := x.Write(deadline(t), &b)
	if err != nil || written.Err() != nil {
		t.Fatal(err, written.Err())
	}
	fields, err := x.Fields(deadline(t), written.Token)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(fields, func(f riffle.FieldStats) bool { return f.Name == "added" })
	if i < 0 || fields[i].Docs != 20 || fields[i].Tokens != 40 || !fields[i].Norms {
		t.Errorf("fields %+v", fields)
	}
	q, err := x.ParseQuery(deadline(t), "rare", nil, written.Token)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := x.Count(deadline(t), q, &cluster.SearchOptions{Token: written.Token}); err != nil || n != 20 {
		t.Errorf("%d documents have a word of a field that the schema does not have: %v", n, err)
	}
	if _, err := x.Fields(deadline(t), cluster.Token{Epoch: 1, Sequences: []uint64{1}}); !errors.Is(err, cluster.ErrToken) {
		t.Errorf("the token of another index: %v", err)
	}
	if _, err := cluster.ParseToken("other"); !errors.Is(err, cluster.ErrToken) {
		t.Errorf("a text that is no token: %v", err)
	}
	var conditional riffle.Batch
	conditional.PutIf("a", map[string]any{"n": 1}, 7)
	if _, err := x.Write(deadline(t), &conditional); !errors.Is(err, cluster.ErrCondition) {
		t.Errorf("a change with a condition: %v", err)
	}
	// Two of three nodes have all replicas of some shard: the text is read without it, and the search says so.
	w.stop("a")
	w.stop("b")
	if q, err = x.ParseQuery(deadline(t), "rare", nil, cluster.Token{}); err != nil {
		t.Fatal(err)
	}
	r, err := x.Search(deadline(t), q, &cluster.SearchOptions{Options: scatter.Options{AllowMissing: true}})
	if err != nil || len(r.Missing) == 0 || r.Total == 0 {
		t.Errorf("without two nodes: %+v, %v", r, err)
	}
}
