package search

import (
	"context"
	"errors"
	"time"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/aggregate"
	"github.com/riffle-search/riffle/internal/plan"
)

// A DocSet is the documents that pass all filters. Without filters, it is all documents.
type DocSet struct{ Filters []plan.Clause }

// An Aggregating is aggregations of the documents of sets.
type Aggregating struct {
	Sets   []DocSet
	Roots  []aggregate.Root // their sets, and those of aggregate.Filters, are indexes of Sets
	Scores bool             // the hits of some aggregation have scores
	Bytes  int64            // memory, at most
}

// Now is what "now" means in the search.
func (x *Run) Now() time.Time { return x.settings.Now }

// Aggregate computes aggregations of all documents that match the planned search. A *plan.Error names
// the aggregation at fault.
func (x *Run) Aggregate(ctx context.Context, a *Aggregating) ([]*aggregate.Result, error) {
	run, err := x.aggregated(ctx, a)
	if err != nil {
		return nil, err
	}
	return run.Results()
}

// AggregatePartly is Aggregate for one of several indexes. named names hits of a TopHits outside of it.
func (x *Run) AggregatePartly(ctx context.Context, a *Aggregating, named func(*aggregate.Spec, []aggregate.Hit) ([]aggregate.NamedHit, error)) (*aggregate.Partial, error) {
	run, err := x.aggregated(ctx, a)
	if err != nil {
		return nil, err
	}
	return run.Partial(named)
}

// aggregated returns a run that has all documents that match.
func (x *Run) aggregated(ctx context.Context, a *Aggregating) (*aggregate.Run, error) {
	segments := make([]aggregate.Segment, x.view.Segments())
	for i := range segments {
		seg := &segments[i]
		seg.Docs, seg.Base = x.view.Segment(i).Reader().Docs(), x.view.Segment(i).Base()
		seg.Column = func(field string) (*columns.Column, error) { return x.view.Column(i, field) }
		for _, of := range a.Sets {
			set, err := x.setOf(ctx, of, i, seg.Docs)
			if err != nil {
				return nil, err
			}
			seg.Sets = append(seg.Sets, set)
		}
	}
	cpu := x.settings.CPU
	workers := x.searcher.cores
	if cpu.Policy == cpuexec.Inter {
		workers = 1
	}
	if cpu.Grain == 0 {
		cpu.Grain = cpuexec.DefaultGrain / matchGrains
	}
	run, err := aggregate.Begin(segments, a.Roots, aggregate.Options{Workers: workers, Bytes: a.Bytes}, func(place string, err error) error {
		var limit *aggregate.LimitError
		if errors.As(err, &limit) {
			return plan.Errorf(place, "%w (Options.AggregationBytes)", err)
		}
		if ctx.Err() != nil {
			return err
		}
		return plan.Errorf(place, "%w", err)
	})
	if err != nil {
		return nil, err
	}
	err = cpu.EachMatch(ctx, &x.compiled.Plan, a.Scores, func() (func(*cpuexec.Match) error, func()) {
		c := run.Collector()
		return func(m *cpuexec.Match) error {
			return c.Add(&aggregate.Matches{Segment: m.Segment, Tile: m.Tile, Count: m.Count, Set: m.Set, List: m.List, Scores: m.Scores})
		}, c.End
	})
	if err != nil {
		return nil, at(x.view, err)
	}
	return run, nil
}

// matchGrains is how much more work a match is for an aggregation than for a search: the divisor of the
// grain of a search that goroutines share.
const matchGrains = 16

// setOf returns a set of documents of a segment, as a bitmap; nil for all documents.
func (x *Run) setOf(ctx context.Context, of DocSet, segment int, docs uint32) (set []uint64, err error) {
	for i := range of.Filters {
		f, err := plan.FilterSet(ctx, x.view, of.Filters[i], &x.settings.Settings, segment)
		if err != nil {
			return nil, err
		}
		set = both(set, f, docs)
	}
	return set, nil
}

// both returns the documents of two sets. A nil set is all documents; a nil filter is none.
func both(set, filter []uint64, docs uint32) []uint64 {
	and := make([]uint64, (int(docs)+63)/64)
	copy(and, filter)
	for i, w := range set {
		and[i] &= w
	}
	return and
}
