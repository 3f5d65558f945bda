package live

import (
	"time"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
)

// Options configure an Index. Every field is set, except those that may be nil or have a default.
type Options struct {
	Store    store.Options // Failed and NewMeta are set by Open
	Building bool          // the index is unfinished, and FinishBuild makes it whole

	Schema      *document.Schema // nil for the one that the index has
	AlterSchema bool             // Schema's rules take the place of the index's
	RankField   string           // numeric field of the static rank; empty for none
	Analyzer    func(name string) (analysis.Analyzer, error)
	Text        string // the options as people read them, kept beside the schema; see checkKeptOptions

	Sync        bool   // Apply waits until the log is on disk
	MemoryBytes int64  // budget of the segment in memory
	LogBytes    int64  // how far the log may grow before a seal
	CacheBytes  int64  // of opened posting lists
	MaxFields   int    // indexed fields
	MaxDocs     uint64 // in the index

	Codec      postings.Kind
	TableBytes int // of stored documents; 0 for segment.DefaultTableBytes
	Merge      Merge

	Listener

	Now      func() time.Time  // paces background work; nil for time.Now
	Replayed func(bytes int64) // is told what memory holds after each record of the log that Open reads; may be nil
}

// Merge says how segments are merged.
type Merge struct {
	Disabled        bool // in the background
	SegmentsPerTier int
	MaxSegmentBytes int64
	MaxSegmentDocs  uint64 // 0 for the most that a segment may have
	Order           segment.Order
	Workers         int
	MemoryBytes     int64
}

// A Listener is told what happens, by the goroutine that does the work. Each function may be nil.
type Listener struct {
	Applied func(Applied)
	Sealed  func(Sealed)
	Merged  func(Merged)
	Failed  func(error)          // work in the background has failed
	Unused  func(segment uint64) // nobody searches a sealed segment any more
}

// Applied describes a batch that is durable and visible.
type Applied struct {
	Puts, Deletes int
	Duration      time.Duration
}

// Sealed describes a segment that has left memory.
type Sealed struct {
	Segment  uint64
	Docs     int
	Bytes    int64
	Duration time.Duration
}

// Merged describes a merge. Segment is 0 when no document was left.
type Merged struct {
	Inputs   []uint64
	Segment  uint64
	Docs     int
	Bytes    int64
	Duration time.Duration
}

// failed tells the listener of a failure, if there is one to tell.
func (l *Listener) failed(err error) {
	if l.Failed != nil {
		l.Failed(err)
	}
}
