package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"
)

func openTemp(t *testing.T, dir string, o *Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
	return s
}

// build writes a segment of n keys a kind; values name key and segment.
func build(t *testing.T, s *Store, n int) *SegmentWriter {
	t.Helper()
	w, err := s.NewSegment()
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for _, kind := range []byte{0x01, 0x80} {
			k := fmt.Appendf([]byte{kind}, "%04d", i)
			if err := w.Set(k, segmentValue(w.Number(), k)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	return w
}

func segmentValue(number uint64, key []byte) []byte {
	return fmt.Appendf(nil, "segment %d, key %x", number, key)
}

func TestReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := openTemp(t, dir, nil)
	wait, err := s.Append(1, pack(t, []byte("one"), []byte("two"), []byte("three")), true)
	if err != nil {
		t.Fatal(err)
	}
	if err := wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	w := build(t, s, 100)
	err = s.Commit(context.Background(), Edit{
		Ingest:    []*SegmentWriter{w},
		Manifest:  &Manifest{Segments: []Segment{{Number: w.Number(), Info: []byte("info")}}, LogSeq: 2},
		Deletions: map[uint64][]byte{w.Number(): []byte("bitmap")},
		Meta:      map[string][]byte{"schema": []byte("text")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTemp(t, dir, nil)
	m := s.Manifest()
	if len(m.Segments) != 1 || m.Segments[0].Number != 1 || string(m.Segments[0].Info) != "info" || m.LogSeq != 2 || m.Next != 2 {
		t.Errorf("manifest %+v", m)
	}
	if s.NextSeq() != 4 {
		t.Errorf("next log record is %d, want 4", s.NextSeq())
	}
	var log []string
	err = s.Replay(3, func(seq uint64, r []byte) error {
		log = append(log, fmt.Sprint(seq, " ", string(r)))
		return nil
	})
	if err != nil || !slices.Equal(log, []string{"3 three"}) {
		t.Errorf("log %v, error %v", log, err)
	}
	if v, err := s.Segment(1).Get([]byte("\x800042")); err != nil || string(v) != string(segmentValue(1, []byte("\x800042"))) {
		t.Errorf("get: %q, %v", v, err)
	}
	if v, err := s.Segment(1).Get([]byte("\x80none")); err != nil || v != nil {
		t.Errorf("get of no key: %q, %v", v, err)
	}
	it, err := s.Segment(1).Scan([]byte("\x010099"), []byte("\x800001"))
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for it.Next() {
		keys = append(keys, string(it.Key()))
	}
	if err := errors.Join(it.Err(), it.Close()); err != nil || !slices.Equal(keys, []string{"\x010099", "\x800000"}) {
		t.Errorf("scan: %q, %v", keys, err)
	}
	if _, err := Open(dir, nil); !errors.Is(err, ErrLocked) {
		t.Errorf("second open: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "missing"), &Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read-only open of nothing: %v", err)
	}
}

// pack prepares records for the log.
func pack(t *testing.T, records ...[]byte) *LogBatch {
	t.Helper()
	b, err := PackLog(records)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
