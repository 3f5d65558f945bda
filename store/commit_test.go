package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// tables returns the files that hold segments.
func tables(t *testing.T, s *Store) []string {
	t.Helper()
	levels, err := s.db.SSTables()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for level, ts := range levels {
		for _, x := range ts {
			if x.Smallest.UserKey[0] == spaceSegment {
				found = append(found, fmt.Sprintf("%s on level %d", x.FileNum, level))
			} else if x.Largest.UserKey[0] == spaceSegment {
				t.Errorf("table %s holds segments and other keys", x.FileNum)
			}
		}
	}
	slices.Sort(found)
	return found
}

// TestSegmentsStay runs a store through many log records, commits, drops and compactions. The
// tables of segments are written once and removed once, and the space of a dropped one is freed at
// once.
func TestSegmentsStay(t *testing.T) {
	h := newHistory(t)
	h.s = openTemp(t, t.TempDir(), &Options{MemTableBytes: 256 << 10})
	s, ctx := h.s, context.Background()
	var live []*SegmentWriter
	pad := make([]byte, 50_000)
	for i := range 60 {
		wait, err := s.Append(s.NextSeq(), pack(t, pad, pad), i%3 == 0)
		if err == nil {
			err = wait(context.Background())
		}
		if err != nil {
			t.Fatal(err)
		}
		before := tables(t, s)
		w := build(t, s, 50)
		live = append(live, w)
		var drop []uint64
		if len(live) > 5 {
			drop = []uint64{live[2].Number()}
			live = slices.Delete(live, 2, 3)
		}
		e := Edit{Ingest: []*SegmentWriter{w}, Manifest: h.manifest(s.NextSeq()-1, live...), Drop: drop}
		if err := s.Commit(ctx, e); err != nil {
			t.Fatal(err)
		}
		if i%10 == 9 {
			if err := s.Compact(ctx); err != nil {
				t.Fatal(err)
			}
		}
		after := tables(t, s)
		kept := slices.DeleteFunc(slices.Clone(after), func(x string) bool { return !slices.Contains(before, x) })
		if len(after) != 2*len(live) || len(kept) != len(after)-2 {
			t.Fatalf("round %d, %d segments: tables %v, before %v", i, len(live), after, before)
		}
	}
	st, err := s.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if st.LogBytes > 2<<20 {
		t.Errorf("the log takes %d bytes, though all of it is truncated", st.LogBytes)
	}
	if st.SegmentBytes == 0 || st.DiskBytes < st.SegmentBytes || st.Tables < 10 {
		t.Errorf("figures that cannot be: %+v", st)
	}
}

// TestDropUnderReader drops a segment that an iterator reads.
func TestDropUnderReader(t *testing.T) {
	h := newHistory(t)
	h.s = openTemp(t, t.TempDir(), nil)
	w := build(t, h.s, 1000)
	h.commit(Edit{Ingest: []*SegmentWriter{w}, Manifest: h.manifest(0, w)})
	it, err := h.s.Segment(w.Number()).Scan(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.commit(Edit{Manifest: h.manifest(0), Drop: []uint64{w.Number()}})
	n := 0
	for it.Next() {
		n++
	}
	if err := errors.Join(it.Err(), it.Close()); err != nil || n != 2000 {
		t.Errorf("the iterator saw %d keys, error %v", n, err)
	}
	if v, err := h.s.Segment(w.Number()).Get([]byte("\x010000")); v != nil || err != nil {
		t.Errorf("get from a dropped segment: %q, %v", v, err)
	}
}

// TestBugs makes edits that contradict themselves.
func TestBugs(t *testing.T) {
	h := newHistory(t)
	h.s = openTemp(t, t.TempDir(), nil)
	live := build(t, h.s, 1)
	h.append(3, true)
	h.commit(Edit{Ingest: []*SegmentWriter{live}, Manifest: h.manifest(1, live)})
	fresh := build(t, h.s, 1)
	begun, err := h.s.NewSegment()
	if err != nil {
		t.Fatal(err)
	}
	edits := map[string]Edit{
		"ingested twice":       {Ingest: []*SegmentWriter{live}, Manifest: h.manifest(1, live)},
		"not finished":         {Ingest: []*SegmentWriter{begun}, Manifest: h.manifest(1, live, begun)},
		"not listed":           {Ingest: []*SegmentWriter{fresh}, Manifest: h.manifest(1, live)},
		"not ingested":         {Manifest: h.manifest(1, live, fresh)},
		"listed twice":         {Manifest: h.manifest(1, live, live)},
		"dropped but live":     {Drop: []uint64{live.Number()}},
		"deletions of nothing": {Deletions: map[uint64][]byte{99: []byte("x")}},
		"log shrinks":          {Manifest: h.manifest(0, live)},
		"log beyond its end":   {Manifest: h.manifest(4, live)},
		"format":               {Meta: map[string][]byte{"format": nil}},
	}
	for name, e := range edits {
		func() {
			defer func() {
				if r, ok := recover().(string); !ok || !strings.HasPrefix(r, "BUG: ") {
					t.Errorf("%s: no panic of ours: %v", name, r)
				}
			}()
			_ = h.s.Commit(context.Background(), e)
		}()
	}
	// None of it has happened, and the store still works.
	h.commit(Edit{Ingest: []*SegmentWriter{fresh}, Manifest: h.manifest(2, live, fresh)})
	if err := begun.Abort(); err != nil {
		t.Error(err)
	}
	if err := h.s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestUnordered writes keys out of order.
func TestUnordered(t *testing.T) {
	s := openTemp(t, t.TempDir(), nil)
	w, err := s.NewSegment()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"\x01b", "\x80b", "\x01c", "\x80c"} {
		if err := w.Set([]byte(key), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Set([]byte("\x01a"), nil); err == nil {
		t.Error("a key out of order was taken")
	}
	if err := w.Finish(); err == nil {
		t.Error("a segment with an error was finished")
	}
	if err := w.Abort(); err != nil {
		t.Error(err)
	}
	if names, err := os.ReadDir(s.buildPath()); err != nil || len(names) > 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

// TestCheckpoints copies a store while it is written to. Every copy is complete, also opens
// read-only, and has everything that was acknowledged before it.
func TestCheckpoints(t *testing.T) {
	h := newHistory(t)
	dir := t.TempDir()
	h.s = openTemp(t, filepath.Join(dir, "ix"), nil)
	first := build(t, h.s, 5)
	h.commit(Edit{Ingest: []*SegmentWriter{first}, Manifest: h.manifest(0, first)})
	if err := h.s.Checkpoint(filepath.Join(dir, "ix")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("checkpoint onto the store itself: %v", err)
	}
	stop, writers := make(chan struct{}), sync.WaitGroup{}
	writers.Go(func() {
		for live := []*SegmentWriter{first}; ; {
			select {
			case <-stop:
				return
			default:
			}
			h.append(3, true)
			w := build(h.t, h.s, 2)
			live = append(live, w)
			e := Edit{Ingest: []*SegmentWriter{w}}
			if len(live) > 3 {
				e.Drop, live = []uint64{live[0].Number()}, live[1:]
			}
			e.Manifest = h.manifest(h.s.NextSeq()-2, live...)
			e.Deletions = map[uint64][]byte{w.Number(): fmt.Appendf(nil, "of %d", w.Number())}
			h.commit(e)
		}
	})
	for i := range 12 {
		before, copied := h.acked(), filepath.Join(dir, fmt.Sprint("copy", i))
		if err := h.s.Checkpoint(copied); err != nil {
			t.Fatal(err)
		}
		checkCopy(t, copied, before)
	}
	close(stop)
	writers.Wait()
}

func checkCopy(t *testing.T, dir string, before acked) {
	t.Helper()
	for _, readOnly := range []bool{true, false} {
		c, err := Open(dir, &Options{ReadOnly: readOnly})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range c.Manifest().Segments {
			d, err := c.Deletions(g.Number)
			if err == nil && g.Number > 1 && string(d) != fmt.Sprintf("of %d", g.Number) {
				err = fmt.Errorf("deletions of segment %d are %q", g.Number, d)
			}
			if err := errors.Join(err, wholeSegment(c, g)); err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(wholeLog(c, before.seq), c.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestWriteErrors makes the k-th write fail, for every k, and with it all later ones, as on a disk
// that fills up. Calls return errors, none hangs or panics, and everything acknowledged is found
// afterwards.
func TestWriteErrors(t *testing.T) {
	full := errors.New("disk full")
	for k := 1; ; k++ {
		mem := vfs.NewCrashableMem()
		h := newHistory(t)
		h.open(mem) // creation is not tested here
		h.append(1, true)
		if err := h.s.Close(); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		n := 0
		fsys := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			if n++; n >= k {
				return full
			}
			return nil
		}))
		done := h.tryAll(fsys)
		if err := h.check(mem.CrashClone(vfs.CrashCloneCfg{}), h.acked()); err != nil {
			t.Fatalf("from write %d on, disk full: %v", k, err)
		}
		if done {
			if k < 20 {
				t.Errorf("only %d writes", k)
			}
			return
		}
	}
}

// tryAll does what it can until something fails, and reports whether nothing did.
func (h *history) tryAll(fsys vfs.FS) bool {
	h.t.Helper()
	var err error
	if h.s, err = Open(damagedDir, &Options{FS: fsys}); err != nil {
		return false
	}
	defer func() { _ = h.s.Close() }()
	return h.tryOn(h.s) && h.s.Close() == nil
}

// tryOn is tryAll for a store that is open.
func (h *history) tryOn(s *Store) bool {
	h.t.Helper()
	ctx := context.Background()
	var segments []Segment
	for i := range 3 {
		first := s.NextSeq()
		wait, err := s.Append(first, pack(h.t, logRecord(first)), true)
		if err == nil {
			err = wait(context.Background())
		}
		if err != nil {
			return h.failed(err)
		}
		h.promise(func(a *acked) { a.seq = first })
		w, err := s.NewSegment()
		if err != nil {
			return false
		}
		for _, key := range []string{"\x01a", "\x80b"} {
			if err := w.Set([]byte(key), segmentValue(w.Number(), []byte(key))); err != nil {
				_ = w.Abort()
				return false
			}
		}
		if err := w.Finish(); err != nil {
			_ = w.Abort()
			return false
		}
		segments = append(segments, Segment{w.Number(), []byte("of 1 keys")})
		e := Edit{Ingest: []*SegmentWriter{w}, Manifest: &Manifest{Segments: segments, LogSeq: first}}
		if i == 2 {
			e.Drop = []uint64{segments[0].Number}
			segments = segments[1:]
			e.Manifest.Segments = segments
		}
		h.states = append(h.states, describe(e.Manifest, nil, ""))
		if err := s.Commit(ctx, e); err != nil {
			return h.failed(err)
		}
		h.promise(func(a *acked) { a.commits, a.seq = a.commits+1, first })
	}
	return true
}

// failed makes sure that a failed store reports it from then on.
func (h *history) failed(err error) bool {
	if errors.Is(err, ErrFailed) {
		if _, err := h.s.Append(h.s.NextSeq(), pack(h.t), false); !errors.Is(err, ErrFailed) {
			h.t.Errorf("append to a failed store: %v", err)
		}
		if err := h.s.Commit(context.Background(), Edit{}); !errors.Is(err, ErrFailed) {
			h.t.Errorf("commit to a failed store: %v", err)
		}
	}
	return false
}
