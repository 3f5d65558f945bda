package riffle

import (
	"fmt"

	"github.com/riffle-search/riffle/analysis"
)

// A Durability says what Apply waits for.
type Durability uint8

const (
	// SyncBatch: Apply returns when the batch is synced to disk. A power cut loses nothing
	// acknowledged.
	SyncBatch Durability = iota

	// SyncNone: Apply returns when the batch is handed to the log. A crash of the
	// process or the machine may lose the latest batches, never a part of one.
	SyncNone
)

func (d Durability) String() string {
	switch d {
	case SyncBatch:
		return "sync-batch"
	case SyncNone:
		return "no-sync"
	}
	return fmt.Sprintf("Durability(%d)", uint8(d))
}

// MergeOptions configures the background merges.
type MergeOptions struct {
	// SegmentsPerTier is how many neighboring segments of similar size are merged into one. A tier
	// is a range of sizes, each that many times as large as the one below; the lowest ends at 1
	// MiB. An index that was sealed in n equal parts has been written 1 + log(n) times, to the base
	// SegmentsPerTier, and has at most SegmentsPerTier-1 segments in each tier, and those sealed
	// while a merge runs. Fewer make searches faster and writing slower. The default is 5.
	SegmentsPerTier int

	// MaxSegmentBytes: larger segments are merged only by Compact, or to drop deleted documents.
	// The default is 5 GiB.
	MaxSegmentBytes int64

	// Order of documents in merged segments. The default is OrderByArrival.
	Order DocOrder

	// OrderField is the field of OrderByField. Documents ascend by the least of their values in it, or,
	// with OrderDescending, descend by the greatest.
	OrderField      string
	OrderDescending bool

	// Workers is how many cores merges and seals use at most, all together. The default is half of
	// GOMAXPROCS, at least one. One merge and one seal run at a time; they take turns of some 50
	// µs, and yield to searches and to Apply. Merged segments do not depend on it.
	Workers int

	// MemoryBytes is the memory that a merge may use to reorder documents. With less than about 5
	// bytes for each posting, OrderByGraph considers fewer words and yields a worse order. The
	// default is 256 MiB, of which small indexes use little. In any order, a merge also holds about
	// 16 bytes for each document of its inputs.
	MemoryBytes int64

	// Disabled turns background merges off; Compact still merges.
	Disabled bool
}

// Rank configures a static rank: a number in [0, 1] that each document may carry (PageRank, for
// example), and its weight.
type Rank struct {
	// Field is the numeric field that holds a document's rank. Empty means no static rank. A
	// document without the field has rank 0; a document with a number outside [0, 1] is refused.
	Field string

	// Alpha in [0, 1]: a hit's score is Alpha·rank + (1-Alpha)·BM25, with BM25 divided by the sum
	// of the query's weights. Words that no document of the index has do not count in that sum. At
	// zero the rank is ignored and scores are plain BM25.
	Alpha float64
}

// Options configures an Engine. A nil *Options is valid, and a field left at its zero value takes
// the default that its comment names.
type Options struct {
	// Schema describes the fields. Nil takes the schema kept in the index or, for
	// a new index, one that indexes and stores everything.
	Schema *Schema

	// AlterSchema lets Schema change the rules of an existing index. Its Dynamic and NoStore, and
	// the NoIndex and NoStore of the fields that it names, replace the stored rules for later
	// documents. Without it Open refuses a Schema with other rules, except rules left at their zero
	// values, which stay as they are. Fields can be added in either case. How existing documents
	// are indexed never changes: see Reindex.
	AlterSchema bool

	// Durability of Apply. The default is SyncBatch.
	Durability Durability

	// MemoryBytes is the budget of the in-memory segment: a full segment is sealed and written out.
	// Meanwhile up to twice as much is in use. The default is 64 MiB, the minimum 64 KiB.
	MemoryBytes int64

	// MaxFields is the maximum number of indexed fields, over all segments and the batches being
	// applied. A document that would add one more is refused with a *DocumentError. Each field
	// costs about a kilobyte of memory and a hundred bytes in each segment. An index may have more,
	// written without the limit or under a higher one: it can still be opened, searched, and given
	// documents without new fields. A field counts until no segment has it any more, which takes a
	// merge after its last document is gone. The default is 10,000, the maximum 65,536.
	MaxFields int

	// LogBytes is the size of the log at which the in-memory segment is sealed even if it is not
	// full: deletions and ignored fields take room in the log and none in memory. Meanwhile Apply
	// may log as much again; then it waits. On disk the log takes up to 16 MiB more. The default is
	// 64 MiB, or MemoryBytes if that is more; the minimum is 64 KiB.
	LogBytes int64

	// CacheBytes bounds what searches keep in memory. Blocks of the store's tables take an eighth of
	// it, between 1 and 16 MiB, and pages of its mapped files a quarter, about, between 4 MiB and 1
	// GiB. Opened posting lists, what was derived from them (bitmaps at most half) and filters that
	// come again (with excerpts of lists, at most a quarter) share the rest with length codes, ranks,
	// ids and their places, terms and their indexes (TrigramBytes), which come first, but leave half of
	// the rest; pages of ids take at most a sixteenth, and 16 MiB a segment.
	// Stats.Resident says what is there. Besides, each running search takes what it works with, and
	// without a memory limit (GOMEMLIMIT or debug.SetMemoryLimit) Go's collector lets the heap grow
	// to twice of what is in use. The default is DefaultCacheBytes.
	CacheBytes int64

	// NoMap makes searches read files into memory, and map none. By default, on Linux 5.14 and
	// later, posting lists and lengths are read where they lie in mapped files; the first search
	// after Open then takes a third to a half of its time. But if the system drops a page later and
	// the disk fails when it is read again, the process ends with SIGBUS. Without mapping, calls
	// return the error. An engine with a GPU maps nothing.
	NoMap bool

	// MaxTerms bounds the terms of an index that one Prefix, Wildcard, Regexp, TermRange or the last
	// word of a PhrasePrefix may stand for. A query with more fails, unless SearchOptions.Partial is
	// set. The default is DefaultMaxTerms.
	MaxTerms int

	// TrigramBytes bounds the memory of indexes of terms by the sequences of three bytes in them: a part
	// of CacheBytes. With one, a Wildcard or Regexp that begins with no literal, such as *infix*, reads
	// the terms that have the trigrams of its literals, and not all terms of the field. An index takes 7
	// to 25 bytes a term. It is made for 65,536 terms of a sealed segment at a time, when they have been
	// scanned as long as that takes: about twenty times. Literals of three bytes or more use it. The
	// default is an eighth of CacheBytes; NoTrigrams stands for none.
	TrigramBytes int64

	// StoredCacheBytes bounds the cache of stored documents that Get and SearchOptions.Load have
	// read. One that is not cached takes some thirty times as long to read. On Linux, those of large
	// merged segments need no cache: they are decoded where they lie, unless NoMap is set. The
	// default is a sixteenth of CacheBytes, at least 1 MiB. It is not a part of CacheBytes.
	StoredCacheBytes int64

	// AggregationBytes bounds the memory of the aggregations of one search, without what columns take of
	// CacheBytes. Beyond it the search fails with a *QueryError that names an aggregation. The default
	// is DefaultAggregationBytes.
	AggregationBytes int64

	// CollapseBytes bounds the memory of the groups of one search with SearchOptions.Collapse: some 200 to
	// 400 bytes for each. Beyond it the search fails with a *QueryError that names the option. The default
	// is DefaultCollapseBytes.
	CollapseBytes int64

	// Codec of new segments. The default is CodecInterpolative.
	Codec Codec

	// Merge configures background merges.
	Merge MergeOptions

	// SearchWorkers is the number of cores that one search may use, and that the engine assumes for
	// all searches together: a search gets help while fewer goroutines than that are searching. Any
	// number of goroutines may search at once. The Engine adds at most SearchWorkers-1 of its own,
	// and starts them with the first search that can use help. SearchBatch uses as many. The
	// default is GOMAXPROCS.
	SearchWorkers int

	// Exec applies to counts and to searches without SearchOptions.Exec. Leave it at zero.
	Exec Exec

	// GPU lets GPUs answer searches, too. The default, nil, uses none.
	GPU *GPUOptions

	// Similarity holds the BM25 parameters of searches that set none of their own. The default is
	// k1 = 1.2, b = 0.75 with Lucene's idf.
	Similarity *BM25

	// Rank configures the static rank. The default is none.
	Rank Rank

	// AllowUnknownFields makes a clause on a field that the index does not have match nothing. The
	// default is a *QueryError that names the existing fields. A field exists if the schema
	// declares it, or a searchable document has it. In an index without fields, whose schema
	// accepts any, every name is accepted. Set it where fields come and go with documents.
	AllowUnknownFields bool

	// Analyzers are available to this Engine by the names they are mapped to, besides the
	// registered ones.
	Analyzers map[string]analysis.Analyzer

	// Expire deletes documents some time after a date that they have. The default, nil, deletes none.
	// It holds as long as the engine is open, and has no effect on a Build or with ReadOnly.
	Expire *Expire

	// Listener receives the engine's events. The default is none.
	Listener *Listener

	// ReadOnly opens an existing index without changing anything in its directory. Several readers
	// may have an index open at once; while a writer has it open, Open returns ErrLocked.
	ReadOnly bool

	private privateOptions // knobs for tests
}
