package cluster_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/topology"
)

// TestStaleWriter: a client that has not heard that an index was dropped and created again, as one that was paused,
// changes nothing in the new one.
func TestStaleWriter(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	w.create(1)
	conn := w.connect()
	defer conn.Close()
	stale, err := cluster.Connect(t.Context(), conn, &cluster.Options{FollowEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer stale.Close()
	old, err := stale.Index(t.Context(), "books")
	if err != nil {
		t.Fatal(err)
	}
	w.put(old, 0, 1)
	if err := w.client.Drop(deadline(t), "books"); err != nil {
		t.Fatal(err)
	}
	x := w.create(1)
	var b riffle.Batch
	b.Put("late", map[string]any{"year": 1})
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	written, err := old.Write(short, &b)
	if err != nil || written.Err() == nil {
		t.Errorf("a change of the dropped index: %v, %+v", err, written)
	}
	token := w.put(x, 0, 3)
	if n, err := x.Count(deadline(t), riffle.All{}, &cluster.SearchOptions{Token: token}); err != nil || n != 3 {
		t.Errorf("%d documents: %v", n, err)
	}
}

// TestDropAgain: an alias whose index is gone can be dropped, as after a Drop that failed before its last step.
func TestDropAgain(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	w.create(1)
	if err := w.client.SetAlias(deadline(t), "shelf", "", "books"); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Drop(deadline(t), "books"); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Drop(deadline(t), "shelf"); err != nil {
		t.Error(err)
	}
	if err := w.client.Drop(deadline(t), "shelf"); !errors.Is(err, topology.ErrNoIndex) {
		t.Error(err)
	}
}

// TestGone: a client closes what it has open of an index that others have dropped.
func TestGone(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	w := newWorld(t, "a", "b", "c")
	w.create(2)
	conn := w.connect()
	defer conn.Close()
	other, err := cluster.Connect(t.Context(), conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.Drop(deadline(t), "books"); err != nil {
		t.Fatal(err)
	}
	w.wait("the files are gone", func() bool {
		left, err := os.ReadDir(temporary)
		return err == nil && len(left) == 0
	})
}
