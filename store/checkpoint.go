package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"
)

// Checkpoint writes a complete and durable copy of the store, as it is now, into
// dir, which must not exist. Where the file system can, tables are hard links
// and cost no space until the store drops them. The copy is a store in its own
// right. Writers go on meanwhile; Commits wait.
func (s *Store) Checkpoint(dir string) error {
	if err := s.writable(); err != nil {
		return err
	}
	defer s.gate.leave()
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	if _, err := s.opts.FS.Stat(dir); err == nil {
		return fmt.Errorf("store: checkpoint: %s: %w", dir, fs.ErrExist)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return wrap(err, "checkpoint")
	}
	end := s.NextSeq()
	if err := s.log.do(func() error { return s.db.Checkpoint(dir, pebble.WithFlushedWAL()) }); err != nil {
		return wrap(err, "checkpoint")
	}
	return s.writeClosing(dir, end)
}

// Compact flushes and compacts everything but segments, so that what the log
// leaves behind when it is truncated goes. Segments are never compacted: their
// tables are dense and do not overlap, and those of dropped ones go at once.
func (s *Store) Compact(ctx context.Context) error {
	if err := s.writable(); err != nil {
		return err
	}
	defer s.gate.leave()
	err := s.log.do(func() error { return s.db.Compact(ctx, []byte{0}, []byte{spaceSegment}, false) })
	return wrap(err, "compact")
}

// Stats are figures about a store, in bytes unless they say otherwise.
type Stats struct {
	DiskBytes     uint64 // all files, those that wait for their removal included
	SegmentBytes  uint64 // tables of segments, orphans included
	LogBytes      uint64 // tables with log records
	WALBytes      uint64 // write-ahead log files that still count
	MemTableBytes uint64 // memory of memtables
	CacheBytes    int64  // memory of the block cache
	CacheHits     int64  // blocks found in the cache
	CacheMisses   int64  // blocks read from files
	Tables        int64  // number of tables
	Iterators     int64  // number of iterators open
}

// Stats returns current figures. It takes microseconds to milliseconds.
func (s *Store) Stats() (Stats, error) {
	if err := s.gate.enter(); err != nil {
		return Stats{}, err
	}
	defer s.gate.leave()
	m := s.db.Metrics()
	total := m.Total()
	st := Stats{
		DiskBytes:     m.DiskSpaceUsage(),
		WALBytes:      m.WAL.Size,
		MemTableBytes: m.MemTable.Size,
		CacheBytes:    m.BlockCache.Size,
		CacheHits:     m.BlockCache.Hits,
		CacheMisses:   m.BlockCache.Misses,
		Tables:        total.TablesCount,
		Iterators:     m.TableIters,
	}
	var err error
	if st.SegmentBytes, err = s.diskUsage([]byte{spaceSegment}, []byte{spaceSegment + 1}); err != nil {
		return Stats{}, err
	}
	st.LogBytes, err = s.diskUsage([]byte{spaceLog}, []byte{spaceLog + 1})
	return st, err
}

// SegmentBytes returns the size of a segment's tables, by kind of table.
func (s *Store) SegmentBytes(segment uint64) (compressed, plain uint64, err error) {
	if err := s.gate.enter(); err != nil {
		return 0, 0, err
	}
	defer s.gate.leave()
	middle := append(segmentPrefix(segment), firstPlainKind)
	if compressed, err = s.diskUsage(segmentPrefix(segment), middle); err != nil {
		return 0, 0, err
	}
	plain, err = s.diskUsage(middle, segmentEnd(segment))
	return compressed, plain, err
}

func (s *Store) diskUsage(lower, upper []byte) (uint64, error) {
	n, err := s.db.EstimateDiskUsage(lower, upper)
	return n, wrap(err, "disk usage from "+KeyString(lower))
}
