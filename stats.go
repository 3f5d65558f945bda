package riffle

import (
	"context"

	"github.com/riffle-search/riffle/internal/live"
	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
)

// Stats are figures about an index. Sizes are in bytes.
type Stats struct {
	Docs     uint64 // documents that searches can find
	Deleted  uint64 // documents deleted but not yet merged away
	Expired  uint64 // documents deleted by Options.Expire since Open
	Segments []SegmentStats
	Fields   []FieldStats // by name

	MemoryBytes int64 // of the in-memory segment, and of one being sealed
	CacheBytes  int64 // of opened posting lists and cached filters
	CacheHits   int64 // of lists
	CacheMisses int64

	// CacheHitBytes are those of the lists that were hits, each counted whole, and CacheReadBytes
	// those read from the store for lists. So the hit rate by bytes is CacheHitBytes divided by the
	// sum of both.
	CacheHitBytes  int64
	CacheReadBytes int64

	// CachePositionBytes are those of CacheReadBytes that were read for positions. Only phrases and
	// the like need some.
	CachePositionBytes int64

	Resident ResidentStats
	Filters  FilterStats
	Stored   StoredStats

	// Pinned is what snapshots and searches hold in addition: replaced segments.
	Pinned PinnedStats

	GPU *GPUStats // nil without Options.GPU

	LogRecords uint64 // log records that no sealed segment covers yet
	Written    WrittenStats
	Store      store.Stats
}

// ResidentStats say what is in memory to make searches fast, in bytes. The parts of
// Options.CacheBytes are Blocks and everything above it, and mapped files, of which only Code
// counts some; the first nine are CacheBytes in Stats.
type ResidentStats struct {
	Heads int64 // of lists: where blocks of 128 postings lie, and their bounds
	Code  int64 // postings as stored, also those that lie in mapped files
	Rows  int64 // postings as they are searched

	Positions int64 // of words, as stored and as they are searched

	Ranges  int64 // bounds of lists for each 64 documents
	Bitmaps int64 // of lists
	Columns int64 // of sparse length codes
	Values  int64 // columns of values, outside mapped files
	Filters int64

	Segments int64 // length codes outside mapped files, ranks, ids and their places, terms, bounds of tiles, updates
	Trigrams int64 // indexes of terms, in Options.TrigramBytes
	Blocks   int64 // of the store's tables
	Stored   int64 // stored documents, in Options.StoredCacheBytes
}

// Sum returns all of it.
func (r ResidentStats) Sum() int64 {
	return r.Heads + r.Code + r.Rows + r.Positions + r.Ranges + r.Bitmaps + r.Columns + r.Values + r.Filters + r.Segments + r.Trigrams + r.Blocks + r.Stored
}

// WrittenStats are bytes written since Open. Store.WrittenBytes is their sum and what else was
// written: deletions and manifests, some kilobytes for each seal and merge.
type WrittenStats struct {
	Log    uint64
	Seals  uint64 // segments made of documents in memory
	Merges uint64 // segments made of others, by Compact, too
}

// SegmentStats are figures about one segment.
type SegmentStats struct {
	Number  uint64 // 0 for a segment in memory
	Sealed  bool
	Docs    uint32 // deleted ones included
	Deleted uint64
	Bytes   int64
	Order   DocOrder

	// Format is the version of the segment's format, Writer the release of riffle that wrote it
	// (empty before format 6), and Features the segment's features, including optional ones that
	// this release ignores. A segment in memory has none of them. Compact leaves no old format.
	Format   int
	Writer   string
	Features []string
}

// FieldStats are figures about one indexed field, deleted documents included.
type FieldStats struct {
	Name     string
	Docs     uint64 // documents that have the field
	Terms    uint64 // distinct terms, added up over segments
	Postings uint64
	Tokens   uint64
	Norms    bool // lengths are kept
}

// FilterStats are figures about the documents of segments that pass the filters of queries. Those
// of a filter that comes again are cached, in the budget of Options.CacheBytes.
type FilterStats struct {
	Cached       int   // filters, each of one segment
	Bytes        int64 // part of CacheBytes
	Hits, Misses int64 // uses of a filter in a segment that is large enough
}

// StoredStats are figures about stored documents that Get and SearchOptions.Load have read and that
// are cached, in the budget of Options.StoredCacheBytes.
type StoredStats struct {
	Docs         int
	Bytes        int64
	Hits, Misses int64 // documents in sealed segments, but for those that were decoded where they lie
}

// PinnedStats are figures about segments that seals and merges have replaced, and that only
// snapshots and running searches still hold.
type PinnedStats struct {
	Segments    int
	Docs        uint64
	MemoryBytes int64 // of those that were in memory
	DiskBytes   int64 // of those that were sealed
}

// Stats returns current figures.
func (e *Engine) Stats() (*Stats, error) {
	if err := e.index.Begin(); err != nil {
		return nil, err
	}
	defer e.index.End()
	of, err := e.index.Stats()
	if err != nil {
		return nil, err
	}
	st := &Stats{
		Docs: of.Docs, Deleted: of.Deleted, MemoryBytes: of.MemoryBytes, CacheBytes: of.CacheBytes, CacheHits: of.Lists.Hits, CacheMisses: of.Lists.Misses,
		CacheHitBytes: of.Lists.HitBytes, CacheReadBytes: of.Lists.ReadBytes, CachePositionBytes: of.Lists.PositionRead, Resident: residentStats(&of.Resident),
		Filters: FilterStats(of.Filters), Stored: StoredStats(of.Stored), Pinned: PinnedStats(of.Pinned), GPU: e.gpuStats(), LogRecords: of.LogRecords,
		Written: WrittenStats(of.Written), Store: of.Store, Expired: e.expired.Load(),
	}
	for _, s := range of.Segments {
		st.Segments = append(st.Segments, SegmentStats{
			Number: s.Number, Sealed: s.Sealed, Docs: s.Docs, Deleted: s.Deleted, Bytes: s.Bytes, Order: docOrderOf(s.Order),
			Format: s.Format.Version, Writer: s.Format.Writer, Features: s.Format.Features,
		})
	}
	for _, f := range of.Fields {
		st.Fields = append(st.Fields, FieldStats(f))
	}
	return st, nil
}

// Fields returns current figures about all fields, by name: Stats.Fields, at a fraction of its cost.
func (e *Engine) Fields() ([]FieldStats, error) {
	of, err := e.index.Fields()
	if err != nil {
		return nil, err
	}
	list := make([]FieldStats, len(of))
	for i := range of {
		list[i] = FieldStats(of[i])
	}
	return list, nil
}

func residentStats(r *live.Resident) ResidentStats {
	return ResidentStats{
		Heads: r.Heads, Code: r.Code, Rows: r.Rows, Positions: r.Positions, Ranges: r.Ranges, Bitmaps: r.Bitmaps, Columns: r.Columns, Values: r.Values, Filters: r.Filters,
		Segments: r.Segments, Trigrams: r.Trigrams, Blocks: r.Blocks, Stored: r.Stored,
	}
}

// Sizes breaks down the bytes of sealed segments; see segment.Sizes.
type Sizes = segment.Sizes

// Sizes reads all sealed segments and adds up their parts. It takes about as long
// as reading the index from disk.
func (e *Engine) Sizes(ctx context.Context) (Sizes, error) { return e.index.Sizes(ctx) }
