package aggregate

import (
	"fmt"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/cpuexec"
)

// A Spec is an aggregation, which must be valid.
type Spec struct {
	Place string // names it in errors, such as `Aggregations["by_host"]`
	Name  string // among those of its parent
	Field string // of the column; unused by Filters and TopHits
	Of    Kind
	Sub   []*Spec // of the buckets
}

// A Kind is what an aggregation computes: Terms, Ranges, Histogram, Calendar, Geohashes, Filters,
// Missing, Rings, Stats, Cardinality, Percentiles or TopHits.
type Kind interface{ kind() }

// Terms are buckets by value.
type Terms struct {
	Size     int // most buckets that are returned
	MinCount int // of documents in a bucket that is returned, at least 1
	Order    Order
}

// An Order is that of the buckets of Terms. Equal ones are in ascending order of their keys.
type Order struct {
	By   OrderBy
	Desc bool

	// With ByMetric: the aggregation of the buckets, and which number of it. Buckets without
	// the number come last.
	Sub    int
	Metric Metric
}

// An OrderBy says what orders buckets.
type OrderBy uint8

const (
	ByCount OrderBy = iota
	ByKey
	ByMetric
)

// A Metric chooses a number of the result of Stats, Cardinality or Percentiles.
type Metric struct {
	Name    string  // "count", "min", "max", "sum", "mean" or "variance" of Stats
	Percent float64 // of Percentiles
}

// Ranges are buckets of the documents with any value in an interval. They may overlap.
type Ranges []Range

// A Range is an interval of values.
type Range struct{ From, To columns.Bound }

// Histogram is buckets of numbers: bucket i has the numbers from float64(Offset + i*Interval) on, up to
// the next one's.
type Histogram struct {
	Interval, Offset float64
	Fill
}

// Fill says which buckets of a histogram are returned.
type Fill struct {
	MinCount int  // 0 also returns buckets without documents, between the first and the last
	Bounded  bool // with MinCount 0: from From to To at least, indexes of buckets
	From, To int64
}

// Filters are buckets of the documents in sets: numbers in Segment.Sets.
type Filters []int

// Missing is one bucket, of the documents without a value.
type Missing struct{}

// Stats are numbers of all values.
type Stats struct{}

// Cardinality is the number of different values.
type Cardinality struct{}

// Percentiles are values at percents of all numbers or times, ascending.
type Percentiles []float64

// TopHits are the first documents of an order, or without one the best by score.
type TopHits struct {
	Size  int
	Order *cpuexec.Order // of the segments of the run
}

func (Terms) kind()       {}
func (Ranges) kind()      {}
func (Histogram) kind()   {}
func (Calendar) kind()    {}
func (Filters) kind()     {}
func (Missing) kind()     {}
func (Stats) kind()       {}
func (Cardinality) kind() {}
func (Percentiles) kind() {}
func (TopHits) kind()     {}

// A Segment has the documents of a part of an index.
type Segment struct {
	Docs uint32
	Base uint32 // global number of the first document

	// Sets of documents, as bitmaps; nil for all documents.
	Sets [][]uint64

	// Column returns the column of a field, or nil if it has none.
	Column func(field string) (*columns.Column, error)
}

// A Root is an aggregation of the documents that match and are in a set.
type Root struct {
	*Spec
	Set int // number in Segment.Sets
}

// A Result is that of an aggregation. Fields that it has no use for are zero.
type Result struct {
	Buckets     []Bucket
	Other       int // Terms: the sum of the counts of the buckets that are not returned
	Missing     int // documents without a value of the field, or without one that counts
	Distinct    int // Cardinality, Terms: different values
	Stats       *StatsResult
	Percentiles []any
	Hits        []Hit
	Named       []NamedHit // of a Partial, in place of Hits
}

// A Bucket is a set of documents.
type Bucket struct {
	Key   any // Terms: the value; Histogram: float64; Calendar: time.Time; Geohashes: string; others: the number of the bucket
	Count int // documents
	Sub   []*Result
}

// A Hit is a document.
type Hit struct {
	Doc, Score uint32
	Keys       []cpuexec.KeyValue // for the keys of an order
}

// A LimitError says that aggregations need too much memory.
type LimitError struct {
	Place string // the aggregation that takes most of it
	Limit int64  // bytes
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("takes more than %d bytes of memory with the other aggregations of the search", e.Limit)
}
