package riffle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// isLogSync reports whether an operation makes the log durable.
func isLogSync(op errorfs.Op) bool {
	return (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo) && strings.HasSuffix(op.Path, ".log")
}

// A dam blocks operations of a file system while it is shut.
type dam struct {
	mu   sync.Mutex
	open chan struct{} // closed when operations may pass; nil when they may
	held chan struct{} // receives a value when one is blocked
}

func newDam() *dam { return &dam{held: make(chan struct{}, 100)} }

func (d *dam) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = make(chan struct{})
}

func (d *dam) lift() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open != nil {
		close(d.open)
		d.open = nil
	}
}

func (d *dam) pass() {
	d.mu.Lock()
	open := d.open
	d.mu.Unlock()
	if open != nil {
		d.held <- struct{}{}
		<-open
	}
}

// has reports whether an index has a document.
func has(t *testing.T, e *Engine, id string) bool {
	t.Helper()
	_, err := e.Get(ctx, id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		t.Errorf("get %s: %v", id, err)
	}
	return err == nil
}

// TestFailedApplyIsInvisible makes syncs of the log fail. The batch is not acknowledged, so no
// search may see it, or any later batch.
func TestFailedApplyIsInvisible(t *testing.T) {
	var broken atomic.Bool
	fsys := errorfs.Wrap(newCrashFS(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && isLogSync(op) {
			return errorfs.ErrInjected
		}
		return nil
	}))
	var told atomic.Int64
	e, err := tuning{opts: Options{Listener: &Listener{Failed: func(error) { told.Add(1) }}}}.open(worldDir, fsys)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Put(ctx, "before", map[string]any{"text": "w1"}); err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	for _, id := range []string{"failed", "behind"} {
		if err := e.Put(ctx, id, map[string]any{"text": "w1"}); err == nil {
			t.Errorf("put %q succeeds, without a log", id)
		}
		if has(t, e, id) || lenOf(t, e) != 1 {
			t.Errorf("%q is visible, though Apply failed", id)
		}
	}
	if err := e.Delete(ctx, "before"); err == nil || !has(t, e, "before") {
		t.Errorf("a deletion that fails (%v) is visible", err)
	}
	if told.Load() != 1 {
		t.Errorf("the listener was told %d times, want once", told.Load())
	}
}

// TestApplyContextWhileLogHangs blocks the sync of the log. Applies whose contexts end return, and
// all else continues. When the disk works again the batches appear in order, whatever their callers
// have done with them.
func TestApplyContextWhileLogHangs(t *testing.T) {
	d := newDam()
	fsys := errorfs.Wrap(newCrashFS(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if isLogSync(op) {
			d.pass()
		}
		return nil
	}))
	e, err := tuning{opts: Options{Merge: MergeOptions{Disabled: true}}}.open(worldDir, fsys)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Put(ctx, "x", map[string]any{"num": 0}), e.Flush(ctx)); err != nil {
		t.Fatal(err)
	}
	d.shut()
	for i := range 3 {
		var b Batch
		b.Put("x", map[string]any{"num": i + 1})
		b.Put(fmt.Sprint("new", i), map[string]any{"num": i + 1})
		c, cancel := context.WithCancel(ctx)
		for wait := 10 * time.Millisecond; ; wait *= 2 {
			if i == 0 {
				go func() { <-d.held; cancel() }()
			} else {
				time.AfterFunc(wait, cancel)
			}
			err := e.Apply(c, &b)
			if errors.Is(err, ErrPending) && errors.Is(err, context.Canceled) {
				break
			}
			if i == 0 || !errors.Is(err, context.Canceled) || wait > 10*time.Second {
				t.Fatalf("batch %d: %v", i, err)
			}
			c, cancel = context.WithCancel(ctx) // the machine was late, and the batch is not in the log
		}
		b.Reset()
		b.Put("y", map[string]any{"num": 7})
		cancel()
	}
	if st, err := e.Stats(); err != nil || st.Docs != 1 {
		t.Errorf("Stats while the log hangs: %+v, %v", st, err)
	}
	if doc, err := e.Get(ctx, "x"); err != nil || doc["num"] != int64(0) {
		t.Errorf("a batch that is not durable is visible: %v, %v", doc, err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := e.Put(ended, "z", map[string]any{"num": 1}); !errors.Is(err, context.Canceled) || errors.Is(err, ErrPending) {
		t.Errorf("a context that ended before: %v", err)
	}
	d.lift()
	if err := e.Put(ctx, "last", map[string]any{"num": 1}); err != nil {
		t.Fatal(err)
	}
	want := model{"x": {"num": 3}, "new0": {"num": 1}, "new1": {"num": 2}, "new2": {"num": 3}, "last": {"num": 1}}
	if _, err := findState(e, []model{want}); err != nil {
		t.Error(err)
	}
	if err := errors.Join(checkAll(e), e.Close()); err != nil {
		t.Error(err)
	}
}

// TestCloseWaitsForPending closes an engine while the log hangs with a batch whose caller has left.
func TestCloseWaitsForPending(t *testing.T) {
	d := newDam()
	mem := newCrashFS()
	fsys := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if isLogSync(op) {
			d.pass()
		}
		return nil
	}))
	e, err := tuning{}.open(worldDir, fsys)
	if err != nil {
		t.Fatal(err)
	}
	d.shut()
	c, cancel := context.WithCancel(ctx)
	go func() { <-d.held; cancel() }()
	if err := e.Put(c, "x", map[string]any{"num": 1}); !errors.Is(err, ErrPending) {
		t.Fatal(err)
	}
	closed := make(chan error)
	go func() { closed <- e.Close() }()
	runtime.Gosched()
	d.lift()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if e, err = (tuning{}).open(worldDir, mem); err != nil {
		t.Fatal(err)
	}
	if !has(t, e, "x") {
		t.Error("the pending batch is lost")
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// TestCallsWhileSealHangs blocks the files of a seal while memory is full. Calls that must wait for
// it obey their contexts, and all else continues.
func TestCallsWhileSealHangs(t *testing.T) {
	d := newDam()
	fsys := errorfs.Wrap(newCrashFS(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.Contains(op.Path, "building") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			d.pass()
		}
		return nil
	}))
	e, err := tuning{memory: tinyMemory, opts: Options{Merge: MergeOptions{Disabled: true}}}.open(worldDir, fsys)
	if err != nil {
		t.Fatal(err)
	}
	d.shut()
	applied, batches := 0, 0
	for full := false; !full; {
		c, cancel := context.WithCancel(ctx)
		stop := time.AfterFunc(50*time.Millisecond, cancel) // some Puts are late; they are then retried
		err := e.Put(c, fmt.Sprint(applied), map[string]any{"text": strings.Repeat(fmt.Sprintf("w%d ", applied), 100)})
		stop.Stop()
		cancel()
		switch {
		case err == nil || errors.Is(err, ErrPending):
			applied++
		case !errors.Is(err, context.Canceled):
			t.Fatal(err)
		default:
			runs, out := e.probe().Sealing()
			full = runs && out
		}
		if batches++; batches > 10_000 {
			t.Fatal("memory does not become full")
		}
	}
	for name, call := range map[string]func(context.Context) error{
		"Flush":   e.Flush,
		"Compact": e.Compact,
		"Delete":  func(ctx context.Context) error { return e.Delete(ctx, "0") },
	} {
		c, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		if err := call(c); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s while a seal hangs: %v", name, err)
		}
		cancel()
	}
	if _, err := e.Stats(); err != nil {
		t.Error(err)
	}
	if err := e.Sync(ctx); err != nil {
		t.Error(err)
	}
	if n, err := e.Count(ctx, All{}); err != nil || n != applied {
		t.Errorf("%d documents, %v, want %d", n, err, applied)
	}
	d.lift()
	if err := errors.Join(e.Delete(ctx, "0"), e.Flush(ctx), checkAll(e), e.Close()); err != nil {
		t.Error(err)
	}
}

// TestApplyWaitsForOrder: a batch that waits for its place in the log can be cancelled, and then
// nothing of it has happened.
func TestApplyWaitsForOrder(t *testing.T) {
	e, err := tuning{}.open(worldDir, newCrashFS())
	if err != nil {
		t.Fatal(err)
	}
	release := e.probe().HoldLog()
	c, cancel := context.WithCancel(ctx)
	waits := make(chan error)
	go func() { waits <- e.Put(c, "x", map[string]any{"num": 1}) }()
	runtime.Gosched()
	cancel()
	if err := <-waits; !errors.Is(err, context.Canceled) || errors.Is(err, ErrPending) {
		t.Error(err)
	}
	release()
	if n := e.probe().UnderWay(); n > 0 {
		t.Errorf("%d batches are still under way", n)
	}
	if err := e.Put(ctx, "y", map[string]any{"num": 1}); err != nil {
		t.Error(err)
	}
	if has(t, e, "x") {
		t.Error("a batch that was broken off is visible")
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// TestApplyWhileSegmentsMove seals and merges segments, and replaces documents, between the locate
// and the insert of a batch.
func TestApplyWhileSegmentsMove(t *testing.T) {
	put := func(id string, n int) func(*Engine) error {
		return func(e *Engine) error { return e.Put(ctx, id, map[string]any{"num": n}) }
	}
	flush := func(e *Engine) error { return e.Flush(ctx) }
	compact := func(e *Engine) error { return e.Compact(ctx) }
	remove := func(id string) func(*Engine) error {
		return func(e *Engine) error { return e.Delete(ctx, id) }
	}
	sealing := func(e *Engine) error { // begins, and ends at any time
		e.probe().StartSeal()
		return nil
	}
	steps := []func(*Engine) error{put("x", 2), put("y", 2), put("z", 2), flush, compact, remove("x"), remove("z"), sealing}
	rng := rand.New(rand.NewPCG(seedOf(t), 5))
	rounds := 400
	if brief() {
		rounds = 60
	}
	for range rounds {
		e, err := tuning{opts: Options{Durability: SyncNone, Merge: MergeOptions{Disabled: true}}}.open(worldDir, newCrashFS())
		if err != nil {
			t.Fatal(err)
		}
		history := ""
		some := func(n int) {
			for range rng.IntN(n) {
				i := rng.IntN(len(steps))
				history += fmt.Sprint(" ", i)
				if err := steps[i](e); err != nil {
					t.Fatal(err)
				}
			}
		}
		some(8)
		var b Batch
		b.Put("x", map[string]any{"num": 10})
		b.Delete("y")
		b.Put("z", map[string]any{"num": 11})
		b.Put("x", map[string]any{"num": 12})
		history += " locate"
		finish, err := e.probe().Locate(ctx, b.ops, "")
		if err != nil {
			t.Fatal(err)
		}
		some(8)
		if err := finish(); err != nil {
			t.Fatal(err)
		}
		if _, err := findState(e, []model{{"x": {"num": 12}, "z": {"num": 11}}}); err != nil {
			t.Fatalf("after%s: %v", history, err)
		}
		if err := errors.Join(e.Flush(ctx), checkAll(e), e.Close()); err != nil {
			t.Fatalf("after%s: %v", history, err)
		}
	}
}

// TestConcurrentWriters makes writers replace the same documents, during constant seals and merges.
// Each batch puts or deletes a pair. The final state follows the log's order, which a crash and a
// replay show.
func TestConcurrentWriters(t *testing.T) {
	const writers, pairs = 8, 20
	batches := 150
	if brief() {
		batches = 40
	}
	mem := newCrashFS()
	tu := tuning{memory: tinyMemory, opts: Options{Merge: MergeOptions{SegmentsPerTier: 2}}}
	e, err := tu.open(worldDir, mem)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var late atomic.Int64
	for w := range writers {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(seedOf(t), uint64(w)))
			for i := range batches {
				var b Batch
				pair := rng.IntN(pairs)
				for _, half := range []string{"left", "right"} {
					if id := fmt.Sprint(pair, half); i%5 == 4 {
						b.Delete(id)
					} else {
						b.Put(id, map[string]any{"text": fmt.Sprintf("w%d", rng.IntN(30)), "num": 1000*w + i})
					}
				}
				c, cancel := context.WithCancel(ctx)
				if i%7 == 6 {
					time.AfterFunc(time.Duration(rng.IntN(300))*time.Microsecond, cancel)
				}
				err := e.Apply(c, &b)
				cancel()
				switch {
				case errors.Is(err, context.Canceled):
					late.Add(1)
					b.Reset()
				case err != nil:
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if err := e.Put(ctx, "last", map[string]any{"num": 1}); err != nil { // after those whose callers have left
		t.Fatal(err)
	}
	state := documents(t, e)
	for pair := range pairs {
		left, right := state[fmt.Sprint(pair, "left")], state[fmt.Sprint(pair, "right")]
		if (left == nil) != (right == nil) || left != nil && left["num"] != right["num"] {
			t.Errorf("half a batch: %v and %v", left, right)
		}
	}
	if err := checkAll(e); err != nil {
		t.Error(err)
	}
	crashed := mem.crash(0, rand.New(rand.NewPCG(1, 1)))
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if e, err = tu.open(worldDir, crashed); err != nil {
		t.Fatal(err)
	}
	if again := documents(t, e); !reflect.DeepEqual(again, state) {
		t.Errorf("after a crash\n%v\nbefore\n%v", again, state)
	}
	if err := errors.Join(checkAll(e), e.Close()); err != nil {
		t.Error(err)
	}
	t.Logf("%d of %d batches were broken off", late.Load(), writers*batches)
}

// documents reads all documents.
func documents(t *testing.T, e *Engine) map[string]map[string]any {
	t.Helper()
	s, err := e.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all := map[string]map[string]any{}
	for d, err := range s.Documents("") {
		if err != nil {
			t.Fatal(err)
		}
		all[d.ID] = d.Fields
	}
	return all
}

// TestNoFilesUnderLock: an engine never reads or writes a file while it holds the lock that Apply,
// Stats and Close take.
func TestNoFilesUnderLock(t *testing.T) {
	var e *Engine
	var armed, told atomic.Bool
	fsys := errorfs.Wrap(newCrashFS(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !armed.Load() || told.Load() {
			return nil
		}
		// Another goroutine may hold it for a moment. The goroutine of this operation would hold it
		// for good.
		for range 5000 {
			if e.probe().TryLock() {
				return nil
			}
			time.Sleep(time.Millisecond)
		}
		if told.CompareAndSwap(false, true) {
			stack := make([]byte, 1<<16)
			t.Errorf("%s under Index.mu\n%s", opText(op), stack[:runtime.Stack(stack, false)])
		}
		return nil
	}))
	tu := tuning{memory: tinyMemory, opts: Options{Merge: MergeOptions{SegmentsPerTier: 2}}}
	tu.opts.private.store.CacheBytes = 1
	e, err := tu.open(worldDir, fsys)
	if err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	r := modelQueries{rand.New(rand.NewPCG(seedOf(t), 6))}
	for i := range 60 {
		var b Batch
		for range 5 {
			b.Put(fmt.Sprintf("d%d", r.IntN(60)), map[string]any(r.doc()))
		}
		b.Delete(fmt.Sprintf("d%d", r.IntN(60)))
		err := e.Apply(ctx, &b)
		switch i % 15 {
		case 3:
			err = errors.Join(err, e.Flush(ctx))
		case 7:
			err = errors.Join(err, e.Compact(ctx))
		case 11:
			_, serr := e.Stats()
			err = errors.Join(err, serr, checkAll(e), e.Checkpoint(ctx, fmt.Sprint("copy", i)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
