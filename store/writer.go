package store

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A SegmentWriter writes one segment into two tables outside Pebble, or three after
// Split. Nothing of it is part of the store before the Commit that ingests it. A writer
// is used by one goroutine at a time and ends with Finish and a Commit, or with Abort.
type SegmentWriter struct {
	s      *Store
	number uint64
	tables [3]tableWriter // compressed, plain, compressed from split on
	split  byte           // first byte of the keys that go to the third table
	state  writerState
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
	err        error
	key        []byte // reused
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
	w := &SegmentWriter{s: s, number: n, split: firstPlainKind, state: writing}
	for i, name := range []string{"compressed", "plain", "apart"} {
		w.tables[i].path = s.opts.FS.PathJoin(s.buildPath(), fmt.Sprintf("%d.%s", n, name))
		w.tables[i].compressed = i != 1
	}
	return w, nil
}

// Number returns the segment's number.
func (w *SegmentWriter) Number() uint64 { return w.number }

// Split gives the keys whose first byte is first or more, and below 0x80, a compressed
// table of their own. From then on two goroutines may call Set at once if one has those keys
// and the other all others. It must come before the first Set.
func (w *SegmentWriter) Split(first byte) {
	must(w.tables[0].keys == 0 && first < firstPlainKind, "segment %d is split at %#x after %d keys", w.number, first, w.tables[0].keys)
	w.split = first
}

// Set adds a key. Keys whose first byte is below 0x80 go to a compressed
// table, the others to the plain one; within each they must ascend. Neither key
// nor value is kept. After an error the writer is of no more use.
func (w *SegmentWriter) Set(key, value []byte) error {
	must(w.state == writing, "key for segment %d, which is %v", w.number, w.state)
	must(len(key) > 0, "empty key for segment %d", w.number)
	t := &w.tables[0]
	switch {
	case key[0] >= firstPlainKind:
		t = &w.tables[1]
	case key[0] >= w.split:
		t = &w.tables[2]
	}
	if t.err != nil {
		return t.err
	}
	t.key = append(append(t.key[:0], segmentPrefix(w.number)...), key...)
	if t.err = t.set(w.s, t.key, value); t.err != nil {
		t.err = wrap(t.err, KeyString(t.key))
	}
	return t.err
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
	must(len(w.paths()) > 0, "segment %d is finished without a key", w.number)
	// Each table ends with a sync: all at once take no longer than one.
	var wg sync.WaitGroup
	for i := range w.tables {
		t := &w.tables[i]
		wg.Go(func() {
			if t.err == nil {
				t.err = wrap(t.finish(), fmt.Sprintf("finish segment %d", w.number))
			}
		})
	}
	wg.Wait()
	for i := range w.tables {
		if err := w.tables[i].err; err != nil {
			return err
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
