package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/scatter"
)

// A session is a scatter.Session on one replica, which its first request chooses.
type session struct {
	shard   *Shard
	atLeast uint64

	mu    sync.Mutex
	node  *node
	lease string
}

// ask sends a request to the session's replica.
func (s *session) ask(ctx context.Context, r *request, q riffle.Query) (*reply, error) {
	var err error
	if r.Query, err = json.Marshal(q); err != nil {
		return nil, fmt.Errorf("remote: the query: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.node == nil {
		r.AtLeast = s.atLeast
		to, n, err := s.shard.first(ctx, r)
		if to != nil && to.Lease != "" {
			s.node, s.lease = n, to.Lease
		}
		return to, err
	}
	r.Lease = s.lease
	to, err := s.shard.call(ctx, s.node, r)
	_, unanswered := errors.AsType[*callError](err)
	if (unanswered || errors.Is(err, riffle.ErrClosed)) && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", scatter.ErrGone, err)
	}
	return to, err
}

// Close gives the snapshot back.
func (s *session) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.node != nil {
		go s.shard.giveBack(s.node, s.lease)
		s.node = nil
	}
}

// Statistics implements riffle.Searcher.
func (s *session) Statistics(ctx context.Context, q riffle.Query) (*riffle.Statistics, error) {
	to, err := s.ask(ctx, &request{Verb: verbStatistics}, q)
	if err != nil {
		return nil, err
	}
	return to.Statistics, nil
}

// Search implements riffle.Searcher.
func (s *session) Search(ctx context.Context, q riffle.Query, o *riffle.SearchOptions) (*riffle.Result, error) {
	options, err := optionsOf(o)
	if err != nil {
		return nil, err
	}
	r := &request{Verb: verbSearch, Options: options}
	if o != nil && len(o.Aggregations)+len(o.Selections) > 0 {
		r.Verb = verbAggregate
	}
	to, err := s.ask(ctx, r, q)
	if err != nil {
		return nil, err
	}
	if to.Result == nil {
		return nil, errors.New("remote: a reply without a result")
	}
	found, err := to.Result.result()
	if err == nil && o != nil && len(o.Aggregations) > 0 {
		found.PartialAggregations, err = s.aggregations(ctx, to, o)
	}
	return found, err
}

// SearchBatch implements riffle.Searcher: one search after the other.
func (s *session) SearchBatch(ctx context.Context, queries []riffle.Query, o *riffle.SearchOptions) ([]*riffle.Result, error) {
	results := make([]*riffle.Result, len(queries))
	for i, q := range queries {
		var err error
		if results[i], err = s.Search(ctx, q, o); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// Count implements riffle.Searcher.
func (s *session) Count(ctx context.Context, q riffle.Query) (int, error) {
	to, err := s.ask(ctx, &request{Verb: verbCount}, q)
	if err != nil {
		return 0, err
	}
	return to.Count, nil
}

// Explain implements riffle.Searcher.
func (s *session) Explain(ctx context.Context, q riffle.Query, id string, o *riffle.SearchOptions) (*riffle.Explanation, error) {
	options, err := optionsOf(o)
	if err != nil {
		return nil, err
	}
	to, err := s.ask(ctx, &request{Verb: verbExplain, Options: options, ID: &value{id}}, q)
	if err != nil {
		return nil, err
	}
	return to.Explanation, nil
}
