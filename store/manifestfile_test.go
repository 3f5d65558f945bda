package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// TestTwoManifestsInOne appends an old MANIFEST of Pebble's to the one in force.
func TestTwoManifestsInOne(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ix")
	h := newHistory(t)
	h.s = openTemp(t, dir, nil)
	a := build(t, h.s, 50)
	h.commit(Edit{Ingest: []*SegmentWriter{a}, Manifest: h.manifest(0, a)})
	manifest := func() string {
		t.Helper()
		paths, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
		if err != nil || len(paths) == 0 {
			t.Fatal(paths, err)
		}
		return paths[len(paths)-1]
	}
	old, err := os.ReadFile(manifest())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // each Open begins a new one
		if err := h.s.Close(); err != nil {
			t.Fatal(err)
		}
		h.s = openTemp(t, dir, nil)
	}
	if err := h.s.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(manifest(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(old)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	for _, o := range []*Options{nil, {ReadOnly: true}} {
		if err := tryOpen(dir, o); !errors.Is(err, corrupt.Err) || !strings.Contains(err.Error(), "two files in one") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestOptionsNameAnotherLog damages the OPTIONS of Pebble's so that its log seems to be elsewhere.
func TestOptionsNameAnotherLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ix")
	if err := tryOpen(dir, nil); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	path := paths[len(paths)-1]
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := strings.Replace(string(data), "wal_dir=\n", "wal_dir=elsewhere\n", 1)
	if bad == string(data) {
		t.Fatal("no wal_dir in the OPTIONS")
	}
	if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []*Options{nil, {ReadOnly: true}} {
		if err := tryOpen(dir, o); !errors.Is(err, corrupt.Err) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
