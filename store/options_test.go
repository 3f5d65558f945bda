package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// TestOptionsTakeEffect looks at what Pebble made of the options. It ignores,
// without a word, what Levels[0] says about other levels until EnsureDefaults.
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

// TestTables looks at the tables of a segment: two, on the lowest level, the one
// compressed and with a filter, the other neither.
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

// TestSplit: two goroutines write their tables at once, and the segment is whole.
func TestSplit(t *testing.T) {
	s := openTemp(t, t.TempDir(), nil)
	w, err := s.NewSegment()
	if err != nil {
		t.Fatal(err)
	}
	w.Split(4)
	const n = 2000
	var wg sync.WaitGroup
	for _, kinds := range []string{"\x01\x80", "\x04"} {
		wg.Go(func() {
			for i := range n {
				for _, kind := range []byte(kinds) {
					if err := w.Set(fmt.Appendf([]byte{kind}, "%06d", i), []byte("value")); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(w.Set([]byte{0x7f}, []byte("meta")), w.Finish()); err != nil {
		t.Fatal(err)
	}
	err = s.Commit(context.Background(), Edit{Ingest: []*SegmentWriter{w}, Manifest: &Manifest{Segments: []Segment{{Number: w.Number()}}}})
	if err != nil {
		t.Fatal(err)
	}
	it, err := s.Segment(w.Number()).Scan([]byte{0}, []byte{0xff})
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	keys := 0
	for it.Next() {
		keys++
	}
	if want := 3*n + 1; keys != want || it.Err() != nil {
		t.Errorf("%d keys, %v, want %d", keys, it.Err(), want)
	}
}
