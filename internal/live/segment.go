package live

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/format"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
)

// A liveSegment is one segment of the index, sealed or in memory. Index.mu guards wanted, sealed,
// deleted, persisted and the fields below.
type liveSegment struct {
	number uint64          // in the store; 0 while in memory
	memory *segment.Memory // nil once sealed
	disk   *segment.Disk   // nil while in memory
	bytes  int64           // size in the store
	stored *storedCache    // of the Index; nil while in memory
	users  atomic.Int64    // views that hold it

	wanted int          // number of snapshots that wait for the sealed segment; they hold it
	sealed *liveSegment // the sealed segment, for them; nil if no document was left

	memoryNumber uint64 // of a segment in memory: unique in this process

	head  *segment.MemoryView // of a segment in memory: see divide. Guarded by Index.mu
	tails *segment.TailLists  // of what follows the head

	obsolete  atomic.Bool // no longer in Index.segments
	deleted   *deletions
	persisted *deletions // deletions in the store; the log holds the others
	updates   *updates   // their logs are not in the store yet
	updatable uint32     // of a segment in memory: documents up to the last one with updates
	merging   bool       // it is an input of a merge, or is being sealed
}

// reader returns a reader of the segment as it is now.
func (s *liveSegment) reader() segment.Reader {
	if s.disk != nil {
		return s.disk
	}
	return s.memory.View()
}

// keyOf returns the key of a list for blockmax.Term.Key: the number of its segment, which is never
// reused, and its own. Both fit unless the index has seen four billion segments.
func (s *liveSegment) keyOf(l *postings.List) uint64 {
	if s.disk == nil || l.Number == 0 || s.number >= 1<<31 || l.Number > math.MaxUint32 {
		return 0
	}
	return s.number<<32 | l.Number
}

// columnKey identifies the columns of the segment in the list cache.
func (s *liveSegment) columnKey() uint64 {
	if s.disk != nil {
		return cache.Columns | s.number
	}
	return cache.Columns | cache.MemoryColumns | s.memoryNumber
}

// valuesKey identifies the columns of values of a sealed segment in the list cache.
func (s *liveSegment) valuesKey() uint64 { return cache.Values | s.number }

// listsKey identifies the lists of a segment in memory in the list cache.
func (s *liveSegment) listsKey() uint64 { return cache.MemoryLists | s.memoryNumber }

// tailsKey identifies the lists of the tails of a segment in memory in the list cache.
func (s *liveSegment) tailsKey() uint64 { return cache.MemoryTails | s.memoryNumber }

// filtersKey identifies the filters of the segment in the list cache.
func (s *liveSegment) filtersKey() uint64 {
	if s.disk != nil {
		return cache.Filters | s.number
	}
	return cache.Filters | s.listsKey()
}

// SegmentOfKey returns the segment number in a list's key.
func SegmentOfKey(key uint64) uint64 { return key >> 32 }

// openDisk opens the segment with a number in the store.
func (ix *Index) openDisk(number uint64) (*segment.Disk, error) {
	disk, err := segment.Open(source{ix.store.Segment(number)})
	if err == nil {
		disk.IndexTrigrams(&ix.trigrams)
	}
	return disk, err
}

// openSegment opens a sealed segment, its deletions and its updates.
func (ix *Index) openSegment(number uint64, info []byte) (*liveSegment, error) {
	s := &liveSegment{number: number, stored: ix.stored}
	bytes, n := binary.Uvarint(info)
	if n <= 0 {
		return nil, corrupt.At(corrupt.New(-1, "segment %d has no size", number), "manifest")
	}
	s.bytes = int64(bytes)
	var err error
	if s.disk, err = ix.openDisk(number); err != nil {
		return nil, s.at(err)
	}
	if s.updates, err = ix.openUpdates(s); err != nil {
		return nil, err
	}
	value, err := ix.store.Deletions(number)
	if err != nil || value == nil {
		return s, err
	}
	bm := roaring.New()
	if err := bm.UnmarshalBinary(value); err != nil {
		return nil, corrupt.At(corrupt.New(-1, "%v", err), fmt.Sprintf("deletions of segment %d", number))
	}
	if !bm.IsEmpty() && bm.Maximum() >= s.disk.Docs() {
		return nil, corrupt.At(corrupt.New(-1, "document %d of %d", bm.Maximum(), s.disk.Docs()), fmt.Sprintf("deletions of segment %d", number))
	}
	s.deleted = &deletions{bitmap: bm}
	s.persisted = s.deleted
	return s, nil
}

// source makes a store's segment reader a segment.Source.
type source struct{ *store.SegmentReader }

// Scan implements segment.Source.
func (s source) Scan(lower, upper []byte) (segment.Iterator, error) {
	return s.SegmentReader.Scan(lower, upper)
}

// sink makes a store's segment writer a segment.TableSink.
type sink struct{ *store.SegmentWriter }

// Table implements segment.TableSink.
func (s sink) Table(kind segment.Kind) segment.Table { return s.SegmentWriter.Table(byte(kind)) }

// at adds the segment to an error about its bytes.
func (s *liveSegment) at(err error) error {
	switch {
	case err == nil || s.memory != nil:
		return err
	case errors.Is(err, format.Err):
		return fmt.Errorf("segment %d: %w", s.number, err)
	}
	return corrupt.At(err, fmt.Sprintf("segment %d", s.number))
}
