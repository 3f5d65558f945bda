// Package scatter searches the shards of an index as one. The answer is that of one index of all
// documents, those of shard 0 first: the same hits, scores and order, to the last bit, as long as no
// shard has documents that are deleted and not yet merged away, which count in its statistics.
//
// # Two phases
//
// A search takes a snapshot of each shard, and asks each for the statistics of the query. It adds them
// up and searches every shard with the sum (riffle.Statistics), so that each scores as if it had all
// documents. Hits are merged by score, or by the keys of the search's Sort; equal ones by shard, and
// within a shard by their order there. Then the stored fields, versions and fragments of the hits that
// remain are fetched, from the same snapshots.
//
// Whether a Match with ModeAndOr requires all words is decided by the documents of all shards.
//
// Aggregations are computed by each shard as far as one can (riffle.PartialAggregations), merged, and
// finished here: with all buckets and different values, so that counts, orders and sums are exact.
//
// # What is refused
//
// Some parts of a search need more of a shard than statistics. They are refused with an error that
// matches ErrUnsupported: Collapse, sorting by a place without From, and queries that choose words by how
// many documents have them, which are Fuzzy and MoreLikeThis, and a Match with a fuzziness, also in
// Selections and in the filters of Aggregations.
package scatter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/riffle-search/riffle"
)

// A Shard is a part of the documents of an index.
type Shard interface {
	// Session begins to search the shard as it is now. The caller closes the session. atLeast is the
	// sequence of an entry of the shard's log whose changes it must have, or 0.
	Session(ctx context.Context, atLeast uint64) (Session, error)
}

// A Session searches a shard at one moment. *riffle.Snapshot is one.
type Session interface {
	riffle.Searcher
	Close()
}

// ErrGone says that a session has lost its snapshot, for example because its node has stopped. A search
// that it happens to begins again.
var ErrGone = errors.New("the snapshot of a shard is gone")

// attempts is how often a search begins, if it loses snapshots.
const attempts = 3

// ErrUnsupported says that a search has a part that cannot be answered by several shards.
var ErrUnsupported = errors.New("not supported for an index with shards")

// An Index is the shards of an index. Its methods are safe for concurrent use.
type Index struct{ shards []Shard }

// New returns the index of some shards, whose order decides about equal hits.
func New(shards ...Shard) (*Index, error) {
	if len(shards) == 0 {
		return nil, errors.New("scatter: an index needs a shard")
	}
	return &Index{slices.Clone(shards)}, nil
}

// A Result is the answer to a search.
type Result struct {
	Hits []Hit

	Total        int // as in riffle.Result
	TotalExact   bool
	Incomplete   bool
	Aggregations map[string]riffle.AggregationResult

	Work     []riffle.Work // of each shard
	Duration time.Duration
}

// A Hit is one document of a Result. Hit.Hit has no cursor.
type Hit struct {
	riffle.Hit
	Shard int

	at cursor
}

// Cursor returns the place of the hit in the answer, for Options.After.
func (h *Hit) Cursor() (string, error) { return h.at.encode() }

// Options configure one search: riffle.SearchOptions, but for After, which is a text here.
type Options struct {
	riffle.SearchOptions
	After string // the Cursor of a hit

	// AtLeast has, for each shard, the sequence of an entry of its log whose changes the search must
	// see, or 0. Nil stands for zeros.
	AtLeast []uint64

	// AggregationBytes bounds the memory of the aggregations of all shards together, besides what each
	// shard admits. 0 is riffle.DefaultAggregationBytes.
	AggregationBytes int64
}

// Search ranks the documents of all shards that match a query.
func (x *Index) Search(ctx context.Context, q riffle.Query, o *Options) (*Result, error) {
	began := time.Now()
	if o == nil {
		o = &Options{}
	}
	var r *Result
	err := x.retry(ctx, q, o, func(s *search) (err error) {
		r, err = s.search(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.Duration = time.Since(began)
	return r, nil
}

// retry calls run with sessions of all shards, and again with others if it loses one.
func (x *Index) retry(ctx context.Context, q riffle.Query, o *Options, run func(*search) error) error {
	for n := 1; ; n++ {
		s, err := x.begin(ctx, q, o)
		if err == nil {
			err = run(s)
			s.close()
		}
		if !errors.Is(err, ErrGone) || n == attempts || ctx.Err() != nil {
			return err
		}
	}
}

// Count returns exactly how many documents of all shards match a query. Of the options, AtLeast and Now count.
func (x *Index) Count(ctx context.Context, q riffle.Query, o *Options) (int, error) {
	counted := &Options{}
	if o != nil {
		counted.AtLeast, counted.Now = o.AtLeast, o.Now
	}
	n := 0
	err := x.retry(ctx, q, counted, func(s *search) (err error) {
		n, err = s.count(ctx, q)
		return err
	})
	return n, err
}

// Explain derives the score that Search gives the document with an id. The error matches
// riffle.ErrNotFound if no shard has it.
func (x *Index) Explain(ctx context.Context, q riffle.Query, id string, o *Options) (*riffle.Explanation, error) {
	if o == nil {
		o = &Options{}
	}
	var explanation *riffle.Explanation
	err := x.retry(ctx, q, o, func(s *search) (err error) {
		explanation, err = s.explain(ctx, id)
		return err
	})
	return explanation, err
}

func (s *search) explain(ctx context.Context, id string) (*riffle.Explanation, error) {
	s.given.Aggregations, s.given.Selections = nil, nil
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	explanations := make([]*riffle.Explanation, len(s.sessions))
	err := s.each(ctx, func(ctx context.Context, i int) error {
		options := s.options(i)
		e, err := s.sessions[i].Explain(ctx, s.query, id, &options)
		if errors.Is(err, riffle.ErrNotFound) {
			return nil
		}
		explanations[i] = e
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, e := range explanations {
		if e != nil {
			return e, nil
		}
	}
	return nil, riffle.ErrNotFound
}

// A search is one call.
type search struct {
	given    Options
	asked    riffle.Query
	query    riffle.Query // that, with ModeAndOr decided, after prepare
	k        int          // hits to return
	from     int
	sessions []Session
	after    cursor // with the statistics, after prepare
	apart    apart  // after prepare
}

// begin takes sessions of all shards.
func (x *Index) begin(ctx context.Context, q riffle.Query, o *Options) (*search, error) {
	if err := supported(q, o); err != nil {
		return nil, err
	}
	if o.AtLeast != nil && len(o.AtLeast) != len(x.shards) {
		return nil, fmt.Errorf("scatter: Options.AtLeast has %d sequences for %d shards", len(o.AtLeast), len(x.shards))
	}
	s := &search{given: *o, asked: q, query: q, sessions: make([]Session, len(x.shards)), k: o.K, from: o.From}
	if s.k == 0 && !o.NoHits {
		s.k = riffle.DefaultK
	}
	var err error
	if s.after, err = parseCursor(o.After, len(x.shards)); err != nil {
		return nil, err
	}
	if s.given.Now.IsZero() {
		s.given.Now = time.Now() // the same for all shards
	}
	if s.given.AggregationBytes == 0 {
		s.given.AggregationBytes = riffle.DefaultAggregationBytes
	}
	err = s.each(ctx, func(ctx context.Context, i int) (err error) {
		var atLeast uint64
		if o.AtLeast != nil {
			atLeast = o.AtLeast[i]
		}
		s.sessions[i], err = x.shards[i].Session(ctx, atLeast)
		return err
	})
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *search) close() {
	for _, session := range s.sessions {
		if session != nil {
			session.Close()
		}
	}
}

// each calls a function for all shards at once. The first error ends the context of the others.
func (s *search) each(ctx context.Context, call func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var once sync.Once
	var first error
	var wg sync.WaitGroup
	for i := range s.sessions {
		wg.Go(func() {
			if err := call(ctx, i); err != nil {
				once.Do(func() {
					first = fmt.Errorf("shard %d: %w", i, err)
					cancel()
				})
			}
		})
	}
	wg.Wait()
	return first
}

// prepare decides ModeAndOr and sums the statistics, unless the cursor has both.
func (s *search) prepare(ctx context.Context) error {
	and, or, either, err := decided(s.query)
	if err != nil {
		return err
	}
	if either {
		if !s.after.begun() {
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
	}
	if s.given.Statistics != nil {
		s.after.Statistics = s.given.Statistics
	}
	if s.after.Statistics == nil {
		s.after.Statistics, err = s.statistics(ctx)
	}
	return err
}

// enough is the number of documents with all words of a Match with ModeAndOr that are enough.
func (s *search) enough() int {
	if s.given.NoHits {
		return riffle.DefaultK
	}
	return s.k
}

func (s *search) statistics(ctx context.Context) (*riffle.Statistics, error) {
	parts := make([]*riffle.Statistics, len(s.sessions))
	err := s.each(ctx, func(ctx context.Context, i int) (err error) {
		parts[i], err = s.sessions[i].Statistics(ctx, s.query)
		return err
	})
	if err != nil {
		return nil, err
	}
	sum := parts[0]
	for _, part := range parts[1:] {
		sum.Add(part)
	}
	return sum, nil
}

func (s *search) count(ctx context.Context, q riffle.Query) (n int, err error) {
	counts := make([]int, len(s.sessions))
	err = s.each(ctx, func(ctx context.Context, i int) (err error) {
		counts[i], err = s.sessions[i].Count(ctx, q)
		return err
	})
	for _, m := range counts {
		n += m
	}
	return n, err
}

// options returns those of the search of a shard, which loads nothing.
func (s *search) options(i int) riffle.SearchOptions {
	o := s.given.SearchOptions
	o.Load, o.Versions, o.Highlight = nil, false, nil
	if o.PartialAggregations = len(o.Aggregations) > 0; s.apart.some {
		o.Aggregations, o.PartialAggregations = nil, false
	}
	o.K, o.From = 0, 0
	if !o.NoHits {
		o.K = s.k + s.from
	}
	o.Statistics = s.after.Statistics
	o.After = s.after.Shards[i]
	return o
}

// search asks all shards and merges what they find.
func (s *search) search(ctx context.Context) (*Result, error) {
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	results := make([]*riffle.Result, len(s.sessions))
	err := s.each(ctx, func(ctx context.Context, i int) (err error) {
		o := s.options(i)
		results[i], err = s.sessions[i].Search(ctx, s.query, &o)
		return err
	})
	if err != nil {
		return nil, err
	}
	r := &Result{TotalExact: true}
	for _, part := range results {
		r.Total += part.Total
		r.TotalExact = r.TotalExact && part.TotalExact
		r.Incomplete = r.Incomplete || part.Incomplete
		r.Work = append(r.Work, part.Work)
	}
	if r.Hits, err = s.merge(results); err != nil {
		return nil, err
	}
	if r.Aggregations, err = s.aggregations(ctx, results); err != nil {
		return nil, err
	}
	return r, s.load(ctx, r.Hits)
}

// load fetches what the hits lack, from the shards that have them.
func (s *search) load(ctx context.Context, hits []Hit) error {
	o := s.given.SearchOptions
	if len(o.Load) == 0 && !o.Versions && o.Highlight == nil {
		return nil
	}
	of := make([][]*Hit, len(s.sessions))
	for i := range hits {
		of[hits[i].Shard] = append(of[hits[i].Shard], &hits[i])
	}
	return s.each(ctx, func(ctx context.Context, i int) error {
		if len(of[i]) == 0 {
			return nil
		}
		ids := make([]string, len(of[i]))
		for j, h := range of[i] {
			ids[j] = h.ID
		}
		// The query stands beside the ids for its words, which fragments mark: the one that was given,
		// because they mark what a Match with ModeAndOr finds in a document, not what it decided.
		among := riffle.Bool{Filter: []riffle.Query{riffle.IDs{Values: ids}}}
		if o.Highlight != nil {
			among.Should = []riffle.Query{s.asked}
		}
		found, err := s.sessions[i].Search(ctx, among, &riffle.SearchOptions{
			K: len(ids), Load: o.Load, Versions: o.Versions, Highlight: o.Highlight, Now: s.given.Now, Partial: o.Partial,
		})
		if err != nil {
			return err
		}
		byID := make(map[string]*riffle.Hit, len(ids))
		for j := range found.Hits {
			byID[found.Hits[j].ID] = &found.Hits[j]
		}
		for _, h := range of[i] {
			got := byID[h.ID]
			if got == nil {
				return fmt.Errorf("document %q was found and cannot be loaded", h.ID)
			}
			h.Fields, h.Version, h.Fragments = got.Fields, got.Version, got.Fragments
		}
		return nil
	})
}
