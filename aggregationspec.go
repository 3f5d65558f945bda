package riffle

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/aggregate"
	"github.com/riffle-search/riffle/internal/datemath"
	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/internal/search"
)

// An aggregationBuilder turns the aggregations of a search into those of package aggregate, and the
// results back. One without a run is of no index: what it makes is to merge and finish partial results,
// which needs neither columns nor sets of documents.
type aggregationBuilder struct {
	scope  scope
	rw     *plan.Rewriter
	run    *search.Run // or nil
	ctx    context.Context
	sets   []search.DocSet
	scores bool // some aggregation needs those of documents
	depth  int
}

// sub prepares the aggregations of buckets, in the order of their names.
func (b *aggregationBuilder) sub(place string, subs map[string]Aggregation) (specs []*aggregate.Spec, err error) {
	if b.depth++; b.depth > MaxAggregationDepth {
		return nil, plan.Errorf(place, "more than %d levels of aggregations", MaxAggregationDepth)
	}
	defer func() { b.depth-- }()
	for _, name := range slices.Sorted(maps.Keys(subs)) {
		s, err := b.spec(fmt.Sprintf("%s.Sub[%q]", place, name), subs[name])
		if err != nil {
			return nil, err
		}
		s.Name = name
		specs = append(specs, s)
	}
	return specs, nil
}

func (b *aggregationBuilder) spec(place string, a Aggregation) (*aggregate.Spec, error) {
	if a == nil {
		return nil, plan.Errorf(place, "is nil")
	}
	return a.spec(b, place)
}

// of prepares what all aggregations of a field have.
func (b *aggregationBuilder) of(place, field string, k aggregate.Kind, subs map[string]Aggregation) (*aggregate.Spec, error) {
	if err := b.checkColumn(place+".Field", field); err != nil {
		return nil, err
	}
	sub, err := b.sub(place, subs)
	return &aggregate.Spec{Place: place, Field: field, Of: k, Sub: sub}, err
}

func (b *aggregationBuilder) checkColumn(place, field string) error {
	if b.run == nil {
		return nil
	}
	return b.rw.CheckColumn(place, field)
}

func (b *aggregationBuilder) checkPlaces(place, field string) error {
	if b.run == nil {
		return nil
	}
	return b.rw.CheckPlaces(place, field)
}

// addSet adds a set of documents, and returns its number.
func (b *aggregationBuilder) addSet(s search.DocSet) int {
	b.sets = append(b.sets, s)
	return len(b.sets) - 1
}

// Defaults of aggregations.
const (
	defaultTerms   = 10
	defaultTopHits = 3

	// maxAggregationSize bounds the buckets of a TermsAggregation, and the hits of a
	// TopHitsAggregation, so that sizes do not overflow; memory bounds them sooner.
	maxAggregationSize = 1 << 30
)

func (a TermsAggregation) spec(b *aggregationBuilder, place string) (*aggregate.Spec, error) {
	k := aggregate.Terms{Size: a.Size, MinCount: max(1, a.MinCount)}
	switch {
	case a.Size < 0 || a.Size > maxAggregationSize:
		return nil, plan.Errorf(place+".Size", "must lie in 0 to %d, not %d", maxAggregationSize, a.Size)
	case a.Size == 0:
		k.Size = defaultTerms
	}
	if a.MinCount < 0 {
		return nil, plan.Errorf(place+".MinCount", "must not be negative, as %d is", a.MinCount)
	}
	var err error
	if k.Order, err = a.order(); err != nil {
		return nil, plan.Errorf(place+".Order", "%w", err)
	}
	return b.of(place, a.Field, k, a.Sub)
}

// order reads Order.
func (a TermsAggregation) order() (o aggregate.Order, err error) {
	text, desc := strings.CutPrefix(a.Order, "-")
	o.Desc = desc
	switch text {
	case "":
		if desc {
			break
		}
		return aggregate.Order{By: aggregate.ByCount, Desc: true}, nil
	case "count":
		return o, nil
	case "key":
		o.By = aggregate.ByKey
		return o, nil
	}
	o.By = aggregate.ByMetric
	names := slices.Sorted(maps.Keys(a.Sub))
	for i, name := range names {
		metric, ok := strings.CutPrefix(text, name+".")
		if _, single := a.Sub[name].(CardinalityAggregation); single && text == name {
			metric, ok = "", true
		}
		if !ok {
			continue
		}
		o.Sub = i
		switch sub := a.Sub[name].(type) {
		case StatsAggregation:
			if slices.Contains([]string{"count", "min", "max", "sum", "mean", "variance"}, metric) {
				o.Metric.Name = metric
				return o, nil
			}
			return o, fmt.Errorf("%q: stats have count, min, max, sum, mean and variance", a.Order)
		case CardinalityAggregation:
			if metric == "" {
				return o, nil
			}
		case PercentilesAggregation:
			p, err := strconv.ParseFloat(metric, 64)
			if err != nil || !(p >= 0 && p <= 100) {
				return o, fmt.Errorf("%q: %q is no percent from 0 to 100", a.Order, metric)
			}
			o.Metric.Percent = p
			return o, nil
		default:
			return o, fmt.Errorf("%q: a %T has no number to order by", a.Order, sub)
		}
	}
	return o, fmt.Errorf("%q is neither count nor key, nor a number of one of %q", a.Order, names)
}

func (a RangeAggregation) spec(b *aggregationBuilder, place string) (*aggregate.Spec, error) {
	if err := b.checkColumn(place+".Field", a.Field); err != nil {
		return nil, err
	}
	if len(a.Ranges) == 0 {
		return nil, plan.Errorf(place+".Ranges", "are none")
	}
	if _, err := datemath.Zone(a.TimeZone); err != nil {
		return nil, plan.Errorf(place+".TimeZone", "%w", err)
	}
	k := make(aggregate.Ranges, len(a.Ranges))
	if b.run == nil {
		return b.of(place, a.Field, k, a.Sub)
	}
	for i, r := range a.Ranges {
		bound := func(name string, x any, exclusive, up bool) (columns.Bound, error) {
			part := fmt.Sprintf("%s.Ranges[%d].%s", place, i, name)
			if x, err := plan.OpenBound(part, x, name == "From"); err != nil || x == nil {
				return columns.Bound{Open: true}, err
			}
			v, err := b.rw.RangeBound(part, a.Field, x, a.TimeZone, up)
			return columns.Bound{Value: v, Exclusive: exclusive}, err
		}
		var err error
		if k[i].From, err = bound("From", r.From, r.ExcludeFrom, r.ExcludeFrom); err != nil {
			return nil, err
		}
		if k[i].To, err = bound("To", r.To, !r.IncludeTo, r.IncludeTo); err != nil {
			return nil, err
		}
	}
	return b.of(place, a.Field, k, a.Sub)
}

func (a HistogramAggregation) spec(b *aggregationBuilder, place string) (*aggregate.Spec, error) {
	if !(a.Interval > 0) || math.IsInf(a.Interval, 0) {
		return nil, plan.Errorf(place+".Interval", "must be above 0 and finite, not %v", a.Interval)
	}
	if math.IsNaN(a.Offset) || math.IsInf(a.Offset, 0) {
		return nil, plan.Errorf(place+".Offset", "must be finite, not %v", a.Offset)
	}
	k := aggregate.Histogram{Interval: a.Interval, Offset: a.Offset}
	if err := fill(&k.Fill, k, place, a.MinCount, a.Bounds != nil, func(i int) columns.Value { return columns.OfFloat(a.Bounds[i]) }); err != nil {
		return nil, err
	}
	return b.of(place, a.Field, k, a.Sub)
}

// fill reads which buckets of a histogram are returned.
func fill(f *aggregate.Fill, sc interface {
	StepOf(columns.Value) (int64, error)
}, place string, minCount int, bounded bool, bound func(i int) columns.Value) error {
	f.MinCount, f.Bounded = minCount, bounded
	switch {
	case minCount < 0:
		return plan.Errorf(place+".MinCount", "must not be negative, as %d is", minCount)
	case !bounded:
		return nil
	case minCount > 0:
		return plan.Errorf(place+".Bounds", "go with MinCount 0")
	case columns.Compare(bound(0), bound(1)) > 0:
		return plan.Errorf(place+".Bounds", "must ascend, not %v to %v", bound(0).Any(), bound(1).Any())
	}
	var err error
	if f.From, err = sc.StepOf(bound(0)); err == nil {
		f.To, err = sc.StepOf(bound(1))
	}
	if err != nil {
		return plan.Errorf(place+".Bounds", "%w", err)
	}
	return nil
}

func (a DateHistogramAggregation) spec(b *aggregationBuilder, place string) (*aggregate.Spec, error) {
	k := aggregate.Calendar{Unit: aggregate.Unit(a.Unit), Every: a.Every, Offset: a.Offset, Zone: time.UTC}
	switch {
	case a.Unit > CalendarYear:
		return nil, plan.Errorf(place+".Unit", "there is no %d", a.Unit)
	case a.Every < 0:
		return nil, plan.Errorf(place+".Every", "must be above 0, not %v", a.Every)
	case (a.Unit == 0) == (a.Every == 0):
		return nil, plan.Errorf(place, "has either a Unit or Every")
	}
	if a.Zone != "" {
		var err error
		if k.Zone, err = time.LoadLocation(a.Zone); err != nil {
			return nil, plan.Errorf(place+".Zone", "%w", err)
		}
	}
	if err := fill(&k.Fill, k, place, a.MinCount, a.Bounds != nil, func(i int) columns.Value { return columns.OfTime(a.Bounds[i]) }); err != nil {
		return nil, err
	}
	return b.of(place, a.Field, k, a.Sub)
}

func (a FiltersAggregation) spec(b *aggregationBuilder, place string) (*aggregate.Spec, error) {
	if len(a.Filters) == 0 {
		return nil, plan.Errorf(place+".Filters", "are none")
	}
	var k aggregate.Filters
	for _, name := range slices.Sorted(maps.Keys(a.Filters)) {
		c, err := b.clause(fmt.Sprintf("%s.Filters[%q]", place, name), a.Filters[name])
		if err != nil {
			return nil, err
		}
		k = append(k, b.addSet(search.DocSet{Filters: []plan.Clause{c}}))
	}
	sub, err := b.sub(place, a.Sub)
	return &aggregate.Spec{Place: place, Of: k, Sub: sub}, err
}

// clause turns a query into a filter.
func (b *aggregationBuilder) clause(place string, q Query) (c plan.Clause, err error) {
	if q == nil {
		return c, plan.Errorf(place, "is nil")
	}
	if q.dependsOnK() {
		return c, plan.Errorf(place, "a filter has no K for ModeAndOr to depend on")
	}
	if b.run == nil {
		return c, nil
	}
	if err = q.Validate(); err == nil {
		c, err = rewriteUnscored(q, b.rw, 1)
	}
	if err != nil {
		return c, plan.Errorf(place, "%w", err)
	}
	return c, nil
}

func (a MissingAggregation) spec(b *aggregationBuilder, place string) (*aggregate.Spec, error) {
	return b.of(place, a.Field, aggregate.Missing{}, a.Sub)
}

func (a StatsAggregation) spec(b *aggregationBuilder, place string) (*aggregate.Spec, error) {
	return b.of(place, a.Field, aggregate.Stats{}, nil)
}

func (a CardinalityAggregation) spec(b *aggregationBuilder, place string) (*aggregate.Spec, error) {
	return b.of(place, a.Field, aggregate.Cardinality{}, nil)
}

var defaultPercents = []float64{1, 5, 25, 50, 75, 95, 99}

func (a PercentilesAggregation) percents() []float64 {
	if len(a.Percents) == 0 {
		return defaultPercents
	}
	return a.Percents
}

func (a PercentilesAggregation) spec(b *aggregationBuilder, place string) (*aggregate.Spec, error) {
	sorted := slices.Sorted(slices.Values(a.percents()))
	for _, p := range sorted {
		if !(p >= 0 && p <= 100) {
			return nil, plan.Errorf(place+".Percents", "must lie in 0 to 100, not %v", p)
		}
	}
	return b.of(place, a.Field, aggregate.Percentiles(slices.Compact(sorted)), nil)
}

func (a TopHitsAggregation) size() int {
	if a.Size == 0 {
		return defaultTopHits
	}
	return a.Size
}

func (a TopHitsAggregation) spec(b *aggregationBuilder, place string) (*aggregate.Spec, error) {
	if a.Size < 0 || a.Size > MaxK {
		return nil, plan.Errorf(place+".Size", "must lie in 0 to %d, not %d", MaxK, a.Size)
	}
	k := aggregate.TopHits{Size: a.size()}
	if !a.byScore() {
		keys, err := sortKeys(place+".Sort", a.Sort)
		if err != nil {
			return nil, err
		}
		if k.Order, err = b.order(place+".Sort", keys); err != nil {
			return nil, err
		}
	}
	b.scores = b.scores || k.Order == nil || k.Order.Scored()
	return &aggregate.Spec{Place: place, Of: k}, nil
}

// order returns the order of the hits of an aggregation. That of no index compares keys, and finds none.
func (b *aggregationBuilder) order(place string, keys []search.SortKey) (*cpuexec.Order, error) {
	if b.run != nil {
		return b.run.Order(place, keys)
	}
	o := &cpuexec.Order{}
	for _, k := range keys {
		o.Keys = append(o.Keys, cpuexec.SortKey{By: k.By, Mode: k.Mode, Desc: k.Desc, MissingFirst: k.MissingFirst})
	}
	return o, nil
}

// byScore reports whether the hits are in the order of scores, the best first.
func (a TopHitsAggregation) byScore() bool { return len(a.Sort) == 0 || byScoreAlone(a.Sort) }
