package riffle

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestWritesFail makes every write fail from the k-th on, as on a full disk, for many k. The engine
// reports it, does not hang, and still answers. Nothing acknowledged is missing later.
func TestWritesFail(t *testing.T) {
	rng := rand.New(rand.NewPCG(seedOf(t), 2))
	states := crashStates(modelQueries{rng})
	step := 17 // runs with other offsets cover the other writes
	if brief() {
		step = 101
	}
	failed := 0
	for k := 1 + rng.IntN(step); ; k += step {
		mem := newCrashFS()
		var left atomic.Int64
		left.Store(int64(k))
		fsys := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && left.Add(-1) < 0 {
				return errorfs.ErrInjected
			}
			return nil
		}))
		w := wreck{write: k, fs: mem}
		err := failingWorkload(t, fsys, states, &w)
		if err == nil {
			break
		}
		if errors.Is(err, ErrCorrupt) {
			t.Fatalf("writes fail from %d on: %v", k, err)
		}
		failed++
		for _, percent := range []int{0, 100} {
			after := wreck{fs: mem.crash(percent, rng), least: w.least, most: w.most}
			if err := after.inspectOnce(states[w.least:w.most+1], false); err != nil {
				t.Fatalf("writes failed from %d on (%v), batches %d to %d: %v", k, err, w.least, w.most, err)
			}
		}
	}
	t.Logf("%d runs failed", failed)
	if failed == 0 {
		t.Error("no write failed")
	}
}

// failingWorkload goes through the states until something fails. It records in w what was begun and
// acknowledged.
func failingWorkload(t *testing.T, fsys *errorfs.FS, states []model, w *wreck) (err error) {
	tu := tuning{opts: Options{private: tinyTables, Merge: MergeOptions{SegmentsPerTier: 2}}}
	e, err := tu.open(worldDir, fsys)
	if err != nil {
		return err
	}
	for i := 1; i < len(states) && err == nil; i++ {
		w.most = i
		if err = e.Apply(ctx, batchBetween(states[i-1], states[i])); err != nil {
			break
		}
		w.least = i
		switch {
		case i%12 == 0:
			err = e.Compact(ctx)
		case i%5 == 0:
			err = e.Flush(ctx)
		}
	}
	if _, serr := e.Search(ctx, Match{Field: "text", Text: "w1 w2"}, nil); serr != nil {
		t.Errorf("after %v: search: %v", err, serr)
	}
	closed := make(chan error)
	go func() { closed <- e.Close() }()
	select {
	case cerr := <-closed:
		return errors.Join(err, cerr)
	case <-time.After(30 * time.Second):
		t.Fatalf("after %v: Close hangs", err)
		return nil
	}
}

// TestSealFails makes the files of segments fail for a while. Writing them is retried, and nothing
// is lost.
func TestSealFails(t *testing.T) {
	var broken atomic.Bool
	mem := newCrashFS()
	fsys := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && strings.Contains(op.Path, "building") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return errorfs.ErrInjected
		}
		return nil
	}))
	var told atomic.Int64
	// A late merge would fail, too: a segment whose only document is replaced below.
	opts := Options{Listener: &Listener{Failed: func(error) { told.Add(1) }}, Merge: MergeOptions{Disabled: true}}
	e, err := tuning{opts: opts}.open(worldDir, fsys)
	if err != nil {
		t.Fatal(err)
	}
	want := model{}
	put := func(id string) {
		t.Helper()
		want[id] = modelDoc{"text": "w1 " + id}
		if err := e.Put(ctx, id, map[string]any(want[id])); err != nil {
			t.Fatal(err)
		}
	}
	put("a")
	if err := e.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	for _, id := range []string{"b", "a", "c"} {
		put(id)
		if err := e.Flush(ctx); !errors.Is(err, errorfs.ErrInjected) {
			t.Fatalf("flush to a broken disk: %v", err)
		}
	}
	if _, err := findState(e, []model{want}); err != nil {
		t.Error(err)
	}
	broken.Store(false)
	if err := e.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	put("d")
	if err := errors.Join(checkAll(e), e.Close()); err != nil {
		t.Fatal(err)
	}
	if told.Load() != 3 {
		t.Errorf("the listener was told of %d failures, want 3", told.Load())
	}
	if names, err := mem.List(filepath.Join(worldDir, "building")); err == nil && len(names) > 0 {
		t.Errorf("files left behind: %q", names)
	}
	e, err = tuning{}.open(worldDir, mem)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := findState(e, []model{want}); err != nil {
		t.Error(err)
	}
}

// TestMergeUnreadable makes reads fail just when a merge has been committed. Memory is then behind
// the disk: nothing more is merged or sealed until the new segment can be read.
func TestMergeUnreadable(t *testing.T) {
	var armed, broken atomic.Bool
	mem := newCrashFS()
	fsys := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpLink && armed.Load() {
			broken.Store(true)
		}
		if broken.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsRead && strings.HasSuffix(op.Path, ".sst") {
			return errorfs.ErrInjected
		}
		return nil
	}))
	tu := tuning{opts: Options{Merge: MergeOptions{Disabled: true}}}
	e, err := tu.open(worldDir, fsys)
	if err != nil {
		t.Fatal(err)
	}
	want := model{}
	put := func(id string) {
		t.Helper()
		want[id] = modelDoc{"text": "w1 " + id}
		if err := e.Put(ctx, id, map[string]any(want[id])); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"a", "b", "c"} {
		put(id)
		if err := e.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	armed.Store(true)
	if err := e.Compact(ctx); !errors.Is(err, errorfs.ErrInjected) {
		t.Fatalf("compact onto a disk that cannot be read: %v", err)
	}
	armed.Store(false)
	if err := e.Compact(ctx); !errors.Is(err, errorfs.ErrInjected) {
		t.Errorf("compact while the new segment cannot be read: %v", err)
	}
	broken.Store(false)
	put("d")
	put("a")
	if err := e.Flush(ctx); err != nil {
		t.Errorf("flush afterwards: %v", err)
	}
	if n := len(e.probe().Disks()); n != 2 {
		t.Errorf("%d sealed segments, want that of the merge and a new one", n)
	}
	if _, err := findState(e, []model{want}); err != nil {
		t.Errorf("the engine that failed: %v", err)
	}
	put("e")
	if err := errors.Join(e.Compact(ctx), checkAll(e), e.Close()); err != nil {
		t.Fatal(err)
	}
	e, err = tu.open(worldDir, mem)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := findState(e, []model{want}); err != nil {
		t.Error(err)
	}
	if err := errors.Join(checkAll(e), e.Flush(ctx)); err != nil {
		t.Error(err)
	}
}
