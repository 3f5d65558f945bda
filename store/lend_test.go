package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// lendingStore is a store in files with one segment of plain values of many sizes, and a compressed
// one. Its index has two levels if indexBlock is small.
func lendingStore(t *testing.T, indexBlock int) (s *Store, dir string, number uint64, values map[string][]byte) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("nothing is lent on " + runtime.GOOS)
	}
	dir = t.TempDir()
	s = openTemp(t, dir, nil)
	for i := range s.popt.Levels {
		s.popt.Levels[i].IndexBlockSize = indexBlock
	}
	w, err := s.NewSegment()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	values = map[string][]byte{}
	set := func(key, value []byte) {
		values[string(key)] = value
		if err := w.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	set([]byte{1, 'x'}, []byte("compressed"))
	for i := range 600 {
		key := binary.BigEndian.AppendUint32([]byte{0x80 + byte(i/300)}, uint32(3*i))
		value := make([]byte, rng.IntN(1<<rng.IntN(18)))
		for j := range value {
			value[j] = byte(rng.Uint32())
		}
		set(key, value)
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	m := Manifest{Segments: []Segment{{Number: w.Number()}}}
	if err := s.Commit(context.Background(), Edit{Ingest: []*SegmentWriter{w}, Manifest: &m}); err != nil {
		t.Fatal(err)
	}
	return s, dir, w.Number(), values
}

// TestLend compares what is lent with what was written, also after the pages have been given back,
// and after the segment has been dropped and the store closed.
func TestLend(t *testing.T) {
	for _, indexBlock := range []int{256 << 10, 256} {
		s, _, number, values := lendingStore(t, indexBlock)
		r := s.Segment(number)
		lent := map[string][]byte{}
		for key, want := range values {
			got, ok := r.Lend([]byte(key))
			if ok != (key[0] >= firstPlainKind) {
				t.Fatalf("key %x is lent: %v", key, ok)
			}
			if ok && (!bytes.Equal(got, want) || cap(got) != len(got)) {
				t.Fatalf("key %x has %d bytes, want %d", key, len(got), len(want))
			}
			if ok {
				lent[key] = got
			}
			none := append([]byte(key), 0)
			if got, ok := r.Lend(none); ok {
				t.Fatalf("key %x, which is missing, has %d bytes", none, len(got))
			}
		}
		if levels := r.lender.tables[0].levels; levels != 1+min(1, 1024/indexBlock) {
			t.Errorf("the index has %d levels with blocks of %d bytes", levels, indexBlock)
		}
		for _, key := range [][]byte{nil, {0x80}, {0xff}, {0x7f}} {
			if _, ok := r.Lend(key); ok {
				t.Errorf("key %x is lent", key)
			}
		}
		if err := s.Commit(context.Background(), Edit{Manifest: &Manifest{}, Drop: []uint64{number}}); err != nil {
			t.Fatal(err)
		}
		for _, table := range r.lender.tables {
			table.giveBack()
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for key, got := range lent {
			if !bytes.Equal(got, values[key]) {
				t.Fatalf("key %x has changed", key)
			}
		}
		if _, ok := r.Lend([]byte{0x80, 0, 0, 0, 0}); ok {
			t.Error("a closed store lends")
		}
		runtime.KeepAlive(r)
	}
}

// TestLentPages checks that pages are given back when the limit is passed, and that tables that are
// gone are forgotten.
func TestLentPages(t *testing.T) {
	s, dir, number, values := lendingStore(t, 256<<10)
	s.lent.limit = 1 << 20
	r := s.Segment(number)
	for range 3 {
		for key := range values {
			r.Lend([]byte(key))
			if n := s.lent.bytes.Load(); n > s.lent.limit+1<<18 {
				t.Fatalf("%d bytes are lent, with a limit of %d", n, s.lent.limit)
			}
		}
	}
	if resident := residentFile(t, dir); resident > 8<<20 {
		t.Errorf("%d bytes of files are resident", resident)
	}
	s.lent.limit = -1
	if _, ok := s.Segment(number).Lend([]byte{0x80, 0, 0, 0, 0}); ok {
		t.Error("lent in spite of the limit")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if resident := residentFile(t, dir); resident > 0 {
		t.Errorf("%d bytes of files are resident after Close", resident)
	}
	runtime.KeepAlive(r)
}

// TestLendAgain checks that what has been lent once is lent again without reading pages, until these have
// been given back, and is the same before and after.
func TestLendAgain(t *testing.T) {
	s, _, number, values := lendingStore(t, 256<<10)
	r := s.Segment(number)
	lend := func() (read int64) {
		before := s.lent.bytes.Load()
		for key, want := range values {
			if got, ok := r.Lend([]byte(key)); ok && !bytes.Equal(got, want) {
				t.Fatalf("key %x has %d bytes, want %d", key, len(got), len(want))
			}
		}
		return s.lent.bytes.Load() - before
	}
	first := lend()
	if again := lend(); first == 0 || again != 0 {
		t.Errorf("read %d bytes, then %d", first, again)
	}
	for _, table := range r.lender.tables {
		table.giveBack()
	}
	if again := lend(); again == 0 {
		t.Error("read no page after they had been given back")
	}
	runtime.KeepAlive(r)
}

// residentFile is how much of the mapped tables of a directory belongs to the process.
func residentFile(t *testing.T, dir string) (bytes int) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	table := false
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "-") && strings.Contains(line, " r--s ") {
			table = strings.HasSuffix(strings.TrimSpace(line), ".sst") && strings.Contains(line, dir)
		}
		n := 0
		if _, err := fmt.Sscanf(line, "Rss: %d kB", &n); err == nil && table {
			bytes += n << 10
			table = false
		}
	}
	return bytes
}

// TestLendDamage flips bits of a table. What is still lent must be right, and nothing may crash.
func TestLendDamage(t *testing.T) {
	for _, indexBlock := range []int{256 << 10, 256} {
		s, dir, number, values := lendingStore(t, indexBlock)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		paths, err := filepath.Glob(filepath.Join(dir, "*.sst"))
		if err != nil || len(paths) == 0 {
			t.Fatal(paths, err)
		}
		s = openTemp(t, dir, &Options{ReadOnly: true})
		rng := rand.New(rand.NewPCG(3, uint64(indexBlock)))
		lent, refused := 0, 0
		for range 300 {
			path := paths[rng.IntN(len(paths))]
			size := fileSize(t, path)
			at := rng.Int64N(size)
			if rng.IntN(2) == 0 {
				at = size - 1 - rng.Int64N(min(size, 2000)) // index and footer
			}
			bit := byte(1) << rng.IntN(8)
			flipFile(t, path, at, bit)
			r := s.Segment(number)
			for key, want := range values {
				got, ok := r.Lend([]byte(key))
				if ok && !bytes.Equal(got, want) {
					t.Fatalf("%s, bit flipped in byte %d: key %x is wrong", path, at, key)
				}
				if ok {
					lent++
				} else {
					refused++
				}
				if rng.IntN(8) > 0 {
					continue
				}
				break
			}
			flipFile(t, path, at, bit)
		}
		if lent == 0 || refused == 0 {
			t.Errorf("%d values lent, %d refused", lent, refused)
		}
	}
}

func fileSize(t *testing.T, path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}

// flipFile flips bits of one byte of a file in place.
func flipFile(t *testing.T, path string, at int64, bits byte) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= bits
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

// FuzzDataBlock reads values of blocks of any bytes. (Keys are read by Pebble, of blocks that have
// passed their checksum.)
func FuzzDataBlock(f *testing.F) {
	b := make([]byte, columnsAt+7*columnBytes, 80)
	b[headerAt+3] = 2
	b[columnsAt+valueColumn*columnBytes+1] = 46
	b[columnsAt+externalColumn*columnBytes+1] = 55
	b = append(b, "\x01\x00\x02\x05abcde\x00"...)
	f.Add(b, 1)
	f.Fuzz(func(t *testing.T, b []byte, row int) {
		d, ok := openData(b)
		if !ok || row < 0 || row >= d.rows {
			return
		}
		if value, ok := d.value(row); ok && len(value) >= len(b) {
			t.Errorf("a value of %d bytes in a block of %d", len(value), len(b))
		}
	})
}

// TestLendUnread compares values that are read part by part with what was written, and checks that a
// block whose head is strange is not lent.
func TestLendUnread(t *testing.T) {
	s, _, number, values := lendingStore(t, 256<<10)
	r := s.Segment(number)
	lent := 0
	for key, want := range values {
		got, read, ok := r.LendUnread([]byte(key))
		if !ok {
			if len(want) > headBytes {
				t.Fatalf("key %x of %d bytes is not lent", key, len(want))
			}
			continue
		}
		lent++
		if len(got) != len(want) || !read(0, len(got)) || !bytes.Equal(got, want) || cap(got) != len(got) {
			t.Fatalf("key %x has %d bytes, want %d", key, len(got), len(want))
		}
		if read(0, len(got)+1) || read(-1, 0) || read(1, 0) {
			t.Fatalf("key %x: bytes that are not the value's are read", key)
		}
	}
	if lent < 300 {
		t.Errorf("%d values are lent", lent)
	}
	for _, key := range [][]byte{nil, {0x80}, {0xff}, {0x7f}, {1, 'x'}} {
		if _, _, ok := r.LendUnread(key); ok {
			t.Errorf("key %x is lent", key)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := r.LendUnread([]byte{0x80, 0, 0, 0, 0}); ok {
		t.Error("a closed store lends")
	}
}
