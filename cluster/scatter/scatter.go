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
// The sum also decides what the query means: which terms a Fuzzy or a MoreLikeThis chooses, among those of
// all shards; how many terms a pattern stands for; and what a field is that no schema declares. Where
// shards differ in that, they are asked a second time, with what the others have. So a field that one of
// the shards has is a field of the index, and one that none has is the error of one index.
//
// Whether a Match with ModeAndOr requires all words is decided by the documents of all shards. With
// Collapse, shards also tell the sizes of all their groups.
//
// Each shard says how it scored, by a hash of the terms, weights and parameters. If shards differ the
// search fails with ErrMismatch instead of comparing scores that cannot be compared.
//
// # One phase
//
// CacheStatistics keeps the statistics of recent terms, by the revisions of the shards' snapshots
// (riffle.Snapshot.Revision). A search whose terms are all known is sent with their sum at once. Each
// shard searches only if its snapshot has the revision that its part of the sum is of. If one has another,
// nothing of the answer is used, and the search begins with the statistics. So the answer is always that
// of the two phases. Result.Cached says whether the first was saved.
//
// # Missing shards
//
// A shard that nobody answers for is an error that matches ErrUnavailable. With Options.AllowMissing it is
// left out instead, with its documents and statistics: Result.Missing names it, and Total and counts of
// aggregations are lower bounds.
//
// # Aggregations
//
// Aggregations are computed by each shard as far as one can (riffle.PartialAggregations), merged, and
// finished here: with all buckets and different values, so that counts, orders and sums are exact.
// Options.AggregationBytes bounds their memory. Hits of aggregations get their fields at the end.
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

// ErrUnavailable says that nobody answers for a shard.
var ErrUnavailable = errors.New("a shard does not answer")

// ErrMismatch says that shards score differently, so that their hits cannot be merged.
var ErrMismatch = errors.New("shards score differently")

// attempts is how often a search begins, if it loses snapshots.
const attempts = 3

// An Index is the shards of an index. Its methods are safe for concurrent use.
type Index struct {
	shards []Shard
	epoch  uint64 // of cursors
	cache  *cache // nil for none
}

// New returns the index of some shards, whose order decides about equal hits.
func New(shards ...Shard) (*Index, error) {
	if len(shards) == 0 {
		return nil, errors.New("scatter: an index needs a shard")
	}
	return &Index{shards: slices.Clone(shards)}, nil
}

// SetEpoch sets a number that cursors carry, 0 before. Those with another one are refused: so are those of an index
// that is no longer there. It is called before the first search.
func (x *Index) SetEpoch(epoch uint64) { x.epoch = epoch }

// A Result is the answer to a search.
type Result struct {
	Hits []Hit

	Total        int // as in riffle.Result
	TotalExact   bool
	Groups       int
	Incomplete   bool
	Aggregations map[string]riffle.AggregationResult

	Missing []MissingShard // with Options.AllowMissing; Total is then not exact
	Cached  bool           // the statistics were known: see CacheStatistics

	Work     []riffle.Work // of each shard
	Duration time.Duration
	Slowest  time.Duration // how long the slowest shard searched for hits; the rest of Duration is the price of shards
}

// A MissingShard is one that nobody answers for.
type MissingShard struct {
	Shard int
	Err   error // matches ErrUnavailable
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
	// AllowMissing answers without the shards that nobody answers for: see Result.Missing. An answer
	// without any shard is an error all the same.
	AllowMissing bool
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
		n, err = s.countAll(ctx)
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
	s.uncached = true // Explain cannot check revisions
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
	x        *Index
	given    Options
	asked    riffle.Query
	query    riffle.Query // that, with ModeAndOr decided, after prepare
	k        int          // hits to return
	from     int
	sessions []Session
	after    cursor   // with the statistics, after prepare
	apart    apart    // after prepare
	expected []string // revisions of the snapshots that the statistics are of, if these were cached

	mu      sync.Mutex
	missing []error // by shard

	uncached bool // cached statistics are not to be used
}

// begin takes sessions of all shards.
func (x *Index) begin(ctx context.Context, q riffle.Query, o *Options) (*search, error) {
	if err := supported(q, o); err != nil {
		return nil, err
	}
	if o.AtLeast != nil && len(o.AtLeast) != len(x.shards) {
		return nil, fmt.Errorf("scatter: Options.AtLeast has %d sequences for %d shards", len(o.AtLeast), len(x.shards))
	}
	s := &search{
		x: x, given: *o, asked: q, query: q, k: o.K, from: o.From,
		sessions: make([]Session, len(x.shards)), missing: make([]error, len(x.shards)),
	}
	if s.k == 0 && !o.NoHits {
		s.k = riffle.DefaultK
	}
	var err error
	if s.after, err = x.parseCursor(o.After); err != nil {
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

// each calls a function for all shards at once, except for those that are missing. The first error ends the
// context of the others.
func (s *search) each(ctx context.Context, call func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var once sync.Once
	var first error
	var wg sync.WaitGroup
	for i := range s.sessions {
		if s.missing[i] != nil {
			continue
		}
		wg.Go(func() {
			if err := call(ctx, i); err != nil && !s.misses(i, err) {
				once.Do(func() {
					first = fmt.Errorf("shard %d: %w", i, err)
					cancel()
				})
			}
		})
	}
	wg.Wait()
	if first == nil && !slices.Contains(s.missing, nil) {
		return fmt.Errorf("no shard answers: %w", errors.Join(s.missing...))
	}
	return first
}

// misses reports whether the search goes on without a shard.
func (s *search) misses(i int, err error) bool {
	if !s.given.AllowMissing || !errors.Is(err, ErrUnavailable) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missing[i] = err
	return true
}

// options returns those of the search of a shard, which loads nothing.
func (s *search) options(i int) riffle.SearchOptions {
	o := s.given.SearchOptions
	o.Load, o.Versions, o.Highlight = nil, false, nil
	if o.PartialAggregations = len(o.Aggregations) > 0; s.apart.some {
		o.Aggregations, o.PartialAggregations = nil, false
	}
	if o.Collapse != nil {
		o.Collapse = &riffle.Collapse{Field: o.Collapse.Field, Count: true}
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
	results := make([]*riffle.Result, len(s.sessions))
	last := !s.loads() && s.given.Collapse == nil && len(s.given.Aggregations) == 0
	err := s.certain(ctx, func() error {
		if err := s.prepare(ctx); err != nil {
			return err
		}
		return s.each(ctx, func(ctx context.Context, i int) (err error) {
			o := s.options(i)
			results[i], err = s.searchOne(ctx, i, last, s.query, &o)
			return err
		})
	})
	if err == nil {
		err = s.comparable(results)
	}
	if err != nil {
		return nil, err
	}
	r := &Result{TotalExact: true, Cached: s.expected != nil}
	for i, part := range results {
		if s.missing[i] != nil {
			results[i] = nil
			r.Work = append(r.Work, riffle.Work{})
			continue
		}
		r.Total += part.Total
		r.TotalExact = r.TotalExact && part.TotalExact
		r.Incomplete = r.Incomplete || part.Incomplete
		r.Work, r.Slowest = append(r.Work, part.Work), max(r.Slowest, part.Duration)
	}
	if r.Hits, r.Groups, err = s.merge(ctx, results); err != nil {
		return nil, err
	}
	if r.Aggregations, err = s.aggregations(ctx, results); err != nil {
		return nil, err
	}
	if err := s.load(ctx, r.Hits); err != nil {
		return nil, err
	}
	for i, err := range s.missing { // some perhaps since their hits were found
		if err != nil {
			r.Missing, r.TotalExact = append(r.Missing, MissingShard{i, err}), false
		}
	}
	return r, nil
}
