package store

import "github.com/cockroachdb/pebble/v2"

// Stats are figures about a store, in bytes unless they say otherwise.
type Stats struct {
	DiskBytes     uint64 // all files, including those not yet removed
	SegmentBytes  uint64 // tables of segments, orphans included
	LogBytes      uint64 // log of documents: files with records that no segment has yet
	WALBytes      uint64 // Pebble's write-ahead log, of manifests
	WrittenBytes  uint64 // written since Open: logs, tables flushed, compacted and ingested
	LogWritten    uint64 // of these, by the log of documents
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
	var st Stats
	if err := s.log.do(func() (err error) { st, err = s.stats(); return err }); err != nil {
		return Stats{}, err // st may still be written to
	}
	return st, nil
}

func (s *Store) stats() (Stats, error) {
	m := s.db.Metrics()
	total := m.Total()
	st := Stats{
		DiskBytes:     m.DiskSpaceUsage(),
		WALBytes:      m.WAL.Size,
		WrittenBytes:  total.TableBytesFlushed + total.TableBytesCompacted, // Total counts log and ingests as flushed
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
	switch {
	case s.wal != nil:
		st.LogBytes = uint64(s.wal.Bytes())
		st.DiskBytes += uint64(s.wal.DiskBytes())
		st.LogWritten = s.wal.Written()
		st.WrittenBytes += st.LogWritten
	case s.found != nil:
		st.LogBytes = uint64(s.found.Bytes())
		st.DiskBytes += uint64(s.found.DiskBytes())
	default: // version 1
		st.LogBytes, err = s.diskUsage([]byte{spaceLog}, []byte{spaceLog + 1})
	}
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

// diskUsage estimates what the tables take that have keys from lower to before upper. DB.EstimateDiskUsage
// would be cheaper with thousands of tables, but in Pebble v2.1.7 it shares cached sums with the choice of
// compactions without a lock (mended by its pull request 5239): both can go wrong for good.
func (s *Store) diskUsage(lower, upper []byte) (n uint64, err error) {
	levels, err := s.db.SSTables(pebble.WithKeyRangeFilter(lower, upper), pebble.WithApproximateSpanBytes())
	for _, tables := range levels {
		for i := range tables {
			n += tables[i].ApproximateSpanBytes
		}
	}
	return n, wrap(err, "disk usage from "+KeyString(lower))
}
