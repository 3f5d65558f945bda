package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestOptionsTakeEffect checks what Pebble made of the options. Until EnsureDefaults it silently
// ignores what Levels[0] says about other levels.
func TestOptionsTakeEffect(t *testing.T) {
	s := openTemp(t, t.TempDir(), nil)
	for i, l := range s.popt.Levels {
		if l.BlockSize != dataBlockBytes || l.IndexBlockSize != indexBlockBytes {
			t.Errorf("level %d: blocks of %d, index of %d bytes", i, l.BlockSize, l.IndexBlockSize)
		}
		if l.FilterPolicy == nil || l.FilterPolicy == pebble.NoFilterPolicy {
			t.Errorf("level %d has no filter", i)
		}
	}
	if got := s.db.FormatMajorVersion(); got != pebbleFormat {
		t.Errorf("format %d, want %d", got, pebbleFormat)
	}
	if got := s.db.Metrics().MemTable.Size; got > 3*defaultMemTableBytes {
		t.Errorf("memtables take %d bytes", got)
	}
}

// TestTables checks the tables of a segment: two, on the lowest level, one compressed and with a
// filter, the other neither.
func TestTables(t *testing.T) {
	s := openTemp(t, t.TempDir(), nil)
	w, err := s.NewSegment()
	if err != nil {
		t.Fatal(err)
	}
	text := bytes.Repeat([]byte("compressible "), 10_000)
	for _, key := range []string{"\x01term", "\x80list"} {
		if err := w.Set([]byte(key), text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	size := w.Bytes()
	err = s.Commit(context.Background(), Edit{Ingest: []*SegmentWriter{w}, Manifest: &Manifest{Segments: []Segment{{Number: w.Number()}}}})
	if err != nil {
		t.Fatal(err)
	}
	levels, err := s.db.SSTables(pebble.WithProperties())
	if err != nil {
		t.Fatal(err)
	}
	bottom := levels[len(levels)-1]
	if len(bottom) != 2 {
		t.Fatalf("%d tables on the lowest level, want 2", len(bottom))
	}
	compressed, plain := bottom[0].Properties, bottom[1].Properties
	if compressed.DataSize*10 > uint64(len(text)) || plain.DataSize < uint64(len(text)) {
		t.Errorf("%d bytes of text are %d compressed and %d plain", len(text), compressed.DataSize, plain.DataSize)
	}
	if !strings.HasPrefix(compressed.FilterPolicyName, "rocksdb.BuiltinBloomFilter") || plain.FilterSize != 0 {
		t.Errorf("filters: %q, and %d bytes", compressed.FilterPolicyName, plain.FilterSize)
	}
	c, p, err := s.SegmentBytes(w.Number())
	if err != nil || c+p != size || c != bottom[0].Size || p != bottom[1].Size {
		t.Errorf("segment has %d + %d bytes, error %v; its tables %d + %d, its writer said %d", c, p, err, bottom[0].Size, bottom[1].Size, size)
	}
}

// TestRuns: goroutines write tables of their own in parallel. The segment is complete, its tables
// are on the lowest level one after the other, and they are dropped together.
func TestRuns(t *testing.T) {
	s := openTemp(t, t.TempDir(), nil)
	w, err := s.NewSegment()
	if err != nil {
		t.Fatal(err)
	}
	const n, runs, kind = 300, 40, 4
	set := func(to interface{ Set(key, value []byte) error }, kind byte, from int) {
		for i := range n {
			if err := to.Set(fmt.Appendf([]byte{kind}, "%06d", from+i), []byte("value")); err != nil {
				t.Error(err)
			}
		}
	}
	set(w, 1, 0)
	set(w, kind, 0)
	var wg sync.WaitGroup
	for i := range runs {
		run := w.Table(kind)
		wg.Go(func() {
			set(run, kind, (i+1)*n)
			if err := run.Finish(); err != nil && i%2 == 0 { // Finish of the segment does the others
				t.Error(err)
			}
		})
	}
	w.Table(kind) // gets no key
	set(w, 0x80, 0)
	set(w, kind+1, 0)
	wg.Wait()
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	size := w.Bytes()
	err = s.Commit(context.Background(), Edit{Ingest: []*SegmentWriter{w}, Manifest: &Manifest{Segments: []Segment{{Number: w.Number()}}}})
	if err != nil {
		t.Fatal(err)
	}
	bottom := lowest(t, s)
	if want := 3 + runs; len(bottom) != want {
		t.Fatalf("%d tables on the lowest level, want %d", len(bottom), want)
	}
	if c, p, err := s.SegmentBytes(w.Number()); err != nil || c+p != size || p != bottom[len(bottom)-1].Size {
		t.Errorf("segment has %d + %d bytes, error %v; its writer said %d", c, p, err, size)
	}
	it, err := s.Segment(w.Number()).Scan([]byte{0}, []byte{0xff})
	if err != nil {
		t.Fatal(err)
	}
	keys, last := 0, ""
	for it.Next() {
		if key := string(it.Key()); key <= last {
			t.Fatalf("key %x behind %x", key, last)
		} else {
			last = key
		}
		keys++
	}
	if err := errors.Join(it.Err(), it.Close()); err != nil || keys != (4+runs)*n {
		t.Errorf("%d keys, %v, want %d", keys, err, (4+runs)*n)
	}
	err = s.Commit(context.Background(), Edit{Manifest: &Manifest{}, Drop: []uint64{w.Number()}})
	if bottom := lowest(t, s); err != nil || len(bottom) > 0 {
		t.Errorf("%d tables are left of a dropped segment, %v", len(bottom), err)
	}
}

// lowest returns the tables on the lowest level, and makes sure that there is none on another.
func lowest(t *testing.T, s *Store) []pebble.SSTableInfo {
	t.Helper()
	levels, err := s.db.SSTables()
	if err != nil {
		t.Fatal(err)
	}
	last := len(levels) - 1
	for i, tables := range levels[:last] {
		if len(tables) > 0 {
			t.Errorf("%d tables on level %d", len(tables), i)
		}
	}
	return levels[last]
}

// TestRunFails: whichever table of a segment cannot be written, at its first key or when it is
// completed, the segment cannot be finished, and nothing of it remains.
func TestRunFails(t *testing.T) {
	full := errors.New("disk full")
	for _, bad := range []string{".compressed", ".run0", ".run2", ".behind", ".plain", ".late"} {
		for _, on := range []errorfs.OpKind{errorfs.OpCreate, errorfs.OpFileWrite, errorfs.OpFileSyncData} {
			inj := errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind == on && strings.HasSuffix(op.Path, bad) {
					return full
				}
				return nil
			})
			s := openTemp(t, t.TempDir(), &Options{FS: errorfs.Wrap(vfs.Default, inj)})
			w, err := s.NewSegment()
			if err != nil {
				t.Fatal(err)
			}
			err = w.Set([]byte{1}, nil)
			for i := range 3 {
				run := w.Table(4)
				err = errors.Join(err, run.Set([]byte{4, byte(i)}, nil), run.Finish())
			}
			err = errors.Join(err, w.Set([]byte{5}, nil), w.Set([]byte{0x80}, nil), w.Set([]byte{0xe0}, nil))
			finished := w.Finish()
			if err = errors.Join(err, finished); finished == nil || !errors.Is(err, full) || !strings.Contains(err.Error(), "segment 1") {
				t.Errorf("%v of %s fails: %v, and finish %v", on, bad, err, finished)
			}
			if err := w.Abort(); err != nil {
				t.Errorf("%v of %s fails: abort: %v", on, bad, err)
			}
			if names, err := s.opts.FS.List(s.buildPath()); err != nil || len(names) > 0 {
				t.Errorf("%v of %s fails: left behind: %v, %v", on, bad, names, err)
			}
		}
	}
}

// TestPlainRuns checks that tables of a plain kind are not compressed, and that all their values are
// lent.
func TestPlainRuns(t *testing.T) {
	s := openTemp(t, t.TempDir(), nil)
	w, err := s.NewSegment()
	if err != nil {
		t.Fatal(err)
	}
	value := bytes.Repeat([]byte("value "), 3000)
	const runs, kind = 5, 0xf0
	set := func(to interface{ Set(key, value []byte) error }, key ...byte) {
		t.Helper()
		if err := to.Set(key, append(value, key...)); err != nil {
			t.Fatal(err)
		}
	}
	set(w, 1)
	set(w, 0x80)
	for i := range byte(runs) {
		run := w.Table(kind)
		set(run, kind, i, 0)
		set(w, 0x81, i)
		set(run, kind, i, 1)
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	err = s.Commit(context.Background(), Edit{Ingest: []*SegmentWriter{w}, Manifest: &Manifest{Segments: []Segment{{Number: w.Number()}}}})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(lowest(t, s)); n != 2+runs {
		t.Errorf("%d tables on the lowest level, want %d", n, 2+runs)
	}
	if c, p, err := s.SegmentBytes(w.Number()); err != nil || p < 2*runs*uint64(len(value)) {
		t.Errorf("%d bytes of compressed tables and %d of plain ones, %v", c, p, err)
	}
	r := s.Segment(w.Number())
	for i := range byte(2 * runs) {
		key := []byte{kind, i / 2, i % 2}
		if got, err := r.Get(key); err != nil || !bytes.Equal(got, append(value, key...)) {
			t.Errorf("key %x: %d bytes, %v", key, len(got), err)
		}
		if got, ok := r.Lend(key); ok != (runtime.GOOS == "linux") || ok && !bytes.Equal(got, append(value, key...)) {
			t.Errorf("key %x: lent %d bytes, %v", key, len(got), ok)
		}
	}
	if _, ok := r.Lend([]byte{kind, 0, 2}); ok {
		t.Error("a key between two tables is lent")
	}
	runtime.KeepAlive(r)
}
