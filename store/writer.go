package store

import (
	"errors"
	"fmt"
	"sync"
)

// A SegmentWriter writes one segment into up to three tables outside Pebble, or more with Table. None of it
// is part of the store before the Commit that ingests it. One goroutine at a time uses a writer,
// and ends it with Finish and a Commit, or with Abort.
type SegmentWriter struct {
	s      *Store
	number uint64
	tables [4]*TableWriter // compressed; plain; compressed, of the keys after those of runs; and plain, of late keys
	runs   []*TableWriter  // of Table, in their order
	behind byte            // first byte of the keys that go to the third table
	plain  byte            // first byte of the keys of plain runs; 0 if there are none
	state  writerState
}

type writerState string

const (
	writing  writerState = "being written"
	finished writerState = "finished"
	ingested writerState = "ingested"
	aborted  writerState = "aborted"
)

// NewSegment begins a segment with a number that no segment has had.
func (s *Store) NewSegment() (*SegmentWriter, error) {
	if err := s.writable(); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	s.mu.Lock()
	n := s.manifest.Next
	s.manifest.Next++
	s.mu.Unlock()
	if err := s.fs.MkdirAll(s.buildPath(), 0o755); err != nil {
		return nil, wrap(err, s.buildPath())
	}
	w := &SegmentWriter{s: s, number: n, behind: firstPlainKind, state: writing}
	for i, name := range []string{"compressed", "plain", "behind", "late"} {
		w.tables[i] = w.table(name, i%2 == 0)
	}
	return w, nil
}

// table begins a table. Its file is created with the first key.
func (w *SegmentWriter) table(name string, compressed bool) *TableWriter {
	path := w.s.fs.PathJoin(w.s.buildPath(), fmt.Sprintf("%d.%s", w.number, name))
	return &TableWriter{s: w.s, segment: w.number, path: path, compressed: compressed, key: segmentPrefix(w.number)}
}

// Number returns the segment's number.
func (w *SegmentWriter) Number() uint64 { return w.number }

// Table begins a table for a run of keys whose first byte is kind. The keys of each table sort after
// those of the tables begun before it. Another goroutine may write it, while this one continues with
// Set and with further tables.
//
// A kind below 0x7f gets compressed tables. It is the same at every such call. After the first, Set
// must not get keys of that kind; those that it got earlier sort before all runs. Another kind, from
// 0x80 up, gets plain tables. It is the same at every such call, and above those of all plain keys
// that Set gets.
func (w *SegmentWriter) Table(kind byte) *TableWriter {
	must(w.state == writing, "table for segment %d, which is %v", w.number, w.state)
	t := w.table(fmt.Sprintf("run%d", len(w.runs)), kind < firstPlainKind)
	t.kind = kind
	w.beginRun(kind)
	w.runs = append(w.runs, t)
	return t
}

func (w *SegmentWriter) beginRun(kind byte) {
	if kind >= firstPlainKind {
		last := max(w.tables[1].last(), w.tables[3].last())
		must(w.plain == kind || w.plain == 0 && last < kind, "runs of keys %#x for segment %d, behind keys %#x and runs of %#x", kind, w.number, last, w.plain)
		w.plain = kind
		return
	}
	if w.behind == firstPlainKind {
		last := w.tables[0].last()
		must(kind < firstPlainKind-1 && last <= kind, "runs of keys %#x for segment %d, behind keys %#x", kind, w.number, last)
		w.behind = kind + 1
	}
	must(w.behind == kind+1, "runs of keys %#x for segment %d, which has those of %#x", kind, w.number, w.behind-1)
}

// Set adds a key. Keys whose first byte is below 0x80 go to a compressed table, those below 0xe0 to a
// plain one, the others to another plain one; within each they must ascend. Neither key nor value is
// retained. After an error the writer is unusable.
func (w *SegmentWriter) Set(key, value []byte) error {
	must(w.state == writing, "key for segment %d, which is %v", w.number, w.state)
	must(len(key) > 0, "empty key for segment %d", w.number)
	t := w.tables[0]
	switch {
	case key[0] >= firstPlainKind:
		must(w.plain == 0 || key[0] < w.plain, "key %x for segment %d, which has runs of %#x", key, w.number, w.plain)
		if t = w.tables[1]; key[0] >= firstLateKind {
			t = w.tables[3]
		}
	case key[0] >= w.behind:
		t = w.tables[2]
	default:
		must(w.behind == firstPlainKind || key[0]+1 < w.behind, "key %x for segment %d, which has runs of such", key, w.number)
	}
	return t.Set(key, value)
}

// all returns all tables, including those without keys.
func (w *SegmentWriter) all() []*TableWriter {
	return append(w.tables[:len(w.tables):len(w.tables)], w.runs...)
}

// Bytes returns the size of the tables written so far, and their final size after Finish. No other
// goroutine may be writing one.
func (w *SegmentWriter) Bytes() uint64 {
	var n uint64
	for _, t := range w.all() {
		n += t.size()
	}
	return n
}

// Finish completes the tables and makes them durable. A segment without a key cannot be finished.
// It comes after the last call of every TableWriter.
func (w *SegmentWriter) Finish() error {
	must(w.state == writing, "segment %d is finished, but %v", w.number, w.state)
	must(len(w.paths()) > 0, "segment %d is finished without a key", w.number)
	// Each table ends with a sync: parallel syncs take no longer than one.
	var wg sync.WaitGroup
	for _, t := range w.all() {
		wg.Go(func() { _ = t.Finish() }) // the table keeps the error
	}
	wg.Wait()
	for _, t := range w.all() {
		if t.err != nil {
			return t.err
		}
	}
	w.state = finished
	return nil
}

// Abort removes the segment's files. It does nothing once the segment is
// ingested, so that it can be deferred. It comes after the last call of every TableWriter.
func (w *SegmentWriter) Abort() error {
	if w.state == ingested || w.state == aborted {
		return nil
	}
	w.state = aborted
	var errs error
	for _, t := range w.all() {
		errs = errors.Join(errs, t.abort())
	}
	return wrap(errs, fmt.Sprintf("abort segment %d", w.number))
}

// paths returns the files to ingest.
func (w *SegmentWriter) paths() []string {
	var paths []string
	for _, t := range w.all() {
		if t.keys > 0 {
			paths = append(paths, t.path)
		}
	}
	return paths
}
