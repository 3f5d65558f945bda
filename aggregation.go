package riffle

import (
	"encoding/json"
	"time"

	"github.com/riffle-search/riffle/internal/aggregate"
	"github.com/riffle-search/riffle/internal/plan"
)

// An Aggregation counts or measures the documents that match a query, by the values of their columns
// (Field.Column): see SearchOptions.Aggregations. The types of this package are its only
// implementations. TermsAggregation, RangeAggregation, HistogramAggregation, DateHistogramAggregation,
// GeohashAggregation, DistanceAggregation, FiltersAggregation and MissingAggregation make buckets of
// documents, each with aggregations of its own (Sub), to a depth of MaxAggregationDepth.
// StatsAggregation, CardinalityAggregation and PercentilesAggregation measure values, and
// TopHitsAggregation finds the best documents.
//
// All results are exact. A document with several values is in several buckets, once in each.
//
// json.Marshal writes an aggregation in a stable form, and UnmarshalAggregation reads it.
type Aggregation interface {
	json.Marshaler

	// spec checks the aggregation on an index and prepares it.
	spec(b *aggregationBuilder, place string) (*aggregate.Spec, error)

	// resultOf writes the result for callers.
	resultOf(b *aggregationBuilder, r *aggregate.Result) (AggregationResult, error)
}

// MaxAggregationDepth is how deep aggregations may be nested.
const MaxAggregationDepth = 32

// TermsAggregation makes a bucket of each value of a field: a facet.
type TermsAggregation struct {
	Field string

	// Size is the maximum number of buckets to return. The default is 10.
	Size int

	// MinCount is how many documents a bucket must have. The default is 1.
	MinCount int

	// Order of the buckets: "count", "key" (the value), or a number of an aggregation of Sub:
	// "price.mean", "latency.99" (a percentile, which need not be among its Percents) or "users" (a
	// cardinality). A minus sign before it is for descending order. The default is "-count". Ties are
	// in ascending order of values.
	Order string

	Sub map[string]Aggregation
}

// RangeAggregation makes a bucket of each of some ranges of numbers, dates or keywords. They may
// overlap.
type RangeAggregation struct {
	Field    string
	Ranges   []AggregationRange
	TimeZone string // as Range.TimeZone
	Sub      map[string]Aggregation
}

// An AggregationRange is from From to below To, as a Range is.
type AggregationRange struct {
	Name        string // becomes the key of the bucket; by default "FROM..TO"
	From        any    // a number, time.Time or string, such as "now-1d/d"; nil for no bound. See Range
	To          any
	ExcludeFrom bool
	IncludeTo   bool
}

// HistogramAggregation makes buckets of numbers that are all equally wide. Bucket i has the numbers
// from Offset + i*Interval, as a float64, to below the next one's.
type HistogramAggregation struct {
	Field    string
	Interval float64 // above 0
	Offset   float64

	// MinCount is how many documents a bucket must have. By default, 0, buckets without documents are
	// returned, too, between the first and the last that have some.
	MinCount int

	// Bounds are numbers to whose buckets the empty ones reach at least; nil for none. It goes with
	// MinCount 0.
	Bounds *[2]float64

	Sub map[string]Aggregation
}

// DateHistogramAggregation makes buckets of times: hours, months, or any interval. A day begins with
// the first instant of its date in the zone, so days of 23 and 25 hours are as such, and the hour that
// comes twice in autumn is two.
type DateHistogramAggregation struct {
	Field string

	// Either a unit of the calendar, or an interval, which is counted from 1970-01-01 UTC.
	Unit  CalendarUnit
	Every time.Duration

	// Zone is the name of the time zone whose calendar counts, such as "Europe/Berlin". The default is
	// UTC. See time.LoadLocation.
	Zone string

	// Offset moves the beginning of all buckets: by 6 hours, days begin at 6:00.
	Offset time.Duration

	MinCount int           // as in HistogramAggregation
	Bounds   *[2]time.Time // likewise

	Sub map[string]Aggregation
}

// FiltersAggregation makes a bucket of the documents that match each of some queries, in the order of
// their names.
type FiltersAggregation struct {
	Filters map[string]Query
	Sub     map[string]Aggregation
}

// MissingAggregation makes a bucket of the documents that have no value of a field.
type MissingAggregation struct {
	Field string
	Sub   map[string]Aggregation
}

// StatsAggregation measures the numbers of a field; if it has none, its times, else its booleans as
// 0 and 1. All values of a document count. See AggregationResult.Stats.
type StatsAggregation struct{ Field string }

// CardinalityAggregation counts the different values of a field: AggregationResult.Distinct.
type CardinalityAggregation struct{ Field string }

// PercentilesAggregation finds the values at percents of the numbers of a field; if it has none, of its
// times, else of its booleans. The value at p percent is the least one such that p percent of all are
// not above it: one that a document has.
type PercentilesAggregation struct {
	Field    string
	Percents []float64 // 0 to 100. The default is 1, 5, 25, 50, 75, 95, 99.
}

// TopHitsAggregation finds the best documents, by score or in an order of its own.
type TopHitsAggregation struct {
	Size int       // how many, at most MaxK. The default is 3.
	Load []string  // as SearchOptions.Load
	Sort []SortKey // as SearchOptions.Sort, whatever that of the search is
}

// An AggregationResult is the result of one aggregation. Members that it does not have are zero.
type AggregationResult struct {
	Buckets []AggregationBucket `json:"buckets,omitempty"`

	// Other is the sum of the counts of the buckets that a TermsAggregation or a GeohashAggregation found
	// and did not return.
	Other int `json:"other,omitempty"`

	// Missing is the number of documents without a value: of a TermsAggregation, RangeAggregation,
	// CardinalityAggregation or histogram. For histograms, values of other types are none.
	Missing int `json:"missing,omitempty"`

	// Distinct is the number of different values: of a TermsAggregation, with those not returned, or
	// a CardinalityAggregation.
	Distinct int `json:"distinct,omitempty"`

	Stats       *AggregationStats `json:"stats,omitempty"`
	Percentiles []Percentile      `json:"percentiles,omitempty"`
	Hits        []Hit             `json:"hits,omitempty"` // of a TopHitsAggregation; without Cursor
}

// An AggregationBucket is a set of documents.
type AggregationBucket struct {
	// Key is the value of a TermsAggregation (string, int64, uint64, float64, bool, Point or
	// time.Time), the geohash of a GeohashAggregation, the beginning of a histogram's bucket (float64, or
	// time.Time in the zone), and the name of a range or filter. That of a MissingAggregation is nil.
	Key any `json:"key"`

	Count int                          `json:"count"` // documents
	Sub   map[string]AggregationResult `json:"sub,omitempty"`
}

// AggregationStats are numbers of values. Sum, Mean and Variance are those of exact arithmetic, rounded
// once. Of times they are in seconds since 1970.
//
//	type AggregationStats struct {
//		Count    int     // values
//		Min, Max any     // int64, uint64, float64, bool or time.Time; nil without values
//		Sum      float64
//		Mean     float64
//		Variance float64 // of the population
//	}
type AggregationStats = aggregate.StatsResult

// A Percentile is the value at a percent of all; nil without values.
type Percentile struct {
	Percent float64 `json:"percent"`
	Value   any     `json:"value"`
}

// A CalendarUnit is a unit of time of a DateHistogramAggregation.
type CalendarUnit uint8

const (
	CalendarSecond CalendarUnit = 1 + iota
	CalendarMinute
	CalendarHour
	CalendarDay
	CalendarWeek // from Monday on
	CalendarMonth
	CalendarQuarter
	CalendarYear
)

var calendarNames = [...]string{CalendarSecond: "second", CalendarMinute: "minute", CalendarHour: "hour", CalendarDay: "day", CalendarWeek: "week", CalendarMonth: "month", CalendarQuarter: "quarter", CalendarYear: "year"}

func (u CalendarUnit) String() string {
	if int(u) < len(calendarNames) {
		return calendarNames[u]
	}
	return "unknown"
}

// ParseCalendarUnit reads "second", "minute", "hour", "day", "week", "month", "quarter" or "year".
func ParseCalendarUnit(name string) (CalendarUnit, error) {
	for u, n := range calendarNames {
		if n == name && name != "" {
			return CalendarUnit(u), nil
		}
	}
	return 0, plan.Errorf("CalendarUnit", "unknown unit %q (want second, minute, hour, day, week, month, quarter or year)", name)
}
