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

	mu       sync.Mutex
	first    []*node // the order in which nodes are asked; nil if it is not chosen yet
	node     *node   // that has the lease
	lease    string
	revision string // of the snapshot
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
		to, n, err := s.shard.first(ctx, r, s.first)
		s.first = nil
		if to != nil {
			s.keep(n, to)
		}
		return to, err
	}
	r.Lease = s.lease
	to, err := s.shard.call(ctx, s.node, r)
	if to != nil && err == nil {
		s.keep(s.node, to)
	}
	_, unanswered := errors.AsType[*callError](err)
	if (unanswered || errors.Is(err, riffle.ErrClosed)) && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", scatter.ErrGone, err)
	}
	return to, err
}

// keep notes what a reply says about the snapshot. Without a lease it has been given back.
func (s *session) keep(n *node, to *reply) {
	if s.node, s.lease, s.revision = n, to.Lease, to.Revision; to.Lease == "" {
		s.node, s.revision = nil, ""
	}
}

// Revision implements scatter.Revised.
func (s *session) Revision() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.node != nil {
		return s.revision
	}
	if s.first == nil {
		s.first = s.shard.order()
	}
	return s.shard.revisionOf(s.first)
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
func (s *session) Statistics(ctx context.Context, q riffle.Query, o *riffle.SearchOptions) (*riffle.Statistics, error) {
	data, err := s.asked(ctx, &request{Verb: verbStatistics}, q, o)
	if err != nil {
		return nil, err
	}
	return parseStatistics(data)
}

// Search implements riffle.Searcher.
func (s *session) Search(ctx context.Context, q riffle.Query, o *riffle.SearchOptions) (*riffle.Result, error) {
	return s.SearchIf(ctx, "", false, q, o)
}

// SearchIf implements scatter.Revised.
func (s *session) SearchIf(ctx context.Context, revision string, last bool, q riffle.Query, o *riffle.SearchOptions) (*riffle.Result, error) {
	r := &request{Verb: verbSearch, If: revision, Last: last}
	if o != nil && len(o.Aggregations)+len(o.Selections) > 0 {
		r.Verb = verbAggregate
	}
	data, err := s.asked(ctx, r, q, o)
	if err != nil {
		return nil, err
	}
	found, data, err := parseResult(data)
	if err == nil && o != nil && len(o.Aggregations) > 0 {
		found.PartialAggregations, err = riffle.UnmarshalPartialAggregations(data, o.Aggregations, 0)
	}
	return found, err
}

// asked sends a request with options, and returns what is attached to the reply.
func (s *session) asked(ctx context.Context, r *request, q riffle.Query, o *riffle.SearchOptions) ([]byte, error) {
	if err := r.setOptions(o); err != nil {
		return nil, err
	}
	to, err := s.ask(ctx, r, q)
	if err != nil {
		return nil, err
	}
	if to.Attached == 0 {
		return nil, errors.New("remote: a reply without an answer")
	}
	return s.rest(ctx, to)
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
	r := &request{Verb: verbExplain, ID: &value{id}}
	if err := r.setOptions(o); err != nil {
		return nil, err
	}
	to, err := s.ask(ctx, r, q)
	if err != nil {
		return nil, err
	}
	return to.Explanation, nil
}
