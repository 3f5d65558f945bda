package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// fingerprint returns a hash of every file below a directory, by its name.
func fingerprint(t *testing.T, dir string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || d.IsDir() {
			sums[name] = "directory"
			return err
		}
		data, err := os.ReadFile(path)
		sums[name] = fmt.Sprintf("%d bytes %x", len(data), sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// changes lists the differences between two states of a directory.
func changes(before, after map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] == "" {
			fmt.Fprintf(&b, "%s is gone; ", name)
		} else if after[name] != before[name] {
			fmt.Fprintf(&b, "%s was changed; ", name)
		}
	}
	for name := range after {
		if before[name] == "" {
			fmt.Fprintf(&b, "%s is new; ", name)
		}
	}
	return b.String()
}

// copyOpen copies the directory of an open store. It starts over if a file is removed meanwhile.
func copyOpen(t *testing.T, to, from string) {
	t.Helper()
	for {
		err := os.CopyFS(to, os.DirFS(from))
		if err == nil {
			return
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
	}
}

// damages are ways to damage a file. Those without effect return false.
var damages = []struct {
	name   string
	change func(data []byte) ([]byte, bool) // nil removes the file
}{
	{"missing", func([]byte) ([]byte, bool) { return nil, true }},
	{"empty", func(d []byte) ([]byte, bool) { return []byte{}, len(d) > 0 }},
	{"cut by a byte", func(d []byte) ([]byte, bool) { return d[:max(1, len(d))-1], len(d) > 1 }},
	{"cut in half", func(d []byte) ([]byte, bool) { return d[:len(d)/2], len(d) > 3 }},
	{"first byte flipped", func(d []byte) ([]byte, bool) { return flipped(d, 0) }},
	{"byte flipped in the first half", func(d []byte) ([]byte, bool) { return flipped(d, len(d)/4) }},
	{"byte flipped in the second half", func(d []byte) ([]byte, bool) { return flipped(d, 3*len(d)/4) }},
	{"last byte flipped", func(d []byte) ([]byte, bool) { return flipped(d, len(d)-1) }},
	{"zeroed", func(d []byte) ([]byte, bool) { return make([]byte, len(d)), len(d) > 0 }},
}

func flipped(d []byte, i int) ([]byte, bool) {
	if len(d) == 0 {
		return d, false
	}
	d = slices.Clone(d)
	d[i] ^= 4
	return d, true
}

// TestFailedOpenChangesNothing damages each file of a closed store, and of one whose process was
// killed, in many ways. An Open that fails leaves every byte in the directory unchanged, so that
// the store opens as soon as the file is restored.
func TestFailedOpenChangesNothing(t *testing.T) {
	top := t.TempDir()
	crashed, closed := filepath.Join(top, "crashed"), filepath.Join(top, "closed")
	h := newHistory(t)
	mem := vfs.NewCrashableMem()
	h.s = openTemp(t, "index", &Options{FS: mem})
	h.append(3, true)
	a, b := build(t, h.s, 50), build(t, h.s, 20)
	h.commit(Edit{Ingest: []*SegmentWriter{a, b}, Manifest: h.manifest(2, a, b), Meta: map[string][]byte{"schema": []byte("v1")},
		Deletions: map[uint64][]byte{a.Number(): []byte("few")}})
	if err := h.s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.append(5, true)
	h.commit(Edit{Manifest: h.manifest(3, b), Drop: []uint64{a.Number()}, Deletions: map[uint64][]byte{b.Number(): []byte("more")}})
	left := mem.CrashClone(vfs.CrashCloneCfg{})
	if err := h.s.Close(); err != nil {
		t.Fatal(err)
	}
	for dir, from := range map[string]*vfs.MemFS{crashed: left, closed: mem} {
		if ok, err := vfs.Clone(from, vfs.Default, "index", dir); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	failed := 0
	for _, intact := range []string{closed, crashed} {
		for name, sum := range fingerprint(t, intact) {
			if sum == "directory" {
				continue
			}
			data, err := os.ReadFile(filepath.Join(intact, name))
			if err != nil {
				t.Fatal(err)
			}
			for i, damage := range damages {
				bad, ok := damage.change(data)
				if !ok {
					continue
				}
				what := fmt.Sprintf("%s, %s %s", filepath.Base(intact), name, damage.name)
				dir := filepath.Join(top, "damaged")
				path := filepath.Join(dir, name)
				if err := os.CopyFS(dir, os.DirFS(intact)); err != nil {
					t.Fatal(err)
				}
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				if bad != nil {
					if err := os.WriteFile(path, bad, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				before := fingerprint(t, dir)
				err := tryOpen(dir, &Options{ReadOnly: i%2 == 1})
				isCorrupt := errors.Is(err, corrupt.Err)
				if after := fingerprint(t, dir); err != nil && changes(before, after) != "" {
					t.Errorf("%s: failed with %v, but %s", what, err, changes(before, after))
				}
				switch {
				case err == nil && strings.HasPrefix(name, "marker."):
					t.Errorf("%s: opens", what)
				case err != nil && !isCorrupt && !errors.Is(err, ErrFormat):
					t.Errorf("%s: error of no kind: %v", what, err)
				case err != nil:
					failed++
					if err := os.WriteFile(path, data, 0o600); err != nil {
						t.Fatal(err)
					}
					if err := h.checkDir(dir); err != nil {
						t.Errorf("%s, restored: %v", what, err)
					}
				}
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if failed < 30 {
		t.Errorf("only %d damages were noticed", failed)
	}
}

// checkDir is check for a directory of the operating system's.
func (h *history) checkDir(dir string) error {
	s, err := Open(dir, nil)
	if err != nil {
		return err
	}
	m := s.Manifest()
	err = wholeLog(s, h.acked().seq)
	for _, g := range m.Segments {
		err = errors.Join(err, wholeSegment(s, g))
	}
	return errors.Join(err, s.Close())
}

// TestLoadWritesNothing loads stores and closes them again.
func TestLoadWritesNothing(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "a", "ix")
	s, err := Load(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.NewSegment(); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a segment before StartWriting: %v", err)
	}
	if err := tryOpen(dir, nil); !errors.Is(err, ErrLocked) {
		t.Errorf("beside a store that was only loaded: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left := fingerprint(t, top); len(left) != 1 {
		t.Errorf("a store that never came to be left %v", left)
	}
	if err := tryOpen(dir, nil); err != nil {
		t.Fatal(err)
	}
	before := fingerprint(t, dir)
	if s, err = Load(dir, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if c := changes(before, fingerprint(t, dir)); c != "" {
		t.Error(c)
	}
}

// TestForeignDirectory opens directories that hold something else. Nothing in them is changed.
func TestForeignDirectory(t *testing.T) {
	for _, files := range [][]string{
		{"notes.txt"},
		{"building/1.compressed"},
		{"building/src/main.go"},
		{"000123.sst", "CURRENT", "MANIFEST-000001", "000124.log"}, // RocksDB
		{"LOCK", "notes.txt"},
		{"UNFINISHED"},
	} {
		dir := t.TempDir()
		for _, name := range files {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("somebody's"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before := fingerprint(t, dir)
		err := tryOpen(dir, nil)
		if !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", files, err)
		}
		if c := changes(before, fingerprint(t, dir)); c != "" {
			t.Errorf("%q: %s", files, c)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{".DS_Store", "lost+found", ".nfs0001"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := tryOpen(dir, nil); err != nil {
		t.Errorf("beside files that systems leave: %v", err)
	}
}

// TestForeignFilesStay puts files that riffle has not written into the directory of an index.
func TestForeignFilesStay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ix")
	s := openTemp(t, dir, nil)
	w, err := s.NewSegment()
	if err == nil {
		err = w.Set([]byte("\x01a"), nil) // never finished
	}
	if err != nil {
		t.Fatal(err)
	}
	crashed := dir + "2"
	copyOpen(t, crashed, dir)
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	foreign := []string{"notes.txt", "building/notes.txt", "building/1.compressed.bak", "000123.sst"}
	for _, name := range foreign {
		if err := os.WriteFile(filepath.Join(crashed, name), []byte("somebody's"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// A crash during a flush leaves this file; it does not belong to another program.
	if err := os.WriteFile(filepath.Join(crashed, "000009.sst"), []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := tryOpen(crashed, nil); err != nil {
			t.Fatal(err)
		}
	}
	after := fingerprint(t, crashed)
	for _, name := range foreign {
		if after[name] == "" {
			t.Errorf("%s is gone", name)
		}
	}
	if after["000009.sst"] != "" {
		t.Error("a torn table is still there")
	}
	if after["building/1.compressed"] != "" {
		t.Error("the table of a segment that was never finished is still there")
	}
}
