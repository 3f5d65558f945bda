package riffle

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestBuildCrashAtEveryWrite stops the world before each write of a build that makes
// several segments and merges them. What a crash leaves is an empty index, or one that is
// unfinished and that another build makes whole, or the whole index: never a part of it.
func TestBuildCrashAtEveryWrite(t *testing.T) {
	rng := rand.New(rand.NewPCG(seedOf(t), 2))
	docs, final := buildModel(rng, 150)
	mem := newCrashFS()
	var mu sync.Mutex
	stride := 8 // each crash costs a build; other runs, which begin elsewhere, have the other writes
	if brief() {
		stride = 24
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
	o.Index.private.tableBytes = 300 // two or three tables a run
	o.Index.private.store.MemTableBytes = 256 << 10
	return o
}

// inspectBuild says what a crash has left, and builds anew where that has to be.
func inspectBuild(fsys *crashFS, docs []modelPut, final model) (what string, err error) {
	opts := &Options{Merge: MergeOptions{Disabled: true}}
	opts.private.store.FS = fsys
	opts.private.store.MemTableBytes = 256 << 10
	what = "unfinished"
	e, err := Open(worldDir, opts)
	switch {
	case err == nil:
		what = "whole"
		if n, err := e.Count(ctx, All{}); err != nil || n == 0 && len(e.store.Manifest().Segments) == 0 {
			what = "nothing"
			if err := errors.Join(err, e.Close()); err != nil {
				return what, err
			}
		}
	case !errors.Is(err, ErrUnfinished):
		return what, err
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
	live := e.store.Manifest().Segments
	s, err := e.Snapshot()
	if err != nil {
		return what, err
	}
	err = errors.Join(sameDocuments(s, final), checkAll(e))
	s.Close()
	return what, errors.Join(err, e.Close(), noOrphans(fsys, live))
}
