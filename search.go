package riffle

import (
	"context"
	"time"

	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/internal/search"
)

// A Searcher answers queries: an Engine from the current index, a Snapshot from the index at its
// moment, a Multi and a MultiSnapshot from several indexes.
type Searcher interface {
	// Search ranks the documents that match a query. A nil *SearchOptions stands for the defaults.
	Search(ctx context.Context, q Query, o *SearchOptions) (*Result, error)

	// SearchBatch answers many queries, each as Search does, all from one state of the index.
	SearchBatch(ctx context.Context, queries []Query, o *SearchOptions) ([]*Result, error)

	// Count returns exactly how many documents match a query.
	Count(ctx context.Context, q Query) (int, error)

	// Explain derives the score that Search gives a document.
	Explain(ctx context.Context, q Query, id string, o *SearchOptions) (*Explanation, error)

	// Statistics returns what the score of a query depends on, for several indexes that answer as one.
	Statistics(ctx context.Context, q Query, o *SearchOptions) (*Statistics, error)
}

var _, _ Searcher = (*Engine)(nil), (*Snapshot)(nil)

// Search ranks the documents of the current index that match a query.
func (e *Engine) Search(ctx context.Context, q Query, o *SearchOptions) (*Result, error) {
	v, err := e.acquire()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.searchTimed(ctx, q, o)
}

// Count returns exactly how many documents of the current index match a query.
func (e *Engine) Count(ctx context.Context, q Query) (int, error) {
	v, err := e.acquire()
	if err != nil {
		return 0, err
	}
	defer v.Release()
	return v.count(ctx, q)
}

// Search ranks the documents of the snapshot that match a query.
func (s *Snapshot) Search(ctx context.Context, q Query, o *SearchOptions) (*Result, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.searchTimed(ctx, q, o)
}

// searchTimed is search with timing; it notifies the listener.
func (v scope) searchTimed(ctx context.Context, q Query, o *SearchOptions) (*Result, error) {
	start := time.Now()
	res, err := v.search(ctx, q, o, start)
	if res != nil {
		res.Duration = time.Since(start)
	}
	v.tell(q, o, res, err, start)
	return res, err
}

// tell notifies the listener of a search that began at start.
func (v scope) tell(q Query, o *SearchOptions, res *Result, err error, start time.Time) {
	l := v.e.opts.Listener
	if l == nil || l.Searched == nil {
		return
	}
	ev := SearchEvent{Query: q, Err: err, Duration: time.Since(start)}
	if o != nil {
		ev.K = o.K
	}
	if res != nil {
		ev.Hits, ev.Work, ev.Executor = len(res.Hits), res.Work, res.Executor
	}
	l.Searched(ev)
}

// Count returns exactly how many documents of the snapshot match a query.
func (s *Snapshot) Count(ctx context.Context, q Query) (int, error) {
	v, err := s.hold()
	if err != nil {
		return 0, err
	}
	defer v.Release()
	return v.count(ctx, q)
}

func (v scope) count(ctx context.Context, q Query) (int, error) {
	set, err := v.settings(nil)
	if err != nil {
		return 0, err
	}
	set.Alpha = 0
	x, err := v.plan(ctx, q, &set)
	if err != nil {
		return 0, err
	}
	defer x.End()
	return x.Count(ctx)
}

// plan plans a search. The caller ends it.
func (v scope) plan(ctx context.Context, q Query, s *search.Settings) (*search.Run, error) {
	if q == nil {
		return nil, plan.Errorf("Query", "is nil")
	}
	s.Query, s.QueryForm, s.DependsOnK = q, queryForm{}, q.dependsOnK()
	x := v.e.searcher.Begin(v.View, s)
	if err := planRun(ctx, x, q); err != nil {
		x.End()
		return nil, err
	}
	return x, nil
}

func planRun(ctx context.Context, x *search.Run, q Query) error {
	if err := x.Resume(ctx); err != nil {
		return err
	}
	if m, ok := q.(Match); ok {
		if planned, err := x.Words(ctx, plan.Match(m)); planned || err != nil {
			return err
		}
	}
	clause, err := rewrite(q, x.Rewriter(), 1)
	if err != nil {
		return err
	}
	return x.Plan(ctx, clause)
}

// begin plans a search that was called at start, and submits it. A prompt one is answered next.
func (v scope) begin(ctx context.Context, q Query, o *SearchOptions, start time.Time, prompt bool) (*search.Run, error) {
	set, err := v.settings(o)
	if err != nil {
		return nil, err
	}
	set.Best, set.Prompt = len(set.Sort) == 0 && (o == nil || len(o.Aggregations) == 0), prompt
	if o != nil && o.Deadline > 0 {
		set.Due, set.FailLate = start.Add(o.Deadline), o.FailLate
	}
	if o != nil {
		q = o.selected(q)
		set.Profile, set.Began = o.Profile != nil, start
	}
	x, err := v.plan(ctx, q, &set)
	if err != nil {
		return nil, err
	}
	x.ProfilePlan()
	if o != nil && o.NoHits {
		return x, nil
	}
	if err := x.Submit(); err != nil {
		x.End()
		return nil, err
	}
	return x, nil
}

// end answers a search and ends it.
func (v scope) end(ctx context.Context, x *search.Run, q Query, o *SearchOptions) (*Result, error) {
	defer x.End()
	if o == nil {
		o = &defaultSearch
	}
	find := x.Answer
	if o.NoHits {
		find = x.Unranked
	}
	answer, err := find(ctx)
	if err != nil {
		return nil, err
	}
	res := &Result{Total: answer.Total, TotalExact: answer.Exact, Incomplete: x.Incomplete(), Work: answer.Work, Executor: answer.Executor}
	res.Profile = v.profile(x, o, res.Executor)
	found := answer.Hits[min(o.From, len(answer.Hits)):]
	hits := make([]Hit, len(found))
	if err := x.Hits(found, &res.page, func(i int) *search.Cursor { return &hits[i].Cursor.at }); err != nil {
		return nil, err
	}
	highlight, err := v.highlightsHits(x, q, o.Highlight)
	if err != nil {
		return nil, err
	}
	for i := range hits {
		hit := &hits[i]
		hit.ID, hit.Score = hit.Cursor.at.ID(), x.Score(hit.Cursor.at)
		if len(o.Sort) > 0 {
			if hit.Sort = x.Keys(hit.Cursor.at); hit.Sort == nil { // by the score alone
				hit.Sort = []any{hit.Score}
			}
		}
		if o.Collapse != nil {
			hit.Group, hit.GroupSize = x.Group(hit.Cursor.at)
		}
		if v.m != nil {
			hit.Engine = v.m.names[hit.Cursor.at.Index()]
		}
		if o.Versions {
			if hit.Version, err = x.Version(hit.Cursor.at); err != nil {
				return nil, err
			}
		}
		if len(o.Load) == 0 && highlight == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(o.Load) > 0 {
			if hit.Fields, err = x.Fields(hit.Cursor.at, o.Load); err != nil {
				return nil, err
			}
		}
		if highlight != nil {
			if hit.Fragments, err = highlight(hit.Cursor.at); err != nil {
				return nil, err
			}
		}
	}
	res.Hits = hits
	res.Profile.fetched()
	if o.Collapse != nil {
		res.Groups = x.Groups()
		if o.Collapse.Count {
			res.GroupCounts = groupCounts(x)
		}
	}
	if o.Statistics != nil {
		res.Fingerprint = x.Fingerprint()
	}
	if err := v.aggregate(ctx, x, q, o, res); err != nil {
		return nil, err
	}
	res.Profile.aggregated(o)
	return res, nil
}

func (v scope) search(ctx context.Context, q Query, o *SearchOptions, start time.Time) (*Result, error) {
	x, err := v.begin(ctx, q, o, start, true)
	if err != nil {
		return nil, err
	}
	return v.end(ctx, x, q, o)
}

// untilClose returns a context that ends when an engine of the scope is closed.
func (v scope) untilClose(ctx context.Context) (context.Context, context.CancelFunc) {
	if v.m == nil {
		return v.e.index.UntilClose(ctx)
	}
	return v.m.untilClose(ctx)
}

// orClosed returns the error of a call that a Close may have interrupted.
func (v scope) orClosed(err error) error {
	if v.m == nil {
		return v.e.index.OrClosed(err)
	}
	return v.m.orClosed(err)
}
