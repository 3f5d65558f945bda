package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/riffle-search/riffle/internal/corrupt"
)

const damagedDir = "db"

// damagedStore makes a small store that has everything: log records in a table
// and in the WAL (unless it is flushed), two live segments and a dropped one,
// deletions, meta values.
func damagedStore(t *testing.T, flushed bool) *vfs.MemFS {
	fsys := vfs.NewCrashableMem()
	s, err := Open(damagedDir, &Options{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	appendN := func(n int) {
		var records [][]byte
		for i := range n {
			records = append(records, logRecord(s.NextSeq()+uint64(i)))
		}
		wait, err := s.Append(s.NextSeq(), pack(t, records...), true)
		if err == nil {
			err = wait(context.Background())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	commit := func(e Edit) {
		if err := s.Commit(context.Background(), e); err != nil {
			t.Fatal(err)
		}
	}
	appendN(5)
	a, b, c := build(t, s, 20), build(t, s, 60), build(t, s, 10)
	commit(Edit{Ingest: []*SegmentWriter{a, b, c}, Manifest: &Manifest{Segments: []Segment{{Number: 1}, {Number: 2}, {Number: 3}}, LogSeq: 2},
		Meta: map[string][]byte{"schema": []byte("the schema")}})
	appendN(5)
	if err := s.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	commit(Edit{Manifest: &Manifest{Segments: []Segment{{Number: 3}, {Number: 1}}, LogSeq: 4, Info: []byte("info")}, Drop: []uint64{2},
		Deletions: map[uint64][]byte{3: []byte("bitmap")}})
	appendN(5)
	if flushed {
		if err := s.Compact(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return fsys
}

func logRecord(seq uint64) []byte { return fmt.Appendf(nil, "record %d", seq) }

// dump opens the store and prints everything in it.
func dump(fsys vfs.FS, readOnly bool) (lines []string, err error) {
	s, err := Open(damagedDir, &Options{FS: fsys, ReadOnly: readOnly})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	m := s.Manifest()
	lines = append(lines, fmt.Sprintf("manifest %+v", m))
	schema, err := s.Meta("schema")
	if err != nil {
		return nil, err
	}
	lines = append(lines, fmt.Sprintf("schema %q", schema))
	for _, g := range m.Segments {
		d, err := s.Deletions(g.Number)
		if err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("deletions %d %q", g.Number, d))
		it, err := s.Segment(g.Number).Scan(nil, nil)
		if err != nil {
			return nil, err
		}
		for it.Next() {
			lines = append(lines, fmt.Sprintf("segment %d %q %q", g.Number, it.Key(), it.Value()))
		}
		if err := errors.Join(it.Err(), it.Close()); err != nil {
			return nil, err
		}
	}
	err = s.Replay(m.LogSeq+1, func(seq uint64, r []byte) error {
		lines = append(lines, fmt.Sprintf("log %d %q", seq, r))
		return nil
	})
	return lines, err
}

// TestBitFlips flips bits all over the files of a store, one at a time. What opens is what was
// written, or an error reports the damage.
func TestBitFlips(t *testing.T) {
	for _, flushed := range []bool{false, true} {
		t.Run(fmt.Sprintf("flushed=%v", flushed), func(t *testing.T) { testBitFlips(t, damagedStore(t, flushed)) })
	}
}

func testBitFlips(t *testing.T, intact *vfs.MemFS) {
	want, err := dump(intact.CrashClone(vfs.CrashCloneCfg{}), true)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range damageable(t, intact) {
		path := intact.PathJoin(damagedDir, name)
		st, err := intact.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		for off := int64(0); off < st.Size(); off += stride(name, off) {
			for _, readOnly := range []bool{true, false} {
				if !readOnly && off%4 != 0 {
					continue // slower: it writes
				}
				fsys := intact.CrashClone(vfs.CrashCloneCfg{})
				flip(t, fsys, path, off, 1<<(off%8))
				got, err := dump(fsys, readOnly)
				switch {
				case errors.Is(err, corrupt.Err), errors.Is(err, ErrFormat) && strings.HasPrefix(name, "OPTIONS"):
					found++
				case err != nil:
					t.Fatalf("%s, byte %d, read-only %v: error of no kind: %v", name, off, readOnly, err)
				case !slices.Equal(got, want):
					t.Fatalf("%s, byte %d, read-only %v: silent change, %s",
						name, off, readOnly, firstDifference(got, want))
				}
			}
		}
	}
	if found == 0 {
		t.Error("no flip was noticed: the test tests nothing")
	}
}

func firstDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		g, w := append(got, "(end)")[min(i, len(got))], append(want, "(end)")[min(i, len(want))]
		if g != w {
			return fmt.Sprintf("line %d:\n%s\nwant\n%s", i, g, w)
		}
	}
	return "none"
}

// stride is the distance to the next byte to flip. In an option file few bytes matter.
func stride(name string, off int64) int64 {
	switch {
	case strings.HasPrefix(name, "OPTIONS"):
		return 13
	case testing.Short():
		return 97
	}
	return 7
}

// damageable returns the files that are not empty.
func damageable(t *testing.T, fsys vfs.FS) []string {
	t.Helper()
	names, err := fsys.List(damagedDir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return slices.DeleteFunc(names, func(name string) bool {
		st, err := fsys.Stat(fsys.PathJoin(damagedDir, name))
		return err == nil && (st.IsDir() || st.Size() == 0)
	})
}

// TestLostFiles removes each file, and cuts each in half.
func TestLostFiles(t *testing.T) {
	for _, flushed := range []bool{false, true} {
		t.Run(fmt.Sprintf("flushed=%v", flushed), func(t *testing.T) { testLostFiles(t, damagedStore(t, flushed)) })
	}
}

func testLostFiles(t *testing.T, intact *vfs.MemFS) {
	want, err := dump(intact.CrashClone(vfs.CrashCloneCfg{}), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range damageable(t, intact) {
		for _, how := range []string{"removed", "halved", "emptied"} {
			fsys := intact.CrashClone(vfs.CrashCloneCfg{})
			lose(t, fsys, fsys.PathJoin(damagedDir, name), how)
			got, err := dump(fsys, true)
			switch {
			case err == nil && !slices.Equal(got, want):
				t.Errorf("%s %s: silent change, %s", name, how, firstDifference(got, want))
			case err != nil && !errors.Is(err, corrupt.Err):
				t.Errorf("%s %s: error of no kind: %v", name, how, err)
			}
		}
	}
}

func lose(t *testing.T, fsys *vfs.MemFS, path, how string) {
	t.Helper()
	data, err := fsys.UnsafeGetFileDataBuffer(path)
	if err == nil {
		err = fsys.Remove(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if how == "removed" {
		return
	}
	if how == "halved" {
		data = data[:len(data)/2]
	} else {
		data = nil
	}
	f, err := fsys.Create(path, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.Write(data)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func flip(t *testing.T, fsys vfs.FS, path string, off int64, bits byte) {
	t.Helper()
	f, err := fsys.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	if _, err := f.ReadAt(b[:], off); err != nil {
		t.Fatal(err)
	}
	b[0] ^= bits
	if _, err := f.WriteAt(b[:], off); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
