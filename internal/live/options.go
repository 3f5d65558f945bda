package live

import (
	"time"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
)

// Options configure an Index. Every field must be set, except those that may be nil or have a
// default.
type Options struct {
	Store    store.Options // Failed and NewMeta are set by Open
	Building bool          // the index is unfinished until FinishBuild

	Schema      *document.Schema // nil for that of the index
	AlterSchema bool             // Schema's rules replace the index's
	RankField   string           // numeric field of the static rank; empty for none
	Analyzer    func(name string) (analysis.Analyzer, error)
	Text        string // the options for people to read, stored with the schema; see checkKeptOptions

	Sync        bool   // Apply waits until the log is on disk
	MemoryBytes int64  // budget of the segment in memory
	LogBytes    int64  // size of the log that causes a seal
	CacheBytes  int64  // of opened posting lists
	MaxFields   int    // indexed fields
	MaxDocs     uint64 // in the index

	StoredCacheBytes int64 // of stored documents that were read
	TrigramBytes     int64 // of indexes of terms by their trigrams, a part of CacheBytes

	Codec      postings.Kind
	TableBytes int   // of stored documents; 0 for segment.DefaultTableBytes
	LayerBytes int64 // of stored updates of a field, from which changes add layers; 0 for defaultLayerBytes
	CodedBytes int   // from which stored documents are coded; 0 for the default of package segment
	Merge      Merge

	Listener

	Now      func() time.Time  // paces background work; nil for time.Now
	Replayed func(bytes int64) // called after each log record that Open reads, with the bytes held in memory; may be nil
}

// Merge says how segments are merged.
type Merge struct {
	Disabled        bool // in the background
	SegmentsPerTier int
	MaxSegmentBytes int64
	MaxSegmentDocs  uint64 // 0 for the maximum of a segment
	Order           segment.Order
	Workers         int
	MemoryBytes     int64
}

// A Listener receives events, on the goroutine that does the work. Each function may be nil.
type Listener struct {
	Applied func(Applied)
	Sealed  func(Sealed)
	Merged  func(Merged)
	Failed  func(error)          // background work has failed
	Unused  func(segment uint64) // no search uses a sealed segment any more
}

// Applied describes a batch that is durable and visible.
type Applied struct {
	Puts, Updates, Deletes int
	Duration               time.Duration
}

// Sealed describes a segment that has left memory.
type Sealed struct {
	Segment  uint64
	Docs     int
	Bytes    int64
	Duration time.Duration
}

// Merged describes a merge. Segment is 0 if no document was left.
type Merged struct {
	Inputs     []uint64
	InputDocs  int   // of all inputs, deleted ones included
	InputBytes int64 // of all inputs
	Segment    uint64
	Docs       int
	Bytes      int64
	Duration   time.Duration
}

// failed notifies the listener of a failure, if there is one.
func (l *Listener) failed(err error) {
	if l.Failed != nil {
		l.Failed(err)
	}
}
