package riffle

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// publicCalls returns every method of Engine and Snapshot as a call that can be repeated; i is the
// number of the call. Calls of methods without an error return ErrClosed where they can tell.
func publicCalls(e *Engine, s *Snapshot) map[string]func(i int) error {
	q := Match{Field: "text", Text: "w1 w2"}
	load := &SearchOptions{Load: []string{"*"}}
	batch := func(i int) *Batch {
		var b Batch
		b.Put(fmt.Sprint("new", i%10), map[string]any{"text": "w1 w9"})
		b.Delete(fmt.Sprint("new", (i+5)%10))
		return &b
	}
	discard := func(_ any, err error) error { return err }
	return map[string]func(i int) error{
		"Engine.Analyzer":       func(int) error { return discard(e.Analyzer("")) },
		"Engine.Apply":          func(i int) error { return e.Apply(ctx, batch(i)) },
		"Engine.CachedLists":    func(int) error { return discard(e.CachedLists(10)) },
		"Engine.GPUCachedLists": func(int) error { return discard(e.GPUCachedLists(10)) },
		"Engine.SetCacheBytes":  func(i int) error { return e.SetCacheBytes(int64(1+i%4) << 20) },
		"Engine.Fields":         func(int) error { return discard(e.Fields()) },
		"Engine.Postings":       func(int) error { return discard(e.Postings(ctx, "text", "w1", nil)) },
		"Snapshot.Postings":     func(int) error { return discard(s.Postings(ctx, "text", "w1", nil)) },
		"Engine.Check":          func(int) error { return checkAll(e) },
		"Engine.Checkpoint":     func(i int) error { return e.Checkpoint(ctx, fmt.Sprint("copy", copies.Add(1))) },
		"Engine.Close":          func(int) error { return nil }, // called by the test
		"Engine.Compact":        func(int) error { return e.Compact(ctx) },
		"Engine.Count":          func(int) error { return discard(e.Count(ctx, q)) },
		"Engine.DeleteByQuery": func(i int) error {
			return discard(e.DeleteByQuery(ctx, IDs{[]string{fmt.Sprint("new", i%10)}}, nil))
		},
		"Engine.Validate": func(i int) error { return e.Validate(ctx, batch(i)) },
		"Engine.UpdateByQuery": func(i int) error {
			change := func(Document) (map[string]any, error) { return map[string]any{"n": i}, nil }
			return discard(e.UpdateByQuery(ctx, IDs{[]string{fmt.Sprint("new", i%10)}}, change, nil))
		},
		"Engine.Delete":      func(i int) error { return e.Delete(ctx, fmt.Sprint("new", i%10)) },
		"Engine.Document":    func(i int) error { return discard(e.Document(ctx, fmt.Sprint("d", i*97%400))) },
		"Engine.Explain":     func(int) error { return discard(e.Explain(ctx, q, "d7", nil)) },
		"Engine.Flush":       func(int) error { return e.Flush(ctx) },
		"Engine.Get":         func(i int) error { return discard(e.Get(ctx, fmt.Sprint("d", i*97%400))) },
		"Engine.Highlighter": func(int) error { return discard(e.Highlighter(ctx, q, nil)) },
		"Engine.Len":         func(int) error { return discard(e.Len()) },
		"Engine.Position":    func(int) error { return discard(e.Position()) },
		"Engine.Put":         func(i int) error { return e.Put(ctx, fmt.Sprint("new", i%10), map[string]any{"text": "w1"}) },
		"Engine.Schema":      func(int) error { return discard(e.Schema(), nil) },
		"Engine.Search":      func(int) error { return discard(e.Search(ctx, q, load)) },
		"Engine.SearchBatch": func(int) error { return discard(e.SearchBatch(ctx, []Query{q, q, q, q}, load)) },
		"Engine.Sizes":       func(int) error { return discard(e.Sizes(ctx)) },
		"Engine.Snapshot": func(int) error {
			s, err := e.Snapshot()
			if err == nil {
				s.Close()
			}
			return err
		},
		"Engine.Statistics": func(int) error { return discard(e.Statistics(ctx, q, nil)) },
		"Engine.Stats":      func(int) error { return discard(e.Stats()) },
		"Engine.Submit": func(i int) error {
			p, err := e.Submit(ctx, batch(i))
			if err != nil {
				return err
			}
			return p.Wait(ctx)
		},
		"Engine.Suggest": func(int) error { return discard(e.Suggest(ctx, "text", "w", nil)) },
		"Engine.Terms":   func(int) error { return lastOf(e.Terms(ctx, "text", "")) },
		"Engine.Sync":    func(int) error { return e.Sync(ctx) },
		"Engine.Warm":    func(int) error { return e.Warm(ctx, []Query{q, q}, nil) },
		"Snapshot.Close": func(int) error { return nil }, // called during Snapshot.Get
		"Snapshot.Count": func(int) error { return discard(s.Count(ctx, q)) },
		"Snapshot.CountTerms": func(int) error {
			return s.CountTerms(ctx, q, "text", "", func([]byte, int, int) error { return nil })
		},
		"Snapshot.Document":    func(i int) error { return discard(s.Document(ctx, fmt.Sprint("d", i*97%400))) },
		"Snapshot.Documents":   func(int) error { return lastOf(s.Documents("")) },
		"Snapshot.Explain":     func(int) error { return discard(s.Explain(ctx, q, "d7", nil)) },
		"Snapshot.Get":         func(i int) error { return discard(s.Get(ctx, fmt.Sprint("d", i*97%400))) },
		"Snapshot.Highlighter": func(int) error { return discard(s.Highlighter(ctx, q, nil)) },
		"Snapshot.IDs":         func(int) error { return lastOf(s.IDs("")) },
		"Snapshot.Len":         func(int) error { return discard(s.Len()) },
		"Snapshot.Position":    func(int) error { return discard(s.Position()) },
		"Snapshot.Revision":    func(int) error { return discard(s.Revision()) },
		"Snapshot.Statistics":  func(int) error { return discard(s.Statistics(ctx, q, nil)) },
		"Snapshot.Search":      func(int) error { return discard(s.Search(ctx, q, load)) },
		"Snapshot.Suggest":     func(int) error { return discard(s.Suggest(ctx, "text", "w", nil)) },
		"Snapshot.Terms":       func(int) error { return lastOf(s.Terms(ctx, "text", "")) },
		"Snapshot.SearchBatch": func(int) error { return discard(s.SearchBatch(ctx, []Query{q, q, q, q}, load)) },
		"Snapshot.Version":     func(int) error { return discard(s.Version()) },
	}
}

var copies atomic.Int64 // names the checkpoints

// lastOf walks to the end and returns the last error.
func lastOf[T any](seq func(func(T, error) bool)) (last error) {
	for _, last = range seq {
	}
	return last
}

// openForClosing opens an index of two segments and some documents in memory, with a store that
// caches almost nothing, so that calls read.
func openForClosing(t *testing.T, fsys *crashFS, segments int) *Engine {
	t.Helper()
	tu := tuning{opts: Options{GPU: &GPUOptions{}, Merge: MergeOptions{Disabled: true}, Durability: SyncNone}}
	tu.opts.private.accelerator = overDevices(new(halfDevice))
	tu.opts.private.store.CacheBytes = 1
	e, err := tu.open(worldDir, fsys)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	for s := range segments {
		var b Batch
		for i := range 200 {
			b.Put(fmt.Sprint("d", s*200+i), map[string]any{"text": fmt.Sprintf("w%d w%d ", i%3, i%7) + strings.Repeat(fmt.Sprint("x", i, " "), 50)})
		}
		if err := errors.Join(e.Apply(ctx, &b), e.Flush(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// TestCloseWaitsForReaders closes an engine while each of its methods, and of those of a snapshot,
// is called repeatedly. Calls succeed or return ErrClosed, Close succeeds, and the directory can be
// reopened at once.
func TestCloseWaitsForReaders(t *testing.T) {
	rounds := 2
	if brief() {
		rounds = 1
	}
	fsys := newCrashFS()
	if err := openForClosing(t, fsys, 2).Close(); err != nil {
		t.Fatal(err)
	}
	methods := publicCalls(nil, nil)
	for _, v := range []any{(*Engine)(nil), (*Snapshot)(nil)} {
		for m := range reflect.TypeOf(v).Methods() {
			name := reflect.TypeOf(v).Elem().Name() + "." + m.Name
			if methods[name] == nil {
				t.Errorf("%s is not tested", name)
			}
		}
	}
	for name := range methods {
		for round := range rounds {
			e := openForClosing(t, fsys, 0)
			s, err := e.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			call := publicCalls(e, s)[name]
			if name == "Snapshot.Close" {
				call = func(i int) error {
					_, err := s.Get(ctx, "d7")
					s.Close()
					return err
				}
			}
			var busy, started sync.WaitGroup
			done := make(chan struct{})
			for w := range 3 {
				started.Add(1)
				busy.Go(func() {
					for i := 0; ; i++ {
						err := call(1000*w + i)
						if i == 0 {
							started.Done()
						}
						switch {
						case errors.Is(err, ErrClosed):
							return
						case err != nil && !errors.Is(err, ErrNoDevice) && !errors.Is(err, ErrNotFound):
							t.Errorf("%s: %v", name, err)
							return
						}
						select {
						case <-done: // for methods that never fail
							return
						default:
						}
					}
				})
			}
			started.Wait()
			for range round * 10 {
				runtime.Gosched()
			}
			if err := e.Close(); err != nil {
				t.Errorf("%s: close: %v", name, err)
			}
			close(done)
			again := openForClosing(t, fsys, 0)
			busy.Wait()
			s.Close()
			if err := errors.Join(e.Close(), again.Close()); err != nil {
				t.Errorf("%s: close again: %v", name, err)
			}
		}
	}
}

// TestCloseTwice: concurrent calls of Close all return when the index is closed.
func TestCloseTwice(t *testing.T) {
	fsys := newCrashFS()
	e := openForClosing(t, fsys, 1)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			if _, err := e.Stats(); !errors.Is(err, ErrClosed) {
				t.Errorf("Stats after Close: %v", err)
			}
		})
	}
	all.Wait()
	if err := openForClosing(t, fsys, 0).Close(); err != nil {
		t.Error(err)
	}
}

// TestCloseInCallbacks closes an engine from code that its own calls run: the body of a loop over
// documents or ids, and the function passed to Check.
func TestCloseInCallbacks(t *testing.T) {
	t.Run("Documents", func(t *testing.T) {
		fsys := newCrashFS()
		e := openForClosing(t, fsys, 1)
		s, err := e.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		seen := 0
		for _, err := range s.Documents("") {
			if seen++; seen == 1 {
				if err := errors.Join(err, e.Close()); err != nil {
					t.Fatal(err)
				}
			} else if !errors.Is(err, ErrClosed) {
				t.Errorf("document %d: %v", seen, err)
			}
		}
		if seen != 2 {
			t.Errorf("%d documents and errors, want 2", seen)
		}
		if err := openForClosing(t, fsys, 0).Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("Check", func(t *testing.T) {
		e := openForClosing(t, newCrashFS(), 1)
		if err := errors.Join(e.Put(ctx, "d7", map[string]any{"text": "again"}), e.Flush(ctx)); err != nil {
			t.Fatal(err)
		}
		e.probe().Undelete() // two live documents with one id: a fault
		reports := 0
		err := e.Check(ctx, func(fault error) {
			if reports++; !errors.Is(fault, ErrCorrupt) {
				t.Error(fault)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
		if reports == 0 || err != nil && !errors.Is(err, ErrClosed) {
			t.Errorf("%d faults reported, Check returns %v", reports, err)
		}
	})
}
