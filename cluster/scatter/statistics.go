package scatter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/riffle-search/riffle"
)

// prepare finds the statistics of all shards, unless the cursor has them, and decides ModeAndOr.
func (s *search) prepare(ctx context.Context) error {
	and, or, either, err := decided(s.asked)
	if err != nil {
		return err
	}
	begun := s.after.begun()
	switch {
	case s.given.Statistics != nil:
		s.after.Statistics = s.given.Statistics
	case !begun:
		if s.after.Statistics, s.expected = s.x.cache.guess(ctx, s); s.expected == nil {
			if s.after.Statistics, err = s.statistics(ctx); err != nil {
				return err
			}
		}
	}
	if s.query = s.asked; !either {
		return nil
	}
	if !begun {
		n, err := s.count(ctx, selected(and, &s.given.SearchOptions))
		if err != nil {
			return err
		}
		s.after.Or = n < s.enough()
	}
	if err := s.decideApart(ctx, and, or); err != nil {
		return err
	}
	if s.query = and; s.after.Or {
		s.query = or
	}
	return nil
}

// enough is how many documents must have all words of a Match with ModeAndOr.
func (s *search) enough() int {
	if s.given.NoHits {
		return riffle.DefaultK
	}
	return s.k
}

// statistics asks the shards for the statistics of the query until these are complete.
func (s *search) statistics(ctx context.Context) (sum *riffle.Statistics, err error) {
	o := s.meaning()
	for range mostRounds {
		parts := make([]*riffle.Statistics, len(s.sessions))
		o.Statistics = sum
		err := s.each(ctx, func(ctx context.Context, i int) (err error) {
			parts[i], err = s.sessions[i].Statistics(ctx, s.asked, &o)
			return err
		})
		if err != nil {
			return nil, err
		}
		for i, err := range s.missing {
			if err != nil {
				parts[i] = nil
			}
		}
		s.x.cache.learn(s, parts)
		var again bool
		if sum, again = riffle.SumStatistics(sum, slices.DeleteFunc(parts, func(p *riffle.Statistics) bool { return p == nil })...); !again {
			return sum, nil
		}
	}
	return nil, errors.New("scatter: the shards do not agree about what the query means")
}

// meaning returns the options on which the statistics of the query depend.
func (s *search) meaning() riffle.SearchOptions {
	o := &s.given.SearchOptions
	return riffle.SearchOptions{
		Now: o.Now, Sort: o.Sort, Collapse: o.Collapse, Partial: o.Partial,
		Aggregations: o.Aggregations, PartialAggregations: len(o.Aggregations) > 0, Selections: o.Selections,
	}
}

// mostRounds bounds how often shards are asked for statistics: each round adds what the shards lack of each
// other, about a part of the query.
const mostRounds = 32

// count counts the documents that match a query, once prepare has found the statistics.
func (s *search) count(ctx context.Context, q riffle.Query) (n int, err error) {
	counts := make([]int, len(s.sessions))
	err = s.each(ctx, func(ctx context.Context, i int) error {
		o := riffle.SearchOptions{NoHits: true, Statistics: s.after.Statistics, Now: s.given.Now, Partial: s.given.SearchOptions.Partial}
		r, err := s.searchOne(ctx, i, false, q, &o)
		if err == nil {
			counts[i] = r.Total
		}
		return err
	})
	for _, m := range counts {
		n += m
	}
	return n, err
}

// countAll counts the documents that match the query of the search.
func (s *search) countAll(ctx context.Context) (n int, err error) {
	err = s.certain(ctx, func() error {
		if err := s.prepare(ctx); err != nil {
			return err
		}
		n, err = s.count(ctx, s.query)
		return err
	})
	return n, err
}

// searchOne searches a shard, whose snapshot must be the one that cached statistics are of. last says that
// the search needs the snapshot no more.
func (s *search) searchOne(ctx context.Context, i int, last bool, q riffle.Query, o *riffle.SearchOptions) (*riffle.Result, error) {
	session, ok := s.sessions[i].(Revised)
	if !ok {
		return s.sessions[i].Search(ctx, q, o)
	}
	revision := ""
	if s.expected != nil {
		revision = s.expected[i]
	}
	return session.SearchIf(ctx, revision, last, q, o)
}

// certain calls run, and calls it again without cached statistics if these are not of the shards' snapshots.
func (s *search) certain(ctx context.Context, run func() error) error {
	err := run()
	if s.expected == nil {
		return err
	}
	var qe *riffle.QueryError
	switch {
	case errors.Is(err, ErrRevision):
		s.x.cache.rest()
	case errors.As(err, &qe): // it may be of the statistics
	case err == nil && slices.ContainsFunc(s.missing, func(err error) bool { return err != nil }): // whose statistics were among them
	default:
		return err
	}
	s.expected, s.after.Statistics, s.after.Or, s.apart, s.uncached = nil, nil, false, apart{}, true
	return run()
}

// comparable returns an error if shards have scored differently.
func (s *search) comparable(results []*riffle.Result) error {
	of := map[uint64][]string{}
	for i, r := range results {
		if s.missing[i] == nil {
			of[r.Fingerprint] = append(of[r.Fingerprint], strconv.Itoa(i))
		}
	}
	if len(of) < 2 {
		return nil
	}
	var sides []string
	for _, shards := range of {
		sides = append(sides, strings.Join(shards, ", "))
	}
	slices.Sort(sides)
	return fmt.Errorf("scatter: %w: shards %s; their nodes may run different versions of riffle, as while they are upgraded one by one, or have different options, such as analyzers, Similarity or Rank",
		ErrMismatch, strings.Join(sides, " as against "))
}
