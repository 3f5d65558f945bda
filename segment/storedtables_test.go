package segment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A tableStore is a mapStore with tables.
type tableStore struct {
	*mapStore
	tables []*mapTable
	fail   func(table int, what string) error // what: "set" or "finish"
}

// A mapTable belongs to one goroutine until it is finished.
type mapTable struct {
	s        *tableStore
	number   int
	kind     Kind
	values   map[string][]byte
	bytes    int
	last     string
	finished bool
}

func newTableStore(t testing.TB) *tableStore {
	return &tableStore{mapStore: newMapStore(t), fail: func(int, string) error { return nil }}
}

func (s *tableStore) Table(kind Kind) Table {
	t := &mapTable{s: s, number: len(s.tables), kind: kind, values: make(map[string][]byte)}
	s.tables = append(s.tables, t)
	return t
}

func (t *mapTable) Set(key, value []byte) error {
	if string(key) <= t.last || Kind(key[0]) != t.kind || t.finished {
		t.s.t.Errorf("key %x follows %x in table %d", key, t.last, t.number)
	}
	t.last = string(key)
	t.values[t.last] = bytes.Clone(value)
	t.bytes += len(value)
	return t.s.fail(t.number, "set")
}

func (t *mapTable) Finish() error {
	t.finished = true
	return t.s.fail(t.number, "finish")
}

// whole combines the tables, which must be consecutive, with the keys from Set.
func (s *tableStore) whole(size int) *mapStore {
	for k := range s.values {
		if Kind(k[0]) == kindStored {
			s.t.Errorf("%s is in no table", KeyString([]byte(k)))
		}
	}
	last := ""
	for i, t := range s.tables {
		first := slices.Min(slices.Collect(maps.Keys(t.values)))
		if first <= last || !t.finished || t.bytes < size && i < len(s.tables)-1 {
			s.t.Errorf("table %d: first key %x behind %x, finished %v, %d bytes", i, first, last, t.finished, t.bytes)
		}
		last = t.last
		maps.Copy(s.values, t.values)
	}
	s.keys, s.sorted = slices.Collect(maps.Keys(s.values)), false
	return s.mapStore
}

// TestStoredTables checks that for any number of workers, stored documents go into the same tables,
// and equal those written without tables, both by a merge and by a StoredWriter.
func TestStoredTables(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 31))
	const size = 16 << 10
	m := randomModel(rng, 1500, "m")
	for i := range m { // the first several blocks of documents have no stored bytes
		m[i].stored = ""
		if i > 1100 {
			m[i].stored = strings.Repeat(fmt.Sprint("stored ", i), rng.IntN(200))
		}
	}
	plain := newMapStore(t)
	want, err := Merge(t.Context(), plain, []Input{{Reader: m.memory().View()}}, MergeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	chunked := newMapStore(t)
	writeChunks(t, m, NewStoredWriter(t.Context(), chunked, StoredOptions{}))
	var tables [2]int
	for i, workers := range []int{1, 2, 16} {
		merged, written := newTableStore(t), newTableStore(t)
		res, err := Merge(t.Context(), merged, []Input{{Reader: m.memory().View()}}, MergeOptions{Workers: workers, TableBytes: size})
		if err != nil {
			t.Fatal(err)
		}
		writeChunks(t, m, NewStoredWriter(t.Context(), written, StoredOptions{Workers: workers, TableBytes: size}))
		if got := [2]int{len(merged.tables), len(written.tables)}; i == 0 {
			tables = got
		} else if got != tables {
			t.Errorf("%d workers: %d tables, want %d", workers, got, tables)
		}
		if got := merged.whole(size); !maps.EqualFunc(got.values, plain.values, bytes.Equal) || res.bytes != want.bytes {
			t.Errorf("%d workers: a merge into tables writes something else, %d bytes, want %d", workers, res.bytes, want.bytes)
		}
		if got := written.whole(size); !maps.EqualFunc(got.values, chunked.values, bytes.Equal) {
			t.Errorf("%d workers: chunks into tables are something else", workers)
		}
	}
	if min(tables[0], tables[1]) < 10 {
		t.Errorf("only %d tables", tables)
	}
}

// writeChunks writes the stored documents of a model, in chunks.
func writeChunks(t testing.TB, m model, w *StoredWriter) {
	t.Helper()
	var c Chunk
	for docs := range slices.Chunk(m, 30) {
		for _, d := range docs {
			c.Begin(d.id)
			c.End(0, []byte(d.stored))
		}
		c.Group(c.Sample())
		if err := w.Write(&c); err != nil {
			t.Fatal(err)
		}
		c.Reset()
	}
	w.End()
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestStoredFew checks that a merge of few stored bytes makes no table for them.
func TestStoredFew(t *testing.T) {
	m := model{{id: "a", stored: "few"}, {id: "b"}}
	s := newTableStore(t)
	if _, err := Merge(t.Context(), s, []Input{{Reader: m.memory().View()}}, MergeOptions{}); err != nil {
		t.Fatal(err)
	}
	d, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := d.Stored(0); len(s.tables) > 0 || string(data) != "few" || err != nil {
		t.Errorf("%d tables, %q, %v", len(s.tables), data, err)
	}
}

// TestStoredTablesFail checks that failing to write or finish a table ends a merge and a
// StoredWriter with that error, and that the end of the context does too. No goroutine may remain,
// even when all of them wait for one another.
func TestStoredTablesFail(t *testing.T) {
	m := make(model, 2000)
	for i := range m {
		m[i] = modelDoc{id: fmt.Sprintf("%06d", i), stored: strings.Repeat("x", 500)}
	}
	broken := errors.New("broken")
	for _, workers := range []int{1, 2, 16} {
		for _, bad := range []int{0, 1, 7} {
			for _, where := range []string{"set", "finish", "cancel"} {
				ctx, cancel := context.WithCancel(t.Context())
				want := broken
				fail := func(table int, what string) error {
					switch {
					case table == bad && where == "cancel":
						cancel()
					case table == bad && what == where:
						return broken
					}
					return nil
				}
				if where == "cancel" {
					want = context.Canceled
				}
				s := newTableStore(t)
				s.fail = fail
				if _, err := Merge(ctx, s, []Input{{Reader: m.memory().View()}}, MergeOptions{Workers: workers, TableBytes: 20 << 10}); !errors.Is(err, want) {
					t.Errorf("%d workers, %s of table %d: merge: %v", workers, where, bad, err)
				}
				cancel()
				ctx, cancel = context.WithCancel(t.Context())
				s = newTableStore(t)
				s.fail = fail
				w := NewStoredWriter(ctx, s, StoredOptions{Workers: workers, TableBytes: 20 << 10})
				failed := writeUntilError(m, w)
				if err := w.Close(); !errors.Is(err, want) || failed != nil && !errors.Is(failed, want) {
					t.Errorf("%d workers, %s of table %d: write: %v, close: %v", workers, where, bad, failed, err)
				}
				cancel()
			}
		}
	}
}

func writeUntilError(m model, w *StoredWriter) error {
	for docs := range slices.Chunk(m, 20) {
		var c Chunk
		for _, d := range docs {
			c.Begin(d.id)
			c.End(0, []byte(d.stored))
		}
		c.Group(c.Sample())
		if err := w.Write(&c); err != nil {
			return err
		}
	}
	return nil
}

// A slowSink has one table, which blocks until as many chunks are pending as there is room for.
type slowSink struct {
	t     *testing.T
	room  int
	mu    sync.Mutex
	moved sync.Cond
	on    int  // pending chunks
	all   bool // no more will come
}

func (s *slowSink) Table(Kind) Table { return s }
func (s *slowSink) Finish() error    { return nil }

// Set takes the only block of a chunk.
func (s *slowSink) Set(_, _ []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.on < s.room && !s.all {
		s.moved.Wait()
	}
	s.mu.Unlock()
	for range 20 { // give one more the time to come
		runtime.Gosched()
	}
	s.mu.Lock()
	if s.on > s.room {
		s.t.Errorf("%d chunks are on their way, want %d at most", s.on, s.room)
	}
	s.on--
	return nil
}

// TestStoredRoom checks that while tables are slow, chunks wait in memory, but no more than there
// is room for.
func TestStoredRoom(t *testing.T) {
	for _, workers := range []int{1, 3} {
		s := &slowSink{t: t, room: 2*workers + 2}
		s.moved.L = &s.mu
		w := NewStoredWriter(t.Context(), s, StoredOptions{Workers: workers})
		var c Chunk
		for range 50 {
			c.Begin("id")
			c.End(0, []byte("stored"))
			c.Group(c.Sample())
			if err := w.Write(&c); err != nil {
				t.Fatal(err)
			}
			s.mu.Lock()
			s.on++
			s.moved.Broadcast()
			s.mu.Unlock()
			c.Reset()
		}
		s.mu.Lock()
		s.all = true
		s.moved.Broadcast()
		s.mu.Unlock()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if s.on != 0 {
			t.Errorf("%d chunks were not written", s.on)
		}
	}
}
