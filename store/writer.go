package store

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A SegmentWriter writes one segment into two tables outside Pebble. Nothing of
// it is part of the store before the Commit that ingests it. A writer is used by
// one goroutine at a time and ends with Finish and a Commit, or with Abort.
type SegmentWriter struct {
	s      *Store
	number uint64
	tables [2]tableWriter // compressed, plain
	state  writerState
	err    error
	key    []byte // reused
}

type writerState string

const (
	writing  writerState = "being written"
	finished writerState = "finished"
	ingested writerState = "ingested"
	aborted  writerState = "aborted"
)

// A tableWriter makes one sstable; it begins its file at the first key.
type tableWriter struct {
	path       string
	compressed bool
	w          *sstable.Writer // nil before the first key and after Finish
	bytes      uint64          // size of the finished file
	keys       uint64
}

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
	if err := s.opts.FS.MkdirAll(s.buildPath(), 0o755); err != nil {
		return nil, wrap(err, s.buildPath())
	}
	w := &SegmentWriter{s: s, number: n, state: writing}
	for i, name := range []string{"compressed", "plain"} {
		w.tables[i].path = s.opts.FS.PathJoin(s.buildPath(), fmt.Sprintf("%d.%s", n, name))
		w.tables[i].compressed = i == 0
	}
	return w, nil
}

// Number returns the segment's number.
func (w *SegmentWriter) Number() uint64 { return w.number }

// Set adds a key. Keys whose first byte is below 0x80 go to the compressed
// table, the others to the plain one; within each they must ascend. Neither key
// nor value is kept. After an error the writer is of no more use.
func (w *SegmentWriter) Set(key, value []byte) error {
	must(w.state == writing, "key for segment %d, which is %v", w.number, w.state)
	must(len(key) > 0, "empty key for segment %d", w.number)
	if w.err != nil {
		return w.err
	}
	t := &w.tables[0]
	if key[0] >= firstPlainKind {
		t = &w.tables[1]
	}
	w.key = append(append(w.key[:0], segmentPrefix(w.number)...), key...)
	if w.err = t.set(w.s, w.key, value); w.err != nil {
		w.err = wrap(w.err, KeyString(w.key))
	}
	return w.err
}

func (t *tableWriter) set(s *Store, key, value []byte) error {
	if t.w == nil {
		f, err := s.opts.FS.Create(t.path, vfs.WriteCategoryUnspecified)
		if err != nil {
			return err
		}
		// Synced piecemeal, so that Finish does not wait for all of it at once.
		f = vfs.NewSyncingFile(f, vfs.SyncingFileOptions{BytesPerSync: s.popt.BytesPerSync})
		o := tableOptions(s.popt, s.db.TableFormat(), t.compressed)
		t.w = sstable.NewWriter(objstorageprovider.NewFileWritable(f), o)
	}
	t.keys++
	return t.w.Set(key, value)
}

// Bytes returns the size of the tables as far as they are written, and their
// final size after Finish.
func (w *SegmentWriter) Bytes() uint64 {
	var n uint64
	for i := range w.tables {
		t := &w.tables[i]
		if n += t.bytes; t.w != nil {
			n += t.w.Raw().EstimatedSize()
		}
	}
	return n
}

// Finish completes the tables and makes them durable. A segment without a key
// cannot be finished.
func (w *SegmentWriter) Finish() error {
	must(w.state == writing, "segment %d is finished, but %v", w.number, w.state)
	must(w.tables[0].keys+w.tables[1].keys > 0, "segment %d is finished without a key", w.number)
	if w.err != nil {
		return w.err
	}
	for i := range w.tables {
		if err := w.tables[i].finish(); err != nil {
			w.err = wrap(err, fmt.Sprintf("finish segment %d", w.number))
			return w.err
		}
	}
	w.state = finished
	return nil
}

func (t *tableWriter) finish() error {
	if t.w == nil {
		return nil
	}
	w := t.w
	t.w = nil
	if err := w.Close(); err != nil {
		return err
	}
	meta, err := w.Metadata()
	if err != nil {
		return err
	}
	t.bytes = meta.Size
	return nil
}

// Abort removes the segment's files. It does nothing once the segment is
// ingested, so that it can be deferred.
func (w *SegmentWriter) Abort() error {
	if w.state == ingested || w.state == aborted {
		return nil
	}
	w.state = aborted
	var errs error
	for i := range w.tables {
		t := &w.tables[i]
		if t.w != nil {
			_ = t.w.Close() // what it has to say about a file that goes does not matter
			t.w = nil
		}
		if t.keys > 0 {
			errs = errors.Join(errs, w.s.opts.FS.Remove(t.path))
		}
	}
	return wrap(errs, fmt.Sprintf("abort segment %d", w.number))
}

// paths returns the files to ingest.
func (w *SegmentWriter) paths() []string {
	var paths []string
	for i := range w.tables {
		if w.tables[i].keys > 0 {
			paths = append(paths, w.tables[i].path)
		}
	}
	return paths
}
