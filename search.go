package riffle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/plan"
)

// A Processor is where a search runs.
type Processor uint8

const (
	ProcessorAuto Processor = iota // the engine chooses
	ProcessorCPU
	ProcessorGPU // ErrNoDevice when there is none
)

// ParseProcessor reads "auto", "cpu" or "gpu".
func ParseProcessor(name string) (Processor, error) {
	switch name {
	case "auto":
		return ProcessorAuto, nil
	case "cpu":
		return ProcessorCPU, nil
	case "gpu":
		return ProcessorGPU, nil
	}
	return 0, fmt.Errorf(`unknown processor %q (want "auto", "cpu" or "gpu")`, name)
}

// DefaultK is how many hits a search returns unless it says otherwise.
const DefaultK = 10

// SearchOptions configures one search. A nil *SearchOptions is valid, and a field
// left at its zero value takes the default its comment names.
type SearchOptions struct {
	// K is the most hits to return, 1 to MaxK. The default is DefaultK.
	K int

	// After continues behind a hit of an earlier search for the same query, normally the last one of the
	// page before: see Cursor for what holds on an index that changes in between.
	After Cursor

	// From passes over so many hits: the third page of ten begins with From: 20. A search with From costs
	// what one for From + K hits does, so together they are at most MaxK; After goes as deep as you like
	// for the price of a page. A search has one or the other.
	From int

	// ExactTotal makes Result.Total exact, at the price of counting every match.
	ExactTotal bool

	// Load names the stored fields to load into Hit.Fields; "*" stands for all.
	// The default is none.
	Load []string

	// Similarity overrides the engine's BM25 parameters for this search.
	Similarity *BM25

	// Statistics take the place of the index's own, so that several indexes score as one: see Statistics.
	Statistics *Statistics

	// Alpha overrides the weight of the static rank, in [0, 1]. The default is
	// Options.Rank.Alpha.
	Alpha *float64

	// Processor to run on. The default is the engine's choice.
	Processor Processor

	// Exec overrides Options.Exec for this search.
	Exec *Exec
}

// A Result is the answer to a search.
type Result struct {
	Hits []Hit // by descending score, ties by position in the index

	// Total is the number of documents that match, whatever After and From: exactly that
	// when TotalExact is true, else at least that.
	Total      int
	TotalExact bool

	Work     Work   // what the search cost
	Executor string // what ran it, such as "cpu/bmm"; "cpu/bmm/adaptive" with help of other cores; "gpu/maxscore+cpu/bmm" together
	Duration time.Duration

	page cursorPage
}

// A Hit is one document of a Result.
type Hit struct {
	ID string // shares its memory with the ids of all hits: see strings.Clone

	// Score is within 3e-4 (relative) of BM25 for documents of up to 40 times the average length of a
	// field. For longer ones it is within 2^-16 of the weights of the words that match.
	Score float64

	// Fields are the stored fields that SearchOptions.Load names: string, int64,
	// float64, bool, time.Time, or []any of these where a field has several values.
	Fields map[string]any

	// Cursor is the place of the hit in the answer, for SearchOptions.After. In JSON it is a text.
	Cursor Cursor
}

// searchSettings are SearchOptions with defaults filled in and checked.
type searchSettings struct {
	SearchOptions
	sim   BM25
	alpha float64
	exec  Exec
}

func (e *Engine) settings(o *SearchOptions) (s searchSettings, err error) {
	s.sim, s.alpha, s.exec = *e.opts.Similarity, e.opts.Rank.Alpha, e.opts.Exec
	if o != nil {
		s.SearchOptions = *o
	}
	if s.K == 0 {
		s.K = DefaultK
	}
	var errs []error // none but one is made for each fault: a search has no time for more
	fault := func(part, format string, args ...any) {
		errs = append(errs, plan.Errorf("SearchOptions."+part, format, args...))
	}
	if s.K < 1 || s.K > MaxK {
		fault("K", "must lie in 1 to %d, not %d", MaxK, s.K)
	}
	switch {
	case s.From < 0:
		fault("From", "must not be negative, as %d is", s.From)
	case s.From > MaxK-s.K && s.K <= MaxK:
		fault("From", "From and K must be at most %d together, not %d + %d; After goes on behind any hit", MaxK, s.From, s.K)
	case s.From > 0 && !s.After.IsZero():
		fault("From", "goes without After: the page behind a hit is found at once")
	}
	if s.Similarity != nil {
		s.sim = s.Similarity.OrDefault()
		if err := s.sim.Validate(); err != nil {
			fault("Similarity", "%w", err)
		}
	}
	if s.Alpha != nil {
		s.alpha = *s.Alpha
		if !(s.alpha >= 0 && s.alpha <= 1) {
			fault("Alpha", "must lie in [0, 1], not %v", s.alpha)
		}
		if s.alpha > 0 && e.opts.Rank.Field == "" {
			fault("Alpha", "the index was opened without Options.Rank.Field")
		}
	}
	if s.Exec != nil {
		s.exec = *s.Exec
		if err := s.exec.validate(); err != nil {
			fault("Exec", "%w", err)
		}
	}
	if s.Processor > ProcessorGPU {
		fault("Processor", "must be ProcessorAuto, ProcessorCPU or ProcessorGPU, not %d", s.Processor)
	}
	if s.Processor == ProcessorGPU && e.accelerator == nil {
		errs = append(errs, e.noGPU())
	}
	return s, errors.Join(errs...)
}

// A Searcher answers queries: an Engine from the index as it is now, a Snapshot from the index as it was.
type Searcher interface {
	// Search ranks the documents that match a query. A nil *SearchOptions asks for the default.
	Search(ctx context.Context, q Query, o *SearchOptions) (*Result, error)

	// SearchBatch answers many queries, each as Search does, all from one state of the index.
	SearchBatch(ctx context.Context, queries []Query, o *SearchOptions) ([]*Result, error)

	// Count returns exactly how many documents match a query.
	Count(ctx context.Context, q Query) (int, error)

	// Explain derives the score that Search gives a document.
	Explain(ctx context.Context, q Query, id string, o *SearchOptions) (*Explanation, error)

	// Statistics returns what BM25 knows of the fields and terms of a query.
	Statistics(ctx context.Context, q Query) (*Statistics, error)
}

var _, _ Searcher = (*Engine)(nil), (*Snapshot)(nil)

// Search ranks the documents that match a query, as the index is now.
func (e *Engine) Search(ctx context.Context, q Query, o *SearchOptions) (*Result, error) {
	v, err := e.acquire()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.searchTimed(ctx, q, o)
}

// Count returns exactly how many documents match a query, as the index is now.
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

// searchTimed is search, with the time that it takes, and tells the listener.
func (v view) searchTimed(ctx context.Context, q Query, o *SearchOptions) (*Result, error) {
	start := time.Now()
	res, err := v.search(ctx, q, o)
	if res != nil {
		res.Duration = time.Since(start)
	}
	v.tell(q, o, res, err, start)
	return res, err
}

// tell tells the listener of a search that began then.
func (v view) tell(q Query, o *SearchOptions, res *Result, err error, start time.Time) {
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

func (v view) count(ctx context.Context, q Query) (int, error) {
	set, err := v.e.settings(nil)
	if err != nil {
		return 0, err
	}
	set.alpha = 0
	p := v.e.borrow()
	defer v.giveBack(p)
	c, err := p.prepare(ctx, v, q, &set)
	if err != nil {
		return 0, err
	}
	n, err := v.e.executor(&set).Count(ctx, &c.Plan)
	return n, v.at(err)
}

func (v view) search(ctx context.Context, q Query, o *SearchOptions) (*Result, error) {
	if v.e.accelerator != nil {
		r, err := v.submit(ctx, q, o)
		if err != nil {
			return nil, err
		}
		return r.finish(ctx)
	}
	set, err := v.e.settings(o)
	if err != nil {
		return nil, err
	}
	p := v.e.borrow()
	defer v.giveBack(p)
	c, err := p.prepare(ctx, v, q, &set)
	if err != nil {
		return nil, err
	}
	cpu := v.e.executor(&set)
	top, err := cpu.TopK(ctx, &c.Plan)
	return v.result(ctx, p, q, c, &set, top, executorName(cpu, top.Work), err)
}

// result makes a Result of what an executor has found, unless it failed.
func (v view) result(ctx context.Context, p *preparer, q Query, c *plan.Compiled, s *searchSettings, top blockmax.TopK, executor string, err error) (*Result, error) {
	if err != nil {
		return nil, v.at(err)
	}
	res := &Result{
		Total: top.Total, TotalExact: top.Exact, Work: top.Work, Executor: executor,
		page: cursorPage{query: q, sim: s.sim, alpha: s.alpha, k: s.K},
	}
	if res.Hits, err = p.namer.hits(ctx, v, top.Hits[min(s.From, len(top.Hits)):], c, s.Load, &res.page); err != nil {
		return nil, err
	}
	return res, nil
}

// at names the segment and term that an executor's error came from.
func (v view) at(err error) error {
	if err == nil {
		return nil
	}
	var le *cpuexec.ListError
	if errors.As(err, &le) && le.Segment < v.Segments() {
		return v.Segment(le.Segment).At(le.Err)
	}
	return err
}

// loadFields returns the named stored fields of a document; "*" names all.
func loadFields(s plan.Segment, doc uint32, names []string) (map[string]any, error) {
	vals, err := readStored(s, doc)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	if !wanted["*"] {
		kept := vals[:0]
		for _, v := range vals {
			if wanted[v.Name] {
				kept = append(kept, v)
			}
		}
		vals = kept
	}
	return document.Unflatten(vals), nil
}

// readStored returns the stored values of a document.
func readStored(s plan.Segment, doc uint32) (document.Stored, error) {
	data, err := s.Reader().Stored(doc)
	if err != nil {
		return nil, s.At(err)
	}
	vals, err := document.ParseValues(data)
	if err != nil {
		return nil, s.At(err)
	}
	return vals, nil
}
