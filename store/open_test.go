package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/riffle-search/riffle/internal/corrupt"
)

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ix")
	openTemp(t, path, nil)
	if err := os.Symlink(path, filepath.Join(dir, "link")); err != nil {
		t.Log("no symbolic links here:", err)
	}
	t.Chdir(dir)
	for _, alias := range []string{path, "ix", "./ix/../ix", "link"} {
		if _, err := os.Stat(alias); err != nil {
			continue
		}
		for _, o := range []*Options{nil, {ReadOnly: true}} {
			if _, err := Open(alias, o); !errors.Is(err, ErrLocked) {
				t.Errorf("open of %s, options %+v: %v, want ErrLocked", alias, o, err)
			}
		}
	}
}

func TestNothingThere(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "missing")} {
		if _, err := Open(path, &Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("read-only open of %s: %v, want fs.ErrNotExist", path, err)
		}
	}
	if names, _ := os.ReadDir(filepath.Join(dir, "missing")); names != nil {
		t.Error("a read-only open made a directory")
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, nil); err == nil || errors.Is(err, corrupt.Err) || errors.Is(err, ErrLocked) {
		t.Errorf("open of a file: %v", err)
	}
}

// TestOtherFormats opens contents that this version cannot have written.
func TestOtherFormats(t *testing.T) {
	raw := func(change func(*pebble.DB) error) *vfs.MemFS {
		fsys := vfs.NewMem()
		db, err := pebble.Open(damagedDir, (&Options{FS: fsys}).pebbleForTest())
		if err == nil {
			err = errors.Join(change(db), db.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		return fsys
	}
	sealed := func(key, payload []byte) []byte {
		value := make([]byte, len(payload)+sealBytes)
		sealInto(value, key, payload)
		return value
	}
	format := metaKey(formatName)
	cases := []struct {
		name   string
		change func(*pebble.DB) error
		want   error
	}{
		{"newer", func(db *pebble.DB) error { return db.Set(format, sealed(format, []byte{FormatVersion + 1}), nil) }, ErrFormat},
		{"foreign", func(db *pebble.DB) error { return db.Set([]byte("/Table/51"), []byte("row"), nil) }, ErrFormat},
		{"no format", func(db *pebble.DB) error { return db.Set(logKey(1), sealed(logKey(1), nil), nil) }, corrupt.Err},
		{"no version", func(db *pebble.DB) error { return db.Set(format, sealed(format, nil), nil) }, corrupt.Err},
		{"no manifest", func(db *pebble.DB) error { return db.Set(format, sealed(format, []byte{FormatVersion}), nil) }, corrupt.Err},
		{"value under another key", func(db *pebble.DB) error { return db.Set(format, sealed(manifestKey, []byte{1}), nil) }, corrupt.Err},
	}
	for _, c := range cases {
		_, err := Open(damagedDir, &Options{FS: raw(c.change)})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// pebbleForTest are the options for opening a store's database directly.
func (o *Options) pebbleForTest() *pebble.Options {
	d := o.withDefaults()
	return d.pebbleOptions(d.FS, newLogger(d.Log, d.Failed))
}

// TestCloseWaitsForIterators closes a store during a walk over a segment, and calls every method
// afterwards.
func TestCloseWaitsForIterators(t *testing.T) {
	s := openTemp(t, t.TempDir(), nil)
	ctx := context.Background()
	w := build(t, s, 3)
	if err := s.Commit(ctx, Edit{Ingest: []*SegmentWriter{w}, Manifest: &Manifest{Segments: []Segment{{Number: 1}}}}); err != nil {
		t.Fatal(err)
	}
	it, err := s.Segment(1).Scan(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	for it.Next() { // again and again, until Close has begun
		if it.started = false; len(it.Value()) == 0 {
			t.Error("empty value")
		}
	}
	if err := it.Err(); !errors.Is(err, ErrClosed) {
		t.Errorf("iterator of a store that is being closed: %v", err)
	}
	if _, err := s.Segment(1).Scan(nil, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("scan of a store that is being closed: %v", err)
	}
	select {
	case err := <-closed:
		t.Fatalf("Close did not wait for the iterator: %v", err)
	default:
	}
	if err := errors.Join(it.Close(), it.Close(), <-closed, s.Close()); err != nil {
		t.Fatal(err)
	}
	if again, err := Open(s.dir, nil); err != nil {
		t.Error(err)
	} else if err := again.Close(); err != nil {
		t.Error(err)
	}
	calls := map[string]func() error{
		"Append":       func() error { _, err := s.Append(1, pack(t), true); return err },
		"Checkpoint":   func() error { return s.Checkpoint(filepath.Join(t.TempDir(), "c")) },
		"Commit":       func() error { return s.Commit(ctx, Edit{}) },
		"Compact":      func() error { return s.Compact(ctx) },
		"Deletions":    func() error { _, err := s.Deletions(1); return err },
		"DropSegments": func() error { return s.DropSegments(ctx, nil) },
		"Get":          func() error { _, err := s.Segment(1).Get(nil); return err },
		"Meta":         func() error { _, err := s.Meta("schema"); return err },
		"NewSegment":   func() error { _, err := s.NewSegment(); return err },
		"Replay":       func() error { return s.Replay(1, nil) },
		"Scan":         func() error { _, err := s.Segment(1).Scan(nil, nil); return err },
		"SegmentBytes": func() error { _, _, err := s.SegmentBytes(1); return err },
		"Stats":        func() error { _, err := s.Stats(); return err },
		"Sync":         func() error { return s.Sync(ctx) },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}

// A sealedFS is a medium on which no lock file can be created.
type sealedFS struct{ vfs.FS }

func (sealedFS) Lock(name string) (io.Closer, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EROFS}
}

func TestReadOnly(t *testing.T) {
	intact := damagedStore(t, false)
	want, err := dump(intact.CrashClone(vfs.CrashCloneCfg{}), false)
	if err != nil {
		t.Fatal(err)
	}
	before := intact.String()
	got, err := dump(sealedFS{intact}, true)
	if err != nil {
		t.Fatal(err)
	}
	if d := firstDifference(got, want); d != "none" {
		t.Error("without a lock file:", d)
	}
	if intact.String() != before {
		t.Errorf("a read-only open wrote:\n%s\nbefore\n%s", intact, before)
	}
	if _, err := Open(damagedDir, &Options{FS: sealedFS{intact}}); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("open for writing where no lock can be made: %v", err)
	}
	s, err := Open(damagedDir, &Options{FS: intact, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for name, err := range map[string]error{
		"Commit":       s.Commit(ctx, Edit{}),
		"Compact":      s.Compact(ctx),
		"DropSegments": s.DropSegments(ctx, nil),
		"Checkpoint":   s.Checkpoint("copy"),
		"Sync":         s.Sync(ctx),
	} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: %v, want ErrReadOnly", name, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
