package riffle

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/gpu/link"
	"github.com/riffle-search/riffle/internal/hook"
	"github.com/riffle-search/riffle/internal/live"
	"github.com/riffle-search/riffle/internal/memlimit"
	"github.com/riffle-search/riffle/internal/shapes"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
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

// A DocOrder says in which order a merge numbers documents.
type DocOrder uint8

const (
	// OrderByArrival keeps the order of arrival: ties go to the older document.
	OrderByArrival DocOrder = iota

	// OrderByGlobalScore puts documents that can score highest first (α·rank + (1-α)·best impact,
	// as in Wang 2017), so that a query stops when no later document can enter its top k. It pays
	// when documents have a static rank.
	OrderByGlobalScore

	// OrderByGraph brings documents that share words close together, by recursive graph bisection
	// (Dhulipala 2016). The index becomes smaller and searches faster, the more so the more random
	// the order of arrival was; merges take longer. Only merges reorder: a newly sealed segment,
	// and one of fewer than segment.MinGraphDocs documents, keep the order of arrival. Hits with
	// equal scores are then no longer in the order of arrival.
	OrderByGraph

	// OrderByField puts documents in the order of a field with a column, MergeOptions.OrderField: of
	// dates, for instance. A range of its values is then a run of documents, and a search that sorts by
	// the field stops after a few. Documents without a value come last. It costs what OrderByGraph
	// gains: choose by what your searches do.
	//
	// It pays when searches sort by the field or restrict it, and documents arrive in another order: for
	// 100,000 passages of books with random times, a text search took 0.3 of the time newest first, and 0.4
	// within 1 % of the time. By score alone it took 1.2 to 1.4 times as long, and merging up to 1.8 times.
	OrderByField
)

func (o DocOrder) String() string {
	switch o {
	case OrderByArrival:
		return "arrival"
	case OrderByGlobalScore:
		return "global-score"
	case OrderByGraph:
		return "graph"
	case OrderByField:
		return "field"
	}
	return fmt.Sprintf("DocOrder(%d)", uint8(o))
}

// A Codec says how posting lists are stored. Searches give the same answers with any codec. A
// segment keeps its codec until it is merged, so one index may hold several.
// bench/results/2026-11-20-codecs.md lists sizes and times.
type Codec uint8

const (
	// CodecInterpolative is the smallest. Postings that a search needs are unpacked when they are
	// read into the list cache, at about 7 ns a posting; in the cache lists are CodecPacked.
	CodecInterpolative Codec = iota

	// CodecPacked stores lists in the form in which they are searched. They take half as much again
	// on disk and are read at the speed of a copy. It suits an index that changes all the time, or
	// is many times larger than Options.CacheBytes.
	CodecPacked

	// CodecPFor and CodecRice store blocks with exceptions, or partly in unary, and keep that form
	// in memory: smaller than CodecPacked there too, and slower to search.
	CodecPFor
	CodecRice
)

// kinds maps the codecs to those of package postings.
var kinds = [...]postings.Kind{CodecInterpolative: postings.Interpolative, CodecPacked: postings.Packed, CodecPFor: postings.PFor, CodecRice: postings.Rice}

func (c Codec) String() string {
	if int(c) < len(kinds) {
		return kinds[c].String()
	}
	return fmt.Sprintf("Codec(%d)", uint8(c))
}

// ParseCodec reads "interpolative", "packed", "pfor" or "rice".
func ParseCodec(name string) (Codec, error) {
	for c := range Codec(len(kinds)) {
		if c.String() == name {
			return c, nil
		}
	}
	return 0, fmt.Errorf(`unknown codec %q (want "interpolative", "packed", "pfor" or "rice")`, name)
}

// BM25 holds the parameters of the similarity:
//
//	type BM25 struct {
//		K1  float64 // how slowly repeated terms saturate, up to 1000; BM25Zero ignores frequency
//		B   float64 // how strongly long fields are penalized, up to 1; BM25Zero is not at all
//		IDF IDF     // how rarity becomes weight: IDFLucene or IDFRobertson
//	}
//
// Parameters left at 0 are those of Lucene: k1 = 1.2, b = 0.75. BM25Zero stands for the number 0.
type BM25 = blockmax.BM25

// An IDF says how the rarity of a term becomes its weight: N is the number of documents, and n is
// how many of them have the term.
type IDF = blockmax.IDF

const (
	IDFLucene    = blockmax.Lucene    // ln(1 + (N-n+0.5)/(n+0.5)), above zero for every term
	IDFRobertson = blockmax.Robertson // ln((N-n+0.5)/(n+0.5)), zero for terms in more than half of the documents
)

// BM25Zero is 0 as K1 or B of a BM25, where 0 itself stands for the default.
const BM25Zero = blockmax.Zero

// Limits of a document and a batch.
const (
	MaxIDBytes   = document.MaxIDBytes   // longest document id
	MaxNameBytes = document.MaxNameBytes // longest name of a field, with the dots, and of an analyzer
	MaxFields    = document.MaxFields    // most values of one document
	MaxTermBytes = document.MaxTermBytes // longest term, as in Lucene; a longer keyword is refused

	MaxPositionBytes = document.MaxPositionBytes // longest Batch.Position

	// MaxDocumentBytes bounds a document: the bytes of its strings and names, and 16 for each
	// value.
	MaxDocumentBytes = document.MaxDocumentBytes
)

// Default sizes and limits.
const (
	DefaultMemoryBytes     = 64 << 20
	DefaultLogBytes        = 64 << 20
	DefaultSegmentsPerTier = 5
	DefaultMaxSegmentBytes = 5 << 30
	DefaultMaxFields       = 10_000
	MaxMaxFields           = 1 << 16 // the maximum of Options.MaxFields

	MaxK = 10_000 // maximum of SearchOptions.K

	// MaxDocs bounds the documents of an index, including those deleted but not yet merged away.
	// Batches that are applied concurrently count together.
	MaxDocs = 4_000_000_000

	// MaxMemoryBytes bounds Options.MemoryBytes, so that a segment in memory cannot exceed the
	// documents that a segment may have.
	MaxMemoryBytes = 64 << 30
)

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

type privateOptions struct {
	store       store.Options      // the file system, sizes
	memoryBytes int64              // MemoryBytes, below its minimum
	tableBytes  int                // of stored documents; 0 stands for segment.DefaultTableBytes
	layerBytes  int64              // of stored updates of a field from which seals add layers; 0 stands for the default
	codedBytes  int                // of stored documents, from which they are coded; 0 stands for the default
	building    bool               // opened by Build
	accelerator accelerator.Opener // instead of GPUs
	spin        time.Duration      // how long an idle worker looks for a search to help with; 0 stands for cpuexec.DefaultSpin, negative for none
	now         func() time.Time   // instead of time.Now, to pace background work
	maxDocs     uint64             // instead of MaxDocs
	segmentDocs uint64             // instead of a segment's maximum
	replayed    func(bytes int64)  // called after each log record that Open reads, with the bytes held in memory
}

// Test and benchmark programs of riffle reach private options through package hook.
func init() {
	hook.Set = func(opts any, k hook.Knobs) {
		switch o := opts.(type) {
		case *Options:
			o.private.set(k)
		case *BuildOptions:
			o.Index.private.set(k)
			o.private.blockBytes, o.private.runBytes = k.BlockBytes, k.RunBytes
		default:
			panic(fmt.Sprintf("BUG: knobs for %T", opts))
		}
	}
	hook.SetPolicy = func(exec any, p cpuexec.Policy) { exec.(*Exec).baseline = p }
	hook.WithinShape = func(field string, s shapes.Shape, text string) any { return withinShape{field, s, text} }
}

func (p *privateOptions) set(k hook.Knobs) {
	p.store, p.memoryBytes, p.tableBytes, p.codedBytes, p.spin = k.Store, k.MemoryBytes, k.TableBytes, k.CodedBytes, k.Spin
	p.layerBytes = k.LayerBytes
}

// NoTrigrams is the value of Options.TrigramBytes for no indexes of terms.
const NoTrigrams = -1

// DefaultAggregationBytes is the default of Options.AggregationBytes.
const DefaultAggregationBytes = 256 << 20

// DefaultCollapseBytes is the default of Options.CollapseBytes.
const DefaultCollapseBytes = 256 << 20

// DefaultMaxTerms is the default of Options.MaxTerms.
const DefaultMaxTerms = 1 << 20

// DefaultCacheBytes is the default of Options.CacheBytes: an eighth of the memory of the machine, or
// of its control group (a container's limit), or a quarter of Go's memory limit (GOMEMLIMIT or
// debug.SetMemoryLimit), whichever is least; but at least 32 MiB, and 128 MiB where none is known.
func DefaultCacheBytes() int64 {
	const unknown, least = 128 << 20, 32 << 20
	budget := int64(math.MaxInt64)
	if machine := memlimit.Machine(); machine > 0 {
		budget = machine / 8
	}
	if limit := memlimit.Go(); limit > 0 {
		budget = min(budget, limit/4)
	}
	if budget == math.MaxInt64 {
		return unknown
	}
	return max(budget, least)
}

// withDefaults returns a copy with zero values replaced by defaults. It accepts nil.
func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Expire != nil && d.Expire.Every == 0 {
		x := *d.Expire
		x.Every = defaultExpireEvery
		d.Expire = &x
	}
	if d.MemoryBytes == 0 {
		d.MemoryBytes = DefaultMemoryBytes
	}
	if d.MaxFields == 0 {
		d.MaxFields = DefaultMaxFields
	}
	if d.LogBytes == 0 {
		d.LogBytes = max(DefaultLogBytes, d.MemoryBytes)
	}
	if d.CacheBytes == 0 {
		d.CacheBytes = DefaultCacheBytes()
	}
	if d.MaxTerms == 0 {
		d.MaxTerms = DefaultMaxTerms
	}
	if d.AggregationBytes == 0 {
		d.AggregationBytes = DefaultAggregationBytes
	}
	if d.CollapseBytes == 0 {
		d.CollapseBytes = DefaultCollapseBytes
	}
	if d.StoredCacheBytes == 0 {
		d.StoredCacheBytes = max(d.CacheBytes/16, 1<<20)
	}
	if d.TrigramBytes == 0 {
		d.TrigramBytes = max(d.CacheBytes/8, 64<<10)
	}
	if d.Merge.SegmentsPerTier == 0 {
		d.Merge.SegmentsPerTier = DefaultSegmentsPerTier
	}
	if d.Merge.MaxSegmentBytes == 0 {
		d.Merge.MaxSegmentBytes = DefaultMaxSegmentBytes
	}
	if d.Merge.Workers == 0 {
		d.Merge.Workers = max(1, runtime.GOMAXPROCS(0)/2)
	}
	if d.Merge.MemoryBytes == 0 {
		d.Merge.MemoryBytes = segment.DefaultMergeMemory
	}
	if d.private.maxDocs == 0 {
		d.private.maxDocs = MaxDocs
	}
	if d.SearchWorkers == 0 {
		d.SearchWorkers = runtime.GOMAXPROCS(0)
	}
	if d.Exec.Grain == 0 {
		d.Exec.Grain = cpuexec.DefaultGrain
	}
	if d.Exec.Delta == 0 {
		d.Exec.Delta = cpuexec.DefaultDelta
	}
	sim := blockmax.DefaultBM25
	if d.Similarity != nil {
		sim = d.Similarity.OrDefault()
	}
	d.Similarity = &sim
	return d
}

// Validate reports all invalid fields in one error.
func (o *Options) Validate() error {
	d := o.withDefaults()
	var errs []error
	want := func(ok bool, field, rule string, got any) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s: %s, not %v", "Options."+field, rule, got))
		}
	}
	want(d.Durability <= SyncNone, "Durability", "must be SyncBatch or SyncNone", d.Durability)
	want(d.MemoryBytes >= 64<<10, "MemoryBytes", "must be at least 64 KiB", d.MemoryBytes)
	want(d.MemoryBytes <= MaxMemoryBytes, "MemoryBytes", "must be at most 64 GiB", d.MemoryBytes)
	want(d.MaxFields > 0 && d.MaxFields <= MaxMaxFields, "MaxFields", "must lie in [1, 65536]", d.MaxFields)
	want(d.LogBytes >= 64<<10, "LogBytes", "must be at least 64 KiB", d.LogBytes)
	want(d.CacheBytes > 0, "CacheBytes", "must be positive", d.CacheBytes)
	want(d.MaxTerms > 0, "MaxTerms", "must be positive", d.MaxTerms)
	want(d.AggregationBytes > 0, "AggregationBytes", "must be positive", d.AggregationBytes)
	want(d.CollapseBytes > 0, "CollapseBytes", "must be positive", d.CollapseBytes)
	want(d.StoredCacheBytes > 0, "StoredCacheBytes", "must be positive", d.StoredCacheBytes)
	want(d.TrigramBytes > 0 || d.TrigramBytes == NoTrigrams, "TrigramBytes", "must be positive, or NoTrigrams", d.TrigramBytes)
	want(int(d.Codec) < len(kinds), "Codec", "must be CodecInterpolative, CodecPacked, CodecPFor or CodecRice", d.Codec)
	want(d.Merge.SegmentsPerTier >= 2, "Merge.SegmentsPerTier", "must be at least 2", d.Merge.SegmentsPerTier)
	want(d.Merge.MaxSegmentBytes > 0, "Merge.MaxSegmentBytes", "must be positive", d.Merge.MaxSegmentBytes)
	want(d.Merge.Order <= OrderByField, "Merge.Order", "must be OrderByArrival, OrderByGlobalScore, OrderByGraph or OrderByField", d.Merge.Order)
	if d.Merge.Order == OrderByField {
		want(d.Merge.OrderField != "", "Merge.OrderField", "must name a field with OrderByField", `""`)
	} else {
		want(d.Merge.OrderField == "", "Merge.OrderField", "goes with OrderByField", strconv.Quote(d.Merge.OrderField))
		want(!d.Merge.OrderDescending, "Merge.OrderDescending", "goes with OrderByField", true)
	}
	if x := d.Expire; x != nil {
		want(x.Field != "", "Expire.Field", "must name a field", `""`)
		want(x.After >= 0, "Expire.After", "must not be negative", x.After)
		want(x.Every > 0, "Expire.Every", "must be positive", x.Every)
	}
	want(d.Merge.Workers > 0, "Merge.Workers", "must be at least 1", d.Merge.Workers)
	want(d.Merge.MemoryBytes > 0, "Merge.MemoryBytes", "must be positive", d.Merge.MemoryBytes)
	want(d.Rank.Alpha >= 0 && d.Rank.Alpha <= 1 && !math.IsNaN(d.Rank.Alpha), "Rank.Alpha", "must lie in [0, 1]", d.Rank.Alpha)
	want(d.Rank.Alpha == 0 || d.Rank.Field != "", "Rank.Field", "must name a field when Alpha is set", `""`)
	if err := d.Similarity.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("Options.Similarity: %w", err))
	}
	want(d.SearchWorkers > 0, "SearchWorkers", "must be at least 1", d.SearchWorkers)
	if err := d.Exec.validate(); err != nil {
		errs = append(errs, fmt.Errorf("Options.Exec: %w", err))
	}
	if d.GPU != nil {
		if err := d.GPU.validate(); err != nil {
			errs = append(errs, fmt.Errorf("Options.GPU: %w", err))
		}
	}
	for name, a := range d.Analyzers {
		want(name != "" && a != nil, "Analyzers", "must map names to analyzers", fmt.Sprintf("%q: %v", document.ShortName(name), a))
		want(name == "" || document.CheckName(name) == nil, "Analyzers", "must have names that are UTF-8 and at most 1,024 bytes long", fmt.Sprintf("%q", document.ShortName(name)))
	}
	if d.Rank.Field != "" {
		want(document.CheckName(d.Rank.Field) == nil, "Rank.Field", "must be UTF-8 and at most 1,024 bytes long", fmt.Sprintf("%q", document.ShortName(d.Rank.Field)))
	}
	if s := d.Schema.internal(); s != nil {
		if err := errors.Join(s.CheckNames(), s.Validate(d.analyzer)); err != nil {
			errs = append(errs, fmt.Errorf("Options.%w", err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("riffle: %w", err)
	}
	return nil
}

// analyzer finds an analyzer by name: the Engine's own first, then the registered ones.
func (o *Options) analyzer(name string) (analysis.Analyzer, error) {
	if a, ok := o.Analyzers[name]; ok {
		return a, nil
	}
	return analysis.Lookup(name)
}

// String prints the options, defaults filled in, one `name=value` a line.
func (o *Options) String() string {
	d := o.withDefaults()
	var b strings.Builder
	line := func(name string, value any) { fmt.Fprintf(&b, "%s=%v\n", name, value) }
	line("durability", d.Durability)
	line("memory_bytes", d.MemoryBytes)
	line("max_fields", d.MaxFields)
	line("log_bytes", d.LogBytes)
	line("cache_bytes", d.CacheBytes)
	line("aggregation_bytes", d.AggregationBytes)
	line("collapse_bytes", d.CollapseBytes)
	line("stored_cache_bytes", d.StoredCacheBytes)
	line("codec", d.Codec)
	line("merge.segments_per_tier", d.Merge.SegmentsPerTier)
	line("merge.max_segment_bytes", d.Merge.MaxSegmentBytes)
	line("merge.order", d.Merge.Order)
	if d.Merge.Order == OrderByField {
		line("merge.order_field", d.Merge.OrderField)
		line("merge.order_descending", d.Merge.OrderDescending)
	}
	line("merge.workers", d.Merge.Workers)
	line("merge.memory_bytes", d.Merge.MemoryBytes)
	line("merge.disabled", d.Merge.Disabled)
	line("search_workers", d.SearchWorkers)
	line("exec.algorithm", d.Exec.Algorithm)
	line("exec.policy", d.Exec.Policy)
	line("exec.grain", d.Exec.Grain)
	line("exec.delta", d.Exec.Delta)
	if x := d.Expire; x != nil {
		line("expire.field", x.Field)
		line("expire.after", x.After)
		line("expire.every", x.Every)
	}
	if g := d.GPU; g != nil {
		line("gpu.devices", g.Devices)
		line("gpu.required", g.Required)
		line("gpu.memory_bytes", g.MemoryBytes)
		line("gpu.layout", g.Layout)
		line("gpu.policy", g.Policy)
		line("gpu.static_cache", g.StaticCache)
		line("gpu.flat_bytes", g.FlatBytes)
		line("gpu.no_flat", g.NoFlat)
		line("gpu.stream", g.Stream)
		line("gpu.host_bytes", g.HostBytes)
		line("gpu.batch_queries", g.BatchQueries)
		line("gpu.batch_bytes", g.BatchBytes)
		line("gpu.batch_delay", g.BatchDelay)
	}
	line("similarity.k1", d.Similarity.K1)
	line("similarity.b", d.Similarity.B)
	line("similarity.idf", d.Similarity.IDF)
	line("rank.field", d.Rank.Field)
	line("rank.alpha", d.Rank.Alpha)
	line("allow_unknown_fields", d.AllowUnknownFields)
	line("read_only", d.ReadOnly)
	if d.Schema != nil {
		line("schema", d.Schema)
	}
	return b.String()
}

// docOrderOf returns the public name of a segment's order.
func docOrderOf(o segment.Order) DocOrder {
	switch o.Kind {
	case segment.ByGlobalScore:
		return OrderByGlobalScore
	case segment.ByGraph:
		return OrderByGraph
	case segment.ByField:
		return OrderByField
	}
	return OrderByArrival
}

// live returns the options as package live takes them. It expects options with their defaults set.
func (o *Options) live() *live.Options {
	text := *o
	text.Schema = nil
	l := &live.Options{
		Store: o.private.store, Building: o.private.building,
		Schema: o.Schema.internal(), AlterSchema: o.AlterSchema, RankField: o.Rank.Field, Analyzer: o.analyzer, Text: text.String(),
		Sync: o.Durability == SyncBatch, MemoryBytes: o.MemoryBytes, LogBytes: o.LogBytes, StoredCacheBytes: o.StoredCacheBytes, TrigramBytes: o.TrigramBytes, MaxFields: o.MaxFields, MaxDocs: o.private.maxDocs,
		Codec: kinds[o.Codec], TableBytes: o.private.tableBytes, CodedBytes: o.private.codedBytes, LayerBytes: o.private.layerBytes,
		Merge: live.Merge{
			Disabled: o.Merge.Disabled, SegmentsPerTier: o.Merge.SegmentsPerTier, MaxSegmentBytes: o.Merge.MaxSegmentBytes, MaxSegmentDocs: o.private.segmentDocs,
			Order: o.order(), Workers: o.Merge.Workers, MemoryBytes: o.Merge.MemoryBytes,
		},
		Listener: o.Listener.live(), Now: o.private.now, Replayed: o.private.replayed,
	}
	l.Store.ReadOnly = o.ReadOnly
	if l.Store.CacheBytes == 0 {
		l.Store.CacheBytes = min(max(o.CacheBytes/8, 1<<20), 16<<20)
	}
	switch {
	case o.NoMap, o.GPU != nil && (link.Linked || o.private.accelerator != nil):
		l.Store.LentBytes = -1 // gpuexec knows columns by their addresses, which another mapping may get
	case l.Store.LentBytes == 0:
		l.Store.LentBytes = min(max(o.CacheBytes/4, 4<<20), 1<<30)
	}
	l.CacheBytes = o.listBytes(&l.Store)
	if o.Listener != nil {
		l.Store.Log = o.Listener.Log
	}
	if n := o.private.memoryBytes; n > 0 {
		l.MemoryBytes = n
	}
	return l
}

// listBytes is the part of CacheBytes that is not for the store.
func (o *Options) listBytes(of *store.Options) int64 {
	return max(o.CacheBytes-of.CacheBytes-max(of.LentBytes, 0), o.CacheBytes/2)
}

// order returns the order in which merges put documents.
func (o *Options) order() segment.Order {
	switch o.Merge.Order {
	case OrderByGlobalScore:
		return segment.Order{Kind: segment.ByGlobalScore, Alpha: o.Rank.Alpha, BM25: *o.Similarity}
	case OrderByGraph:
		return segment.Order{Kind: segment.ByGraph}
	case OrderByField:
		return segment.Order{Kind: segment.ByField, Field: o.Merge.OrderField, Descending: o.Merge.OrderDescending}
	}
	return segment.Order{}
}
