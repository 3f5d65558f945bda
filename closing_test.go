package riffle

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestCloseWhileBusy closes an engine under load. Close waits for calls that cannot be interrupted,
// and calls succeed or return ErrClosed. Then the directory is free.
func TestCloseWhileBusy(t *testing.T) {
	for round := range 4 {
		dir := t.TempDir()
		tu := tuning{memory: tinyMemory, opts: Options{Durability: SyncNone, Schema: modelSchema, Merge: MergeOptions{SegmentsPerTier: 2}}}
		e, err := tu.open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		for v := range 20 {
			if err := e.Apply(ctx, stressBatch(0, v+1)); err != nil {
				t.Fatal(err)
			}
		}
		held, err := e.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		calls := map[string]func(i int) error{
			"Apply":      func(i int) error { return e.Apply(ctx, stressBatch(0, i+21)) },
			"Flush":      func(int) error { return e.Flush(ctx) },
			"Compact":    func(int) error { return e.Compact(ctx) },
			"Check":      func(int) error { return checkAll(e) },
			"Checkpoint": func(i int) error { return e.Checkpoint(t.Context(), filepath.Join(t.TempDir(), fmt.Sprint(i))) },
			"Search": func(int) error {
				_, err := e.Search(ctx, Match{Field: "text", Text: "w1 w2"}, &SearchOptions{Load: []string{"*"}})
				return err
			},
			"Documents of a snapshot": func(int) error {
				for _, err := range held.Documents("") {
					if err != nil {
						return err
					}
				}
				return nil
			},
			"Stats": func(int) error { _, err := e.Stats(); return err },
		}
		var busy, started sync.WaitGroup
		for name, call := range calls {
			started.Add(1)
			busy.Go(func() {
				for i := 0; ; i++ {
					err := call(i)
					if i == 0 {
						started.Done()
					}
					time.Sleep(time.Millisecond)
					if errors.Is(err, ErrClosed) {
						return
					}
					if err != nil {
						t.Errorf("round %d: %s: %v", round, name, err)
						return
					}
				}
			})
		}
		started.Wait()
		if err := e.Close(); err != nil {
			t.Errorf("round %d: close: %v", round, err)
		}
		again, err := tu.open(dir, nil)
		if err != nil {
			t.Fatalf("round %d: open again, at once: %v", round, err)
		}
		busy.Wait()
		held.Close()
		if err := errors.Join(checkAll(again), again.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestCloseInLoop closes an engine in the loop over its documents, which holds nothing of the store
// while the caller's body runs.
func TestCloseInLoop(t *testing.T) {
	fsys := newCrashFS()
	e, s := twoSegments(t, fsys)
	defer s.Close()
	var ends error
	for id, err := range s.IDs("") {
		if ends = err; id == "a" {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if ends != nil && !errors.Is(ends, ErrClosed) {
		t.Error(ends)
	}
	if e, err := (tuning{}).open(worldDir, fsys); err != nil {
		t.Error(err)
	} else if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// TestCloseDuringCheck closes an engine while Check is blocked in a read. Close waits for it. It
// neither fails nor leaves the store open.
func TestCloseDuringCheck(t *testing.T) {
	mem := newCrashFS()
	var armed atomic.Bool
	reading, goOn := make(chan struct{}), make(chan struct{})
	e, s := twoSegments(t, errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileReadAt && armed.CompareAndSwap(true, false) {
			close(reading)
			<-goOn
		}
		return nil
	})))
	s.Close()
	armed.Store(true)
	checked, closed := make(chan error, 1), make(chan error, 1)
	go func() { checked <- checkAll(e) }()
	<-reading
	go func() { closed <- e.Close() }()
	select {
	case err := <-closed:
		t.Fatalf("closed during a check: %v", err)
	case <-time.After(100 * time.Millisecond): // long enough to catch a Close that does not wait
	}
	close(goOn)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := <-checked; err != nil && !errors.Is(err, ErrClosed) {
		t.Errorf("check: %v", err)
	}
	if e, err := (tuning{}).open(worldDir, mem); err != nil {
		t.Error(err)
	} else if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// twoSegments opens an index of documents a and b, each in a segment of its own, with a store that
// caches almost nothing.
func twoSegments(t *testing.T, fsys vfs.FS) (*Engine, *Snapshot) {
	t.Helper()
	tu := tuning{}
	tu.opts.private.store.CacheBytes = 1
	e, err := tu.open(worldDir, fsys)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		if err := errors.Join(e.Put(ctx, id, map[string]any{"text": id}), e.Flush(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := e.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return e, s
}
