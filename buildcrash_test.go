package riffle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestBuildCrashAtEveryWrite stops the world before each write of a build that makes several
// segments and merges them. A crash leaves no index, or an unfinished one that another build
// completes, or the complete index: never a part of it, and never one without documents.
func TestBuildCrashAtEveryWrite(t *testing.T) {
	rng := rand.New(rand.NewPCG(seedOf(t), 2))
	docs, final := buildModel(rng, 150)
	mem := newCrashFS()
	var mu sync.Mutex
	stride := 24 // each crash costs a build; runs with other offsets cover the other writes
	if brief() {
		stride = 48
	}
	writes := rng.IntN(stride)
	found := map[string]int{}
	inj := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if writes++; writes%stride != 0 {
			return nil
		}
		for _, percent := range []int{0, 50} {
			what, err := inspectBuild(mem.crash(percent, rng), docs, final)
			if err != nil {
				t.Errorf("crash before write %d (%s), %d%% of unsynced data kept: %v", writes, opText(op), percent, err)
			}
			found[what]++
		}
		return nil
	})
	o := crashBuild()
	o.Index.private.store.FS = errorfs.Wrap(mem, inj)
	if res, err := Build(ctx, worldDir, yieldAll(docs), o); err != nil || res.Segments != 1 {
		t.Fatal(res, err)
	}
	mu.Lock()
	t.Logf("%d writes, then %v", writes, found)
	if found["nothing"] == 0 || found["unfinished"] == 0 || writes < 50 {
		t.Errorf("%d writes, then %v: the injector is not in their way", writes, found)
	}
	mu.Unlock()
	if what, err := inspectBuild(mem.crash(0, rng), docs, final); what != "whole" || err != nil {
		t.Errorf("a crash at the end leaves %s, %v", what, err)
	}
}

func crashBuild() *BuildOptions {
	o := (&BuildOptions{Workers: 2, OneSegment: true}).small()
	o.private.runBytes = 12 << 10
	o.Index.private.tableBytes, o.Index.private.codedBytes = 300, 1 // two or three tables a run
	o.Index.private.store.MemTableBytes = 256 << 10
	return o
}

// inspectBuild classifies what a crash has left, and builds again where needed.
func inspectBuild(fsys *crashFS, docs []modelPut, final model) (what string, err error) {
	opts := &Options{Merge: MergeOptions{Disabled: true}}
	opts.private.store.FS = fsys
	opts.private.store.MemTableBytes = 256 << 10
	readOnly := *opts
	readOnly.ReadOnly = true
	what = "whole"
	e, err := Open(worldDir, &readOnly)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		what = "nothing"
	case errors.Is(err, ErrUnfinished):
		what = "unfinished"
	case err != nil:
		return what, err
	default:
		if err := e.Close(); err != nil {
			return what, err
		}
		if e, err = Open(worldDir, opts); err != nil {
			return what, err
		}
	}
	if what != "whole" {
		o := crashBuild()
		o.Index.private.store.FS = fsys
		if _, err := Build(ctx, worldDir, yieldAll(docs), o); err != nil {
			return what, fmt.Errorf("another build: %w", err)
		}
		if e, err = Open(worldDir, opts); err != nil {
			return what, err
		}
	}
	live := e.probe().Store().Manifest().Segments
	s, err := e.Snapshot()
	if err != nil {
		return what, err
	}
	err = errors.Join(sameDocuments(s, final), checkAll(e))
	s.Close()
	return what, errors.Join(err, e.Close(), noOrphans(fsys, live))
}

// TestBuildIsUnfinishedFromTheFirstWrite stops the world before each write of a build that is
// interrupted after its first documents. None leaves an index that opens.
func TestBuildIsUnfinishedFromTheFirstWrite(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	docs, _ := buildModel(rng, 3)
	mem := newCrashFS()
	var mu sync.Mutex
	writes, unfinished := 0, 0
	inspect := func(percent int) error {
		o := &Options{ReadOnly: true}
		o.private.store.FS = mem.crash(percent, rng)
		e, err := Open(worldDir, o)
		switch {
		case err == nil:
			return errors.Join(errors.New("an index"), e.Close())
		case errors.Is(err, ErrUnfinished):
			unfinished++
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		return nil
	}
	inj := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		writes++
		for _, percent := range []int{0, 100} {
			if err := inspect(percent); err != nil {
				t.Errorf("crash before write %d (%s), %d%% of unsynced data kept: %v", writes, opText(op), percent, err)
			}
		}
		return nil
	})
	o := crashBuild()
	o.Index.private.store.FS = errorfs.Wrap(mem, inj)
	built, stop := context.WithCancel(ctx)
	o.Progress = func(BuildProgress) { stop() } // once the first documents are indexed
	if _, err := Build(built, worldDir, yieldAll(docs), o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if unfinished == 0 {
		t.Errorf("%d writes, and no crash leaves an unfinished build", writes)
	}
}
