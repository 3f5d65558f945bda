package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// killedStore is damagedStore without its end: what a killed process left.
func killedStore(t *testing.T) *vfs.MemFS {
	t.Helper()
	fsys := vfs.NewCrashableMem()
	h := newHistory(t)
	h.open(fsys)
	h.append(5, true)
	w := build(t, h.s, 20)
	h.commit(Edit{Ingest: []*SegmentWriter{w}, Manifest: h.manifest(2, w), Meta: map[string][]byte{"schema": []byte("the schema")}})
	for range 5 {
		h.append(1, true)
	}
	h.append(300, true)
	x := build(t, h.s, 10)
	h.commit(Edit{Ingest: []*SegmentWriter{x}, Manifest: h.manifest(4, w, x), Deletions: map[uint64][]byte{w.Number(): []byte("bitmap")}})
	h.append(1, true)
	// Pebble receives nothing after this commit.
	h.commit(Edit{Manifest: h.manifest(4, x), Drop: []uint64{w.Number()}})
	h.append(1, true)
	disk := fsys.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	if err := h.s.Close(); err != nil {
		t.Fatal(err)
	}
	return disk
}

// TestKilledFlips flips bits all over what a killed process left, Pebble's log and
// MANIFEST included. Nothing that was acknowledged is lost without an error.
func TestKilledFlips(t *testing.T) {
	intact := killedStore(t)
	want, err := dump(intact.CrashClone(vfs.CrashCloneCfg{}), true)
	if err != nil {
		t.Fatal(err)
	}
	files := damageable(t, intact)
	logs, err := intact.List(intact.PathJoin(damagedDir, logDir))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range logs {
		files = append(files, intact.PathJoin(logDir, name))
	}
	told := map[string]int{}
	for _, name := range files {
		path := intact.PathJoin(damagedDir, name)
		st, err := intact.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if st.IsDir() {
			continue
		}
		for off := int64(0); off < st.Size(); off += stride(name, off) {
			fsys := intact.CrashClone(vfs.CrashCloneCfg{})
			flip(t, fsys, path, off, 1<<(off%8))
			got, err := dump(fsys, true)
			switch {
			case errors.Is(err, corrupt.Err), errors.Is(err, ErrFormat) && strings.HasPrefix(name, "OPTIONS"):
				told[filepath.Ext(name)]++
			case err != nil:
				t.Fatalf("%s, byte %d: error of no kind: %v", name, off, err)
			case !slices.Equal(got, want):
				t.Fatalf("%s, byte %d: silent change, %s", name, off, firstDifference(got, want))
			}
		}
	}
	if told[".log"] == 0 {
		t.Errorf("flips noticed: %v", told)
	}
}

// TestOtherLog: the log of another index, an older one of this index, and a missing one are errors.
func TestOtherLog(t *testing.T) {
	intact, other := killedStore(t), killedStore(t)
	for name, source := range map[string]*vfs.MemFS{"another index": other, "none": nil} {
		fsys := intact.CrashClone(vfs.CrashCloneCfg{})
		dir := fsys.PathJoin(damagedDir, logDir)
		files, err := fsys.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			err = errors.Join(err, fsys.Remove(fsys.PathJoin(dir, f)))
		}
		if source != nil {
			_, cloneErr := vfs.Clone(source, fsys, dir, dir)
			err = errors.Join(err, cloneErr)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dump(fsys, true); !errors.Is(err, corrupt.Err) {
			t.Errorf("log of %s: %v", name, err)
		}
	}
}

// TestManifestLost: if Pebble falls back to an older manifest, the log reveals it.
func TestManifestLost(t *testing.T) {
	fsys := vfs.NewCrashableMem()
	h := newHistory(t)
	h.open(fsys)
	h.append(2, true)
	w := build(t, h.s, 3)
	h.commit(Edit{Ingest: []*SegmentWriter{w}, Manifest: h.manifest(0, w)})
	before := fsys.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	h.commit(Edit{Manifest: h.manifest(0, w), Meta: map[string][]byte{"schema": []byte("v2")}})
	after := fsys.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	if err := h.s.Close(); err != nil {
		t.Fatal(err)
	}
	dir := after.PathJoin(damagedDir, logDir)
	names, err := after.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := after.UnsafeGetFileDataBuffer(after.PathJoin(dir, name))
		var f vfs.File
		if err == nil {
			f, err = before.Create(before.PathJoin(dir, name), vfs.WriteCategoryUnspecified)
		}
		if err == nil {
			_, err = f.Write(slices.Clone(data))
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = dump(before, true)
	if want := fmt.Sprintf("%s: out of date", KeyString(manifestKey)); !errors.Is(err, corrupt.Err) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
