package riffle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// at makes a batch with a position that puts one document.
func at(position, id string, doc map[string]any) *Batch {
	b := &Batch{Position: []byte(position)}
	b.Put(id, doc)
	return b
}

// requirePosition compares the position of an Engine or a Snapshot; "" is none.
func requirePosition(t *testing.T, when string, x interface{ Position() ([]byte, error) }, want string) {
	t.Helper()
	if err := samePosition(x, []byte(want)); err != nil {
		t.Errorf("%s: %v", when, err)
	}
}

// TestPositionSurvives takes an index through everything that rewrites it. The position stays that
// of the last batch that had one, in the index and in its copies.
func TestPositionSurvives(t *testing.T) {
	unmerged := &Options{Merge: MergeOptions{Disabled: true}}
	ix := newIndex(t, unmerged)
	requirePosition(t, "new", ix, "")
	ix.must(ix.Close())
	ix.open(unmerged)
	requirePosition(t, "opened with nothing in it", ix, "")
	reopen := func() {
		t.Helper()
		ix.must(ix.Close())
		ix.open(unmerged)
	}
	copies := 0
	copied := func() {
		t.Helper()
		copies++
		dir := filepath.Join(t.TempDir(), fmt.Sprint("copy", copies))
		ix.must(ix.Checkpoint(ctx, dir))
		e, err := Open(dir, &Options{ReadOnly: true})
		ix.must(err)
		defer e.Close()
		want, err := ix.Position()
		ix.must(err)
		requirePosition(t, fmt.Sprint("checkpoint ", copies), e, string(want))
	}
	plain := func(id string) { ix.must(ix.Put(ctx, id, map[string]any{"n": 1})) }

	ix.must(ix.Apply(ctx, at("1", "a", map[string]any{"n": 1})))
	requirePosition(t, "applied", ix, "1")
	copied()
	reopen()
	requirePosition(t, "read back from the log", ix, "1")
	plain("b")
	requirePosition(t, "behind a batch without one", ix, "1")
	ix.must(ix.Flush(ctx))
	requirePosition(t, "sealed", ix, "1")
	copied()
	reopen()
	requirePosition(t, "read back from the manifest", ix, "1")
	plain("c")
	reopen()
	requirePosition(t, "read back from the manifest, with a log", ix, "1")
	ix.must(ix.Flush(ctx))
	reopen()
	requirePosition(t, "sealed again, with nothing new", ix, "1")

	ix.must(ix.Apply(ctx, at("2", "a", map[string]any{"n": 2})))
	reopen()
	requirePosition(t, "that of the log is newer", ix, "2")
	copied()
	ix.must(ix.Compact(ctx))
	requirePosition(t, "compacted", ix, "2")
	reopen()
	requirePosition(t, "compacted and reopened", ix, "2")
	copied()

	ix.must(ix.Close())
	ix.open(&Options{ReadOnly: true})
	requirePosition(t, "read-only", ix, "2")
	ix.must(ix.Close())
	ix.open(&Options{Merge: MergeOptions{Disabled: true}, AlterSchema: true, Schema: &Schema{NoStore: true}})
	requirePosition(t, "with another schema", ix, "2")
	reopen()
	requirePosition(t, "with another schema, reopened", ix, "2")

	// A position in the log, of a batch without documents, after a batch whose position is in the
	// manifest.
	ix.must(ix.Apply(ctx, &Batch{Position: []byte("3")}))
	requirePosition(t, "without changes", ix, "3")
	reopen()
	requirePosition(t, "without changes, read back", ix, "3")
	ix.must(ix.Flush(ctx))
	reopen()
	requirePosition(t, "without changes, sealed", ix, "3")
	if n := ix.Len(); n != 3 {
		t.Errorf("%d documents, want 3", n)
	}
	ix.must(checkAll(ix.Engine))
}

// TestPositionAfterMerge merges sealed segments while a batch is in the log. The manifest keeps the
// position of the sealed part, and after a crash the later one is read from the log.
func TestPositionAfterMerge(t *testing.T) {
	mem := newCrashFS()
	tu := tuning{opts: Options{Merge: MergeOptions{SegmentsPerTier: 2, Disabled: true}}}
	e, err := tu.open(worldDir, mem)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for i := range 3 {
		if err := errors.Join(e.Apply(ctx, at(fmt.Sprint("sealed ", i), fmt.Sprint(i), map[string]any{"num": i})), e.Flush(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Apply(ctx, at("logged", "x", map[string]any{"num": 3})); err != nil {
		t.Fatal(err)
	}
	if !e.probe().MergeNext() || len(e.probe().Disks()) != 1 {
		t.Fatalf("%d segments: nothing was merged", len(e.probe().Disks()))
	}
	requirePosition(t, "merged", e, "logged")
	if info := string(e.probe().Store().Manifest().Info); !strings.HasSuffix(info, "sealed 2") {
		t.Errorf("the manifest has %q", info)
	}
	left, err := tu.open(worldDir, mem.crash(0, rand.New(rand.NewPCG(1, 1))))
	if err != nil {
		t.Fatal(err)
	}
	requirePosition(t, "behind a crash", left, "logged")
	if err := left.Close(); err != nil {
		t.Error(err)
	}
}

// TestPositionOfSnapshot takes snapshots between batches, including those that first seal memory.
func TestPositionOfSnapshot(t *testing.T) {
	e, err := tuning{memory: tinyMemory, opts: Options{Merge: MergeOptions{SegmentsPerTier: 2}}}.open(worldDir, newCrashFS())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var held []*Snapshot
	for i := range 300 {
		b := at(strconv.Itoa(i), "last", map[string]any{"num": i, "text": strings.Repeat("w1 w2 ", i%40)})
		if i%10 == 9 {
			b = &Batch{Position: b.Position}
		}
		if err := e.Apply(ctx, b); err != nil {
			t.Fatal(err)
		}
		if i%5 == 4 {
			s, err := e.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, s)
		}
	}
	for i, s := range held {
		last := 5*i + 4
		requirePosition(t, "a snapshot", s, strconv.Itoa(last))
		if last%10 == 9 {
			last--
		}
		if doc, err := s.Get(ctx, "last"); err != nil || doc["num"] != int64(last) {
			t.Errorf("a snapshot behind batch %d has %v, %v", last, doc["num"], err)
		}
		s.Close()
		if _, err := s.Position(); !errors.Is(err, ErrClosed) {
			t.Errorf("a closed snapshot: %v", err)
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if _, err := e.Position(); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed engine: %v", err)
	}
}

// TestPositionAndDocuments makes writers apply batches concurrently, during seals and merges. Each
// batch puts its position into the same document. So at any moment document and position must come
// from one batch. The same holds after a crash: the batch is a durable one, or an earlier one
// without Sync.
func TestPositionAndDocuments(t *testing.T) {
	for _, d := range []Durability{SyncBatch, SyncNone} {
		t.Run(fmt.Sprint("durability ", d), func(t *testing.T) { positionAndDocuments(t, d) })
	}
}

func positionAndDocuments(t *testing.T, d Durability) {
	const writers = 4
	batches := 150
	if brief() {
		batches = 40
	}
	mem := newCrashFS()
	tu := tuning{memory: tinyMemory, opts: Options{Durability: d, Merge: MergeOptions{SegmentsPerTier: 2}}}
	e, err := tu.open(worldDir, mem)
	if err != nil {
		t.Fatal(err)
	}
	same := func(when string, e *Engine) {
		s, err := e.Snapshot()
		if err != nil {
			t.Error(err)
			return
		}
		defer s.Close()
		p, err := s.Position()
		doc, derr := s.Get(ctx, "last")
		switch {
		case errors.Is(derr, ErrNotFound) && p == nil:
		case err != nil || derr != nil || doc["title"] != string(p):
			t.Errorf("%s: position %q, the document has %v: %v", when, p, doc["title"], errors.Join(err, derr))
		}
	}
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range batches {
				p := fmt.Sprint("writer ", w, " batch ", i)
				b := at(p, "last", map[string]any{"title": p})
				b.Put(fmt.Sprint(w, i%10), map[string]any{"text": "w1 w2 w3"})
				if err := e.Apply(ctx, b); err != nil {
					t.Error(err)
				}
				b.Position[0] = 'x' // it has been taken
				same("while batches are applied", e)
			}
		})
	}
	all.Go(func() {
		for i := range 10 {
			left, err := tu.open(worldDir, mem.crash(50*(i%3), rand.New(rand.NewPCG(1, uint64(i)))))
			if err != nil {
				t.Error(err)
				return
			}
			same("behind a crash", left)
			if err := left.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// TestPositionOfLongBatch seals between the records of one batch, as only a replay does, and stops
// the world at each write of it. The position is nevertheless that of the whole batch.
func TestPositionOfLongBatch(t *testing.T) {
	mem := newCrashFS()
	e, err := tuning{}.open(worldDir, mem)
	if err != nil {
		t.Fatal(err)
	}
	long := &Batch{Position: []byte("long")}
	rng := modelQueries{rand.New(rand.NewPCG(1, 1))}
	for i := range 5 {
		long.Put(fmt.Sprint(i), map[string]any{"text": strings.Repeat(rng.words(50)+" ", 8000)}) // a record each
	}
	if err := errors.Join(e.Apply(ctx, at("short", "s", map[string]any{"num": 1})), e.Apply(ctx, long)); err != nil {
		t.Fatal(err)
	}
	if st, err := e.Stats(); err != nil || st.LogRecords < 4 {
		t.Fatalf("%d records, %v", st.LogRecords, err)
	}
	left := mem.crash(0, rand.New(rand.NewPCG(1, 1)))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	unmerged := tuning{opts: Options{Merge: MergeOptions{Disabled: true}}}
	between := 0
	var mu sync.Mutex
	writes := 0
	fsys := errorfs.Wrap(left, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if writes++; writes%12 != 0 {
			return nil
		}
		o := unmerged
		o.opts.ReadOnly = true
		e, err := o.open(worldDir, left.crash(0, rand.New(rand.NewPCG(1, 1))))
		if err != nil {
			t.Errorf("write %d: %v", writes, err)
			return nil
		}
		requirePosition(t, fmt.Sprint("write ", writes), e, "long")
		if n := len(e.probe().Disks()); n > 0 && strings.HasSuffix(string(e.probe().Store().Manifest().Info), "short") {
			between++
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		return nil
	}))
	sealing := unmerged
	sealing.memory = tinyMemory
	if e, err = sealing.open(worldDir, fsys); err != nil {
		t.Fatal(err)
	}
	requirePosition(t, "sealed on the way", e, "long")
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if between == 0 {
		t.Errorf("in %d writes no manifest ends within the batch", writes)
	}
}

// TestPositionOfFailedApply: a failed batch leaves the position unchanged.
func TestPositionOfFailedApply(t *testing.T) {
	var broken atomic.Bool
	fsys := errorfs.Wrap(newCrashFS(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && isLogSync(op) {
			return errorfs.ErrInjected
		}
		return nil
	}))
	e, err := tuning{}.open(worldDir, fsys)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Apply(ctx, at(strings.Repeat("p", MaxPositionBytes), "a", map[string]any{"num": 1})); err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat("p", MaxPositionBytes)
	err = e.Apply(ctx, &Batch{Position: make([]byte, MaxPositionBytes+1)})
	if err == nil || err.Error() != "riffle: a position of 1025 bytes, at most 1024 are allowed" {
		t.Errorf("a long one: %v", err)
	}
	var de *DocumentError
	if err := e.Apply(ctx, at("refused", "", nil)); !errors.As(err, &de) {
		t.Errorf("a document that is refused: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := e.Apply(ended, at("ended", "b", map[string]any{"num": 1})); err == nil {
		t.Error("Apply succeeds with a context that has ended")
	}
	requirePosition(t, "behind batches that were refused", e, want)
	broken.Store(true)
	for _, p := range []string{"failed", "behind"} {
		if err := e.Apply(ctx, at(p, "b", map[string]any{"num": 1})); err == nil {
			t.Errorf("batch %q succeeds, without a log", p)
		}
		requirePosition(t, "behind a batch that has failed", e, want)
	}
}

// TestPositionOfBuild: Build sets the position of an index, and Reindex that of the snapshot.
func TestPositionOfBuild(t *testing.T) {
	docs := yieldAll([]modelPut{{id: "a", doc: map[string]any{"text": "w1"}}, {id: "b", doc: map[string]any{"text": "w2"}}})
	dir := t.TempDir()
	build := func(name string, o *BuildOptions) *Engine {
		t.Helper()
		if _, err := Build(ctx, filepath.Join(dir, name), docs, o); err != nil {
			t.Fatal(err)
		}
		e, err := Open(filepath.Join(dir, name), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return e
	}
	requirePosition(t, "built without", build("without", nil), "")
	for _, one := range []bool{false, true} {
		e := build(fmt.Sprint("one ", one), &BuildOptions{Position: []byte("7"), OneSegment: one})
		requirePosition(t, "built", e, "7")
		if err := errors.Join(e.Apply(ctx, at("8", "c", map[string]any{"text": "w3"})), e.Flush(ctx)); err != nil {
			t.Fatal(err)
		}
		requirePosition(t, "built and changed", e, "8")
		s, err := e.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := e.Apply(ctx, &Batch{Position: []byte("9")}); err != nil {
			t.Fatal(err)
		}
		for want, o := range map[string]*BuildOptions{"8": nil, "other": {Position: []byte("other")}} {
			to := filepath.Join(dir, fmt.Sprint("again ", one, want))
			if _, err := Reindex(ctx, s, to, o); err != nil {
				t.Fatal(err)
			}
			again, err := Open(to, &Options{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			requirePosition(t, "reindexed", again, want)
			if err := again.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := Build(ctx, filepath.Join(dir, "long"), docs, &BuildOptions{Position: make([]byte, MaxPositionBytes+1)}); err == nil {
		t.Error("a position that is too long is built")
	}
	// An index that has a position and no documents has a past, which a build must not replace.
	e, err := Open(filepath.Join(dir, "moved"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Apply(ctx, &Batch{Position: []byte("1")}), e.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(ctx, filepath.Join(dir, "moved"), docs, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a build over an index with a position: %v", err)
	}
}
