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

// A DocSet is documents for aggregations: those that match the search, or all, as far as they pass
// the filters.
type DocSet struct {
	Matches bool
	Filters []plan.Clause
}

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
	segments := make([]aggregate.Segment, x.view.Segments())
	matches, scores, err := x.matchSets(ctx, a.Scores)
	if err != nil {
		return nil, err
	}
	for i := range segments {
		s := x.view.Segment(i)
		seg := &segments[i]
		seg.Docs, seg.Base = s.Reader().Docs(), s.Base()
		seg.Column = func(field string) (*columns.Column, error) { return x.view.Column(i, field) }
		if a.Scores {
			seg.Scores = func(tile int) *[columns.TileDocs]uint32 { return scores[i][tile] }
		}
		for _, of := range a.Sets {
			set := s.Accept()
			if of.Matches {
				set = matches[i]
			}
			for j := range of.Filters {
				f, err := plan.FilterSet(ctx, x.view, of.Filters[j], &x.settings.Settings, i)
				if err != nil {
					return nil, err
				}
				set = both(set, f, seg.Docs)
			}
			seg.Sets = append(seg.Sets, set)
		}
	}
	workers := x.searcher.cores
	if x.settings.CPU.Policy == cpuexec.Inter {
		workers = 1
	}
	return aggregate.Run(ctx, segments, a.Roots, aggregate.Options{Workers: workers, Bytes: a.Bytes}, func(place string, err error) error {
		var limit *aggregate.LimitError
		if errors.As(err, &limit) {
			return plan.Errorf(place, "%w (Options.AggregationBytes)", err)
		}
		if ctx.Err() != nil {
			return err
		}
		return plan.Errorf(place, "%w", err)
	})
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

// matchSets returns the accepted documents that match the search, by segment, as bitmaps, and their
// scores by tile.
func (x *Run) matchSets(ctx context.Context, scored bool) (sets [][]uint64, scores [][]*[columns.TileDocs]uint32, err error) {
	sets = make([][]uint64, x.view.Segments())
	scores = make([][]*[columns.TileDocs]uint32, len(sets))
	for i := range sets {
		docs := int(x.view.Segment(i).Reader().Docs())
		sets[i] = make([]uint64, (docs+63)/64)
		if scored {
			scores[i] = make([]*[columns.TileDocs]uint32, (docs+columns.TileDocs-1)/columns.TileDocs)
		}
	}
	// Goroutines visit different tiles, which share no word.
	err = x.settings.CPU.EachMatch(ctx, &x.compiled.Plan, scored, func() (func(*cpuexec.Match) error, func()) {
		return func(m *cpuexec.Match) error {
			set := sets[m.Segment]
			copy(set[min(len(set), m.Tile*len(m.Set)):], m.Set[:])
			if scored {
				kept := *m.Scores
				scores[m.Segment][m.Tile] = &kept
			}
			return nil
		}, nil
	})
	return sets, scores, at(x.view, err)
}
