package riffle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestContextsWhileDiskHangs blocks every operation of the disk. Calls that wait for one return
// when their contexts end, and Close succeeds once the disk works again.
func TestContextsWhileDiskHangs(t *testing.T) {
	calls := map[string]func(context.Context, *Engine) error{
		"Check":      func(ctx context.Context, e *Engine) error { return e.Check(ctx, func(err error) { t.Error(err) }) },
		"Checkpoint": func(ctx context.Context, e *Engine) error { return e.Checkpoint(ctx, "copy") },
		"Compact":    func(ctx context.Context, e *Engine) error { return e.Compact(ctx) },
		"Flush":      func(ctx context.Context, e *Engine) error { return e.Flush(ctx) },
		"Put":        func(ctx context.Context, e *Engine) error { return e.Put(ctx, "new", map[string]any{"num": 1}) },
		"Sizes":      func(ctx context.Context, e *Engine) error { return discardSizes(e.Sizes(ctx)) },
		"Sync":       func(ctx context.Context, e *Engine) error { return e.Sync(ctx) },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			d := newDam()
			var armed atomic.Bool
			mem := newCrashFS()
			fsys := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if armed.Load() {
					d.pass()
				}
				return nil
			}))
			tu := tuning{opts: Options{Merge: MergeOptions{Disabled: true}}}
			tu.opts.private.store.CacheBytes = 1
			if name == "Sync" { // else there is nothing to sync
				tu.opts.Durability = SyncNone
			}
			e, err := tu.open(worldDir, fsys)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				if err := e.Put(ctx, fmt.Sprint(i), map[string]any{"text": "w1 w2"}); err != nil {
					t.Fatal(err)
				}
				if i < 2 {
					if err := e.Flush(ctx); err != nil {
						t.Fatal(err)
					}
				}
			}
			d.shut()
			armed.Store(true)
			c, cancel := context.WithCancel(ctx)
			defer cancel()
			go func() {
				<-d.held // the call, or its goroutine, waits for the disk
				cancel()
			}()
			if err := call(c, e); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			if n := lenOf(t, e); n != 3 {
				t.Errorf("%d documents, want 3", n)
			}
			d.lift()
			armed.Store(false)
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			if e, err = tu.open(worldDir, mem); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(checkAll(e), e.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

func discardSizes(_ Sizes, err error) error { return err }

// TestEndedContext: calls with an ended context return its error and do nothing else.
func TestEndedContext(t *testing.T) {
	e := openForClosing(t, newCrashFS(), 2)
	s, err := e.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	q := Match{Field: "text", Text: "w1 w2"}
	load := &SearchOptions{Load: []string{"*"}}
	discard := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"Put":                  e.Put(ended, "x", map[string]any{"num": 1}),
		"Delete":               e.Delete(ended, "d7"),
		"Sync":                 e.Sync(ended),
		"Flush":                e.Flush(ended),
		"Compact":              e.Compact(ended),
		"Checkpoint":           e.Checkpoint(ended, "copy"),
		"Check":                e.Check(ended, func(err error) { t.Error(err) }),
		"Sizes":                discardSizes(e.Sizes(ended)),
		"Search":               discard(e.Search(ended, q, load)),
		"SearchBatch":          discard(e.SearchBatch(ended, []Query{q}, nil)),
		"Count":                discard(e.Count(ended, q)),
		"Get":                  discard(e.Get(ended, "d7")),
		"Explain":              discard(e.Explain(ended, q, "d7", nil)),
		"Warm":                 e.Warm(ended, []Query{q}, nil),
		"Snapshot.Search":      discard(s.Search(ended, q, load)),
		"Snapshot.SearchBatch": discard(s.SearchBatch(ended, []Query{q}, nil)),
		"Snapshot.Count":       discard(s.Count(ended, q)),
		"Snapshot.Get":         discard(s.Get(ended, "d7")),
		"Snapshot.Explain":     discard(s.Explain(ended, q, "d7", nil)),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !has(t, e, "d7") || has(t, e, "x") {
		t.Error("a call with a context that had ended changed the index")
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// TestListenerHearsOfFailingFlushes makes the store's own tables fail for a while, as for lack of
// space or descriptors. Puts and searches continue, the Listener is notified but not flooded, and
// nothing hangs.
func TestListenerHearsOfFailingFlushes(t *testing.T) {
	var broken atomic.Bool
	mem := newCrashFS()
	fsys := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.HasSuffix(op.Path, ".sst") && !strings.Contains(op.Path, "building") {
			return errorfs.ErrInjected
		}
		return nil
	}))
	told := make(chan error, 1000)
	tu := tuning{opts: Options{Merge: MergeOptions{Disabled: true}, Listener: &Listener{Failed: func(err error) { told <- err }}}}
	e, err := tu.open(worldDir, fsys)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Put(ctx, "a", map[string]any{"num": 1}), e.Flush(ctx), e.Put(ctx, "b", map[string]any{"num": 2})); err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	if err := e.probe().Store().Compact(ctx); !errors.Is(err, errorfs.ErrInjected) {
		t.Errorf("compact: %v", err)
	}
	if err := <-told; !errors.Is(err, errorfs.ErrInjected) {
		t.Errorf("the listener was told of %v", err)
	}
	if err := e.Put(ctx, "c", map[string]any{"num": 3}); err != nil {
		t.Error(err)
	}
	if _, err := e.Stats(); err != nil {
		t.Error(err)
	}
	if len(told) > 10 {
		t.Errorf("the listener was told of %d further failures", len(told))
	}
	broken.Store(false)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if e, err = tu.open(worldDir, mem); err != nil {
		t.Fatal(err)
	}
	if _, err := findState(e, []model{{"a": {"num": 1}, "b": {"num": 2}, "c": {"num": 3}}}); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
