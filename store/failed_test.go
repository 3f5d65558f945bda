package store

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// A fillingDisk fails writes from some moment on, until space is freed.
type fillingDisk struct {
	*errorfs.FS
	mem  *vfs.MemFS
	left atomic.Int64 // writes that still succeed
}

var errDiskFull = errors.New("disk full")

func newFillingDisk() *fillingDisk {
	d := &fillingDisk{mem: vfs.NewCrashableMem()}
	d.empty()
	d.FS = errorfs.Wrap(d.mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && d.left.Add(-1) < 0 {
			return errDiskFull
		}
		return nil
	}))
	return d
}

func (d *fillingDisk) empty() { d.left.Store(1 << 40) }

// settle waits until no more goroutines run than before, and returns how many run.
func settle(before int) int {
	for range 500 {
		if runtime.NumGoroutine() <= before {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return runtime.NumGoroutine()
}

// TestFailedStoreOpensAgain fills the disk before the k-th write, for every k. The failed store is
// closed and reopened, in the same process, while the disk is full and when it has room. Everything
// acknowledged survives. The failed store changes nothing in the directory after its Close, and
// leaves nothing behind.
func TestFailedStoreOpensAgain(t *testing.T) {
	before := runtime.NumGoroutine()
	failures := 0
	for k := int64(1); ; k++ {
		h, disk := newHistory(t), newFillingDisk()
		h.open(disk)
		h.append(1, true)
		disk.left.Store(k)
		done := h.tryOn(h.s)
		if err := h.s.Close(); err != nil && !errors.Is(err, ErrFailed) && !errors.Is(err, errDiskFull) {
			t.Fatalf("full from write %d on: close: %v", k, err)
		} else if errors.Is(err, ErrFailed) {
			failures++
		}
		if s, err := Open(damagedDir, &Options{FS: disk}); err == nil {
			if err := s.Close(); err != nil && !errors.Is(err, errDiskFull) && !errors.Is(err, ErrFailed) {
				t.Fatal(err)
			}
		} else if errors.Is(err, ErrLocked) || !errors.Is(err, errDiskFull) {
			t.Fatalf("full from write %d on: open again, still full: %v", k, err)
		}
		closed := disk.mem.String()
		disk.empty()
		if again := disk.mem.String(); again != closed {
			t.Fatalf("full from write %d on: changed after Close:\n%s\nbefore\n%s", k, again, closed)
		}
		if err := h.check(disk, h.acked()); err != nil {
			t.Fatalf("full from write %d on: %v", k, err)
		}
		if done {
			break
		}
	}
	if failures == 0 {
		t.Error("no store failed")
	}
	if n := settle(before); n > before {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines are left of %d failed stores:\n%s", n-before, failures, stacks[:runtime.Stack(stacks, true)])
	}
}

// flushless is a file system in which tables cannot be written as long as broken is set.
func flushless(fs vfs.FS) (_ vfs.FS, broken *atomic.Bool) {
	broken = new(atomic.Bool)
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.HasSuffix(op.Path, ".sst") {
			return errDiskFull
		}
		return nil
	})), broken
}

// TestCloseWhileFlushFails closes a store whose flushes keep failing while its log can be written.
// Close ends, and so does an Open that needs the flush.
func TestCloseWhileFlushFails(t *testing.T) {
	before := runtime.NumGoroutine()
	fsys, broken := flushless(vfs.NewCrashableMem())
	s, err := Open(damagedDir, &Options{FS: fsys, MemTableBytes: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	var failed error
	big := strings.Repeat("x", 20<<10)
	for i := 0; failed == nil; i++ { // until the memtables are full
		failed = s.Commit(context.Background(), Edit{Meta: map[string][]byte{"schema": []byte(big)}})
		if i > 1000 {
			t.Fatal("the flush is not missed")
		}
	}
	if !errors.Is(failed, ErrFailed) || !errors.Is(failed, errDiskFull) {
		t.Errorf("commit that waits for a flush: %v", failed)
	}
	if err := s.Close(); !errors.Is(err, ErrFailed) {
		t.Errorf("close: %v", err)
	}
	if _, err := Open(damagedDir, &Options{FS: fsys}); !errors.Is(err, errDiskFull) {
		t.Errorf("open: %v", err)
	}
	broken.Store(false)
	if s, err = Open(damagedDir, &Options{FS: fsys}); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Meta("schema"); err != nil || string(v) != big {
		t.Errorf("%d bytes, %v", len(v), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := settle(before); n > before {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines are left:\n%s", n-before, stacks[:runtime.Stack(stacks, true)])
	}
}

// TestCompactWhileFlushFails compacts repeatedly while no flush succeeds, until Pebble's memtables
// are full and its Compact waits without checking its context.
func TestCompactWhileFlushFails(t *testing.T) {
	fsys, broken := flushless(vfs.NewMem())
	s, err := Open(damagedDir, &Options{FS: fsys, MemTableBytes: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 8 {
		ctx := t.Context()
		if i%2 == 1 {
			ctx = ended
		}
		if err := s.Compact(ctx); err == nil {
			t.Error("a compaction without a flush")
		}
		if s.log.fail.Load() != nil {
			break
		}
		if err := s.Commit(t.Context(), Edit{Meta: map[string][]byte{"schema": {byte(i)}}}); err != nil {
			break
		}
	}
	if err := s.Close(); !errors.Is(err, ErrFailed) {
		t.Errorf("close: %v", err)
	}
	broken.Store(false)
	if s, err = Open(damagedDir, &Options{FS: fsys}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestFailedCommitIsNoDamage fills the disk before the k-th write of a Commit, for every k. Pebble
// may then show the batch of the failed commit, although the previous manifest is in force. That is
// a failed store, not damage.
func TestFailedCommitIsNoDamage(t *testing.T) {
	failed := 0
	for k := int64(0); ; k++ {
		h, disk := newHistory(t), newFillingDisk()
		h.open(disk)
		h.append(3, true)
		w := build(t, h.s, 1)
		h.commit(Edit{Ingest: []*SegmentWriter{w}, Manifest: h.manifest(0, w), Meta: map[string][]byte{"schema": []byte("v1")}})
		disk.left.Store(k)
		err := h.s.Commit(context.Background(), Edit{
			Manifest:  h.manifest(3, w),
			Deletions: map[uint64][]byte{w.Number(): []byte("few")},
			Meta:      map[string][]byte{"schema": []byte("v2"), "options": []byte("none")},
		})
		if err == nil {
			if err := h.s.Close(); err != nil && !errors.Is(err, errDiskFull) && !errors.Is(err, ErrFailed) {
				t.Fatal(err)
			}
			break
		}
		reads := map[string]error{"log": wholeLog(h.s, 3)}
		_, reads["deletions"] = h.s.Deletions(w.Number())
		_, reads["schema"] = h.s.Meta("schema")
		_, reads["options"] = h.s.Meta("options")
		for what, err := range reads {
			if errors.Is(err, ErrFailed) {
				failed++
			} else if err != nil {
				t.Errorf("full from write %d on: %s: %v", k, what, err)
			}
		}
		_ = h.s.Close()
	}
	if failed == 0 {
		t.Error("no read has met the batch of a failed commit")
	}
}
