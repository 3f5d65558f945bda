package riffle

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestSubmit keeps batches under way. They become visible in the order of the calls, although each
// replaces documents of the one before, and a Batch may be changed as soon as Submit has returned.
func TestSubmit(t *testing.T) {
	ix := newIndex(t, nil)
	var b Batch
	var under []*Pending
	want := model{}
	for i := range 40 {
		b.Reset()
		for j := range 20 {
			id := fmt.Sprint((i*7 + j) % 50)
			b.Put(id, map[string]any{"num": i})
			want[id] = modelDoc{"num": i}
		}
		gone := fmt.Sprint(i)
		b.Delete(gone)
		delete(want, gone)
		b.Position = fmt.Append(nil, i)
		p, err := ix.Submit(ctx, &b)
		if err != nil {
			t.Fatal(err)
		}
		if under = append(under, p); i%3 == 2 {
			ix.must(under[0].Wait(ctx))
			under = under[1:]
		}
	}
	ix.must(under[len(under)-1].Wait(ctx))
	s, err := ix.Snapshot()
	ix.must(err)
	ix.must(sameDocuments(s, want))
	s.Close()
	if at, err := ix.Position(); string(at) != "39" || err != nil {
		t.Errorf("position %q, %v", at, err)
	}
	for _, p := range under {
		ix.must(p.Wait(ctx))
	}
	b.Reset()
	b.Put("", nil)
	if _, err := ix.Submit(ctx, &b); !errors.As(err, new(*DocumentError)) {
		t.Errorf("a document without an id: %v", err)
	}
	b.Reset()
	p, err := ix.Submit(ctx, &b)
	ix.must(errors.Join(err, p.Wait(ctx))) // nothing to do
	ended, cancel := context.WithCancel(ctx)
	cancel()
	b.Put("x", map[string]any{"num": 1})
	if _, err := ix.Submit(ended, &b); !errors.Is(err, context.Canceled) || errors.Is(err, ErrPending) {
		t.Errorf("under a context that has ended: %v", err)
	}
	ix.must(ix.Close())
	if _, err := ix.Submit(ctx, &b); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestSubmitWhileLogHangs leaves batches alone while the log hangs. Wait obeys its context, may be
// called again, and Close waits for batches that nobody waits for.
func TestSubmitWhileLogHangs(t *testing.T) {
	d, mem := newDam(), newCrashFS()
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
	var first *Pending
	for i := range 3 {
		var b Batch
		b.Put("x", map[string]any{"num": i})
		p, err := e.Submit(ctx, &b)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = p
		}
	}
	c, cancel := context.WithCancel(ctx)
	go func() { <-d.held; cancel() }()
	if err := first.Wait(c); !errors.Is(err, ErrPending) || !errors.Is(err, context.Canceled) {
		t.Errorf("Wait: %v", err)
	}
	if has(t, e, "x") {
		t.Error("a batch that is not durable is visible")
	}
	closed := make(chan error)
	go func() { closed <- e.Close() }()
	runtime.Gosched()
	d.lift()
	if err := errors.Join(first.Wait(ctx), <-closed); err != nil {
		t.Fatal(err)
	}
	if e, err = (tuning{}).open(worldDir, mem); err != nil {
		t.Fatal(err)
	}
	if _, err := findState(e, []model{{"x": {"num": 2}}}); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
