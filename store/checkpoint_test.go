package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// TestCheckpointTorn stops Checkpoint before each of its writes, with none, half and all of the
// unsynced data kept. Under the copy's final name there is nothing or the whole copy. Under the
// temporary name Open returns ErrUnfinished, unless it holds nothing or everything. A second
// Checkpoint succeeds.
func TestCheckpointTorn(t *testing.T) {
	mem := &guardedFS{MemFS: vfs.NewCrashableMem()}
	rng := rand.New(rand.NewPCG(1, 1))
	var disks []*vfs.MemFS
	var names []string
	armed := false
	h := newHistory(t)
	h.open(errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !armed || op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, percent := range []int{0, 50, 100} {
			disks = append(disks, mem.crash(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng}))
			names = append(names, fmt.Sprintf("write %d, kind %d of %s, %d %% of unsynced data kept", len(names)/3, op.Kind, op.Path, percent))
		}
		return nil
	})))
	h.append(5, true)
	a := build(t, h.s, 30)
	h.commit(Edit{Ingest: []*SegmentWriter{a}, Manifest: h.manifest(2, a), Meta: map[string][]byte{"schema": []byte("v1")}})
	if err := h.s.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	h.append(4, true)
	armed = true
	if err := h.s.Checkpoint("copies/copy"); err != nil {
		t.Fatal(err)
	}
	armed = false
	if err := h.s.Close(); err != nil {
		t.Fatal(err)
	}
	whole := func(disk vfs.FS, dir string, readOnly bool) error {
		s, err := Open(dir, &Options{FS: disk, ReadOnly: readOnly})
		if err != nil {
			return err
		}
		m := s.Manifest()
		if got := describe(&m, nil, "v1"); got != h.states[1] {
			err = fmt.Errorf("opens well, as %s", got)
		}
		return errors.Join(err, wholeLog(s, 9), s.Close())
	}
	finished, torn := 0, 0
	for i, disk := range disks {
		for _, readOnly := range []bool{true, false} {
			err := whole(disk, "copies/copy", readOnly)
			exists := true
			if _, statErr := disk.Stat("copies/copy"); errors.Is(statErr, fs.ErrNotExist) {
				exists = false
			}
			switch {
			case err == nil:
				finished++
			case exists && !readOnly:
				t.Errorf("crash before %s: under its name: %v", names[i], err)
			case !errors.Is(err, fs.ErrNotExist) && readOnly:
				t.Errorf("crash before %s: under its name, read-only: %v", names[i], err)
			}
			if !exists {
				break // an Open for writing would make a new store
			}
		}
		if files, err := disk.List("copies/copy" + unfinishedSuffix); err == nil && len(files) > 0 {
			switch err := whole(disk, "copies/copy"+unfinishedSuffix, true); {
			case errors.Is(err, ErrUnfinished):
				torn++
			case errors.Is(err, fs.ErrNotExist) && onlyTemporary(files):
			case err != nil:
				t.Errorf("crash before %s: under its first name, %q: %v", names[i], files, err)
			}
		}
		h.open(disk)
		err := h.s.Checkpoint("copies/copy")
		if err == nil {
			err = whole(disk, "copies/copy", true)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) || errors.Is(err, corrupt.Err) {
			t.Errorf("crash before %s: again: %v", names[i], err)
		}
		if err := h.s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if finished == 0 || torn < 20 {
		t.Errorf("%d crashes left a whole copy, %d a torn one: the test proves little", finished, torn)
	}
}

func onlyTemporary(names []string) bool {
	for _, n := range names {
		if n != unfinishedFile+tmpSuffix {
			return false
		}
	}
	return true
}

// TestCheckpointInTheWay has directories where Checkpoint needs to write.
func TestCheckpointInTheWay(t *testing.T) {
	fsys := vfs.NewMem()
	s := openTemp(t, damagedDir, &Options{FS: fsys})
	other := openTemp(t, "copy"+unfinishedSuffix, &Options{FS: fsys})
	if err := s.Checkpoint("copy"); !errors.Is(err, ErrLocked) {
		t.Errorf("an open index is in the way: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Checkpoint("copy"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an index is in the way: %v", err)
	}
	if err := tryOpen("copy"+unfinishedSuffix, &Options{FS: fsys, ReadOnly: true}); err != nil {
		t.Errorf("it was touched: %v", err)
	}
}

// TestCheckpointNotAhead: records appended without sync that are in a copy also survive a crash of
// the store.
func TestCheckpointNotAhead(t *testing.T) {
	mem := vfs.NewCrashableMem()
	h := newHistory(t)
	h.open(mem)
	h.append(3, false)
	if err := h.s.Checkpoint("copy"); err != nil {
		t.Fatal(err)
	}
	left := mem.CrashClone(vfs.CrashCloneCfg{})
	if err := h.s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{damagedDir, "copy"} {
		s, err := Open(dir, &Options{FS: left})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(wholeLog(s, 3), s.Close()); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// TestCheckpointAfterOpen makes a checkpoint before Pebble has written a MANIFEST of its own.
// Pebble finds nothing to flush if it was killed in Open, between the removal of its old log and
// the creation of the new one.
func TestCheckpointAfterOpen(t *testing.T) {
	h := newHistory(t)
	mem := vfs.NewCrashableMem()
	h.s = openTemp(t, damagedDir, &Options{FS: mem})
	h.append(3, true)
	a := build(t, h.s, 50)
	h.commit(Edit{Ingest: []*SegmentWriter{a}, Manifest: h.manifest(2, a)})
	if err := h.s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	disk := mem.CrashClone(vfs.CrashCloneCfg{})
	names, err := disk.List(damagedDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".log") {
			if err := disk.Remove(disk.PathJoin(damagedDir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	want, err := dump(disk, true)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(damagedDir, &Options{FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Checkpoint("copy"), s.Close(), disk.RemoveAll(damagedDir), disk.Rename("copy", damagedDir)); err != nil {
		t.Fatal(err)
	}
	if got, err := dump(disk, true); err != nil || !slices.Equal(got, want) {
		t.Errorf("the copy: %v, %v, want %v", got, err, want)
	}
}
