package riffle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/internal/search"
)

// A Processor is where a search runs.
type Processor uint8

const (
	ProcessorAuto Processor = iota // the engine chooses
	ProcessorCPU
	ProcessorGPU // ErrNoDevice without a GPU
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

// DefaultK is how many hits a search returns by default.
const DefaultK = 10

// SearchOptions configures one search. A nil *SearchOptions is valid, and a field left at its zero
// value takes the default that its comment names.
type SearchOptions struct {
	// K is the maximum number of hits to return, 1 to MaxK. The default is DefaultK.
	K int

	// Sort orders the hits by values instead of scores: Hit.Sort then has what each hit has for these
	// keys. Hits that are equal in all keys stay in the order of the index. Hit.Score is 0 unless one of
	// the keys is the score. ParseSort reads keys from a text. Nil stands for the best matches first.
	Sort []SortKey

	// Collapse returns one hit of each group of documents that have the same value: the first, in the order
	// of the search. Hit.Group and Hit.GroupSize tell which group it stands for, and Result.Groups how many
	// there are. Nil stands for every hit.
	Collapse *Collapse

	// After continues after a hit of an earlier search for the same query, normally the last one of
	// the previous page. See Cursor for the guarantees on an index that changes in between.
	After Cursor

	// From skips this many hits: with ten a page, the third begins with From: 20. A search with
	// From costs as much as one for From + K hits, so together they are at most MaxK. After goes to
	// any depth for the cost of a page. A search has one or the other.
	From int

	// ExactTotal makes Result.Total exact, at the cost of counting every match.
	ExactTotal bool

	// NoHits asks for no hits, only for Result.Aggregations and the exact Result.Total: no document is
	// ranked. It goes without K, Sort, Collapse, After, From, Load, Highlight and Deadline.
	NoHits bool

	// Load names the stored fields to load into Hit.Fields; "*" stands for all.
	// The default is none.
	Load []string

	// Versions asks for Hit.Version.
	Versions bool

	// Highlight asks for the best fragments of each hit's stored texts, which become Hit.Fragments. Nil
	// asks for none. A field of HighlightOptions.Fields that is not stored is an error; a Highlighter
	// takes its text from the caller.
	Highlight *HighlightOptions

	// Aggregations count and measure all documents that match, by name, whatever K, From and After are:
	// see Result.Aggregations. They need columns of their fields (Field.Column), and run on the CPU.
	Aggregations map[string]Aggregation

	// PartialAggregations asks for Result.PartialAggregations instead of Result.Aggregations: for an index
	// that is one of several, whose aggregations become those of all documents. See PartialAggregations.
	PartialAggregations bool

	// Selections are filters of the hits, as a shop's user selects them facet by facet. An aggregation
	// does not see the selection of its own name, so that it counts what other choices would find; all
	// aggregations see the others.
	Selections map[string]Query

	// Partial admits queries that stand for more terms than Options.MaxTerms. Then the first ones, in
	// the order of their bytes, count, and Result.Incomplete is set.
	Partial bool

	// Similarity overrides the engine's BM25 parameters for this search.
	Similarity *BM25

	// Statistics replace the index's own, so that several indexes score as one: see Statistics.
	Statistics *Statistics

	// Alpha overrides the weight of the static rank, in [0, 1]. The default is
	// Options.Rank.Alpha.
	Alpha *float64

	// Now is what "now" means in the query: see Range. The default is the time of the call. Pages of one
	// answer (After) agree about it if they have the same Now.
	Now time.Time

	// Processor to run on. By default the engine chooses.
	Processor Processor

	// Exec overrides Options.Exec for this search.
	Exec *Exec

	// Profile asks for Result.Profile: what ran the search and why, how long its phases took, and what it
	// did with each block of its posting lists. The answer is the same. Nil asks for none.
	Profile *ProfileOptions

	// Deadline is when the answer is wanted, counted from the call; 0 for no deadline. Searches with
	// deadlines take turns at the cores and GPUs: the one that is due first comes first. One that is
	// estimated to be late waits until no other would be late because of it, and a late answer is like
	// any other. A search that has begun is finished, however late. Only the context ends it, and the
	// context's own deadline does not count here. It holds for each search of a SearchBatch.
	//
	// An Engine computes as many searches with deadlines at a time as Options.SearchWorkers says.
	// Without a GPU, searches without a deadline do not wait for one another, nor for these.
	Deadline time.Duration

	// FailLate makes a search fail with ErrLate as soon as it is estimated to miss its Deadline:
	// mostly at once, before anything is computed. Estimates err: some that fail would have been in
	// time, and some that do not fail are late. It goes with a Deadline.
	FailLate bool
}

// A Result is the answer to a search.
type Result struct {
	Hits []Hit // by SearchOptions.Sort or descending score, ties by position in the index

	// Total is the number of documents that match, regardless of After and From. It is exact when
	// TotalExact is true; otherwise it is a lower bound.
	Total      int
	TotalExact bool

	// Groups is the exact number of groups, of a search with SearchOptions.Collapse: of different values of
	// the field among all documents that match, and one more if some have none.
	Groups int

	// Fingerprint is a hash of all that turns frequencies into scores, of a search with
	// SearchOptions.Statistics: the terms as the analyzers leave them, weights, parameters of BM25 and the
	// static rank. Scores of several indexes can be compared if theirs agree.
	Fingerprint uint64 `json:",omitempty"`

	// GroupCounts are all groups, of a search with Collapse.Count, in no particular order.
	GroupCounts []GroupCount `json:",omitempty"`

	// Incomplete is set when a part of the query stands for more terms than Options.MaxTerms: see
	// SearchOptions.Partial.
	Incomplete bool

	// Aggregations are the results of SearchOptions.Aggregations.
	Aggregations map[string]AggregationResult

	// PartialAggregations are what SearchOptions.PartialAggregations asks for; nil without aggregations.
	PartialAggregations *PartialAggregations `json:",omitempty"`

	Work     Work   // what the search cost
	Executor string // what ran it, such as "cpu/bmm"; "cpu/bmm/adaptive" with help of other cores; "gpu/maxscore+cpu/bmm" together
	Duration time.Duration
	Profile  *Profile // of SearchOptions.Profile

	page search.Page // shared by the cursors of Hits
}

// A Hit is one document of a Result.
type Hit struct {
	ID     string // shares its memory with the ids of all hits: see strings.Clone
	Engine string `json:",omitempty"` // of a Multi, the name of the document's engine

	// Score is within 3e-4 (relative) of BM25 for documents of up to 40 times the average length of
	// a field. For longer ones it is within 2^-16 of the weights of the words that match.
	Score float64

	// Sort is what the document has for each key of SearchOptions.Sort: nil if it has no value, an int64,
	// uint64, float64, bool, time.Time, Point or string, the float64 of its score, or its id.
	Sort []any `json:",omitempty"`

	// Group is the value that the documents of the hit's group have in common, of a search with
	// SearchOptions.Collapse; nil for those without a value. GroupSize is their exact number.
	Group     any `json:",omitempty"`
	GroupSize int `json:",omitempty"`

	// Fields are the stored fields that SearchOptions.Load names: string, int64, float64, bool,
	// time.Time, Point, or []any of these if a field has several values.
	Fields map[string]any

	// Version is that of the document, if SearchOptions.Versions asks for it: see Document.Version.
	Version uint64 `json:",omitempty"`

	// Fragments are the best parts of the stored texts, by field: see SearchOptions.Highlight.
	Fragments map[string][]Fragment

	// Cursor marks the place of the hit in the answer, for SearchOptions.After. In JSON it is a
	// string.
	Cursor Cursor
}

// settings validates the options of a search and fills in defaults.
func (e *Engine) settings(o *SearchOptions) (s search.Settings, err error) {
	if o == nil {
		o = &defaultSearch
	}
	exec := &e.opts.Exec
	s = search.Settings{
		Settings: plan.Settings{
			CountAll: o.ExactTotal, MaxTerms: e.opts.MaxTerms, Partial: o.Partial, Sim: *e.opts.Similarity, Alpha: e.opts.Rank.Alpha, Outside: o.Statistics,
			AllowUnknown: e.opts.AllowUnknownFields || o.Statistics != nil && o.Statistics.Traits == nil, // another index may have the field
		},
		From: o.From, Cursor: o.After.at,
	}
	k := o.K
	if k == 0 {
		k = DefaultK
	}
	var errs []error // allocated only on a fault, to save time
	fault := func(part, format string, args ...any) {
		errs = append(errs, plan.Errorf("SearchOptions."+part, format, args...))
	}
	if part := o.ofHits(); o.NoHits && part != "" {
		fault("NoHits", "goes without %s, which is for hits", part)
	}
	if k < 1 || k > MaxK {
		fault("K", "must lie in 1 to %d, not %d", MaxK, k)
	}
	switch {
	case s.From < 0:
		fault("From", "must not be negative, as %d is", s.From)
	case s.From > MaxK-k && k <= MaxK:
		fault("From", "From and K must be at most %d together, not %d + %d; After goes on behind any hit", MaxK, s.From, k)
	case s.From > 0 && !o.After.IsZero():
		fault("From", "goes without After: the page behind a hit is found at once")
	}
	s.K = k + s.From
	if s.Now = o.Now; s.Now.IsZero() {
		s.Now = time.Now()
	}
	if o.Similarity != nil {
		s.Sim = o.Similarity.OrDefault()
		if err := s.Sim.Validate(); err != nil {
			fault("Similarity", "%w", err)
		}
	}
	if o.Alpha != nil {
		s.Alpha = *o.Alpha
		if !(s.Alpha >= 0 && s.Alpha <= 1) {
			fault("Alpha", "must lie in [0, 1], not %v", s.Alpha)
		}
		if s.Alpha > 0 && e.opts.Rank.Field == "" {
			fault("Alpha", "the index was opened without Options.Rank.Field")
		}
	}
	if o.Exec != nil {
		exec = o.Exec
		if err := exec.validate(); err != nil {
			fault("Exec", "%w", err)
		}
	}
	s.CPU = exec.parallel()
	if c := o.Collapse; c != nil || len(o.Sort) > 0 && !byScoreAlone(o.Sort) {
		keys := o.Sort
		if len(keys) == 0 {
			keys = bestFirst
		}
		var err error
		if s.Sort, err = sortKeys("SearchOptions.Sort", keys); err != nil {
			errs = append(errs, err)
		}
		if c != nil {
			if s.Collapse, s.CollapseBytes, s.AllGroups = c.Field, e.opts.CollapseBytes, c.Count; c.Field == "" {
				fault("Collapse.Field", "is missing")
			}
		}
	}
	if err := o.Highlight.validate(); err != nil {
		errs = append(errs, err)
	}
	if err := o.Profile.validate(); err != nil {
		errs = append(errs, err)
	}
	switch {
	case o.Deadline < 0:
		fault("Deadline", "must not be negative, as %v is", o.Deadline)
	case o.FailLate && o.Deadline == 0:
		fault("FailLate", "goes with a Deadline")
	}
	switch {
	case o.Processor > ProcessorGPU:
		fault("Processor", "must be ProcessorAuto, ProcessorCPU or ProcessorGPU, not %d", o.Processor)
	case o.Processor == ProcessorGPU && len(s.Sort) > 0:
		fault("Processor", "a search with Sort or Collapse runs on the CPU")
	case o.Processor == ProcessorGPU && e.accelerator == nil:
		errs = append(errs, e.noGPU())
	case o.Processor == ProcessorGPU:
		s.On = accelerator.OnGPU
	case o.Processor == ProcessorCPU || len(s.Sort) > 0 || exec.Algorithm != AlgorithmAuto:
		s.On = accelerator.OnCPU
	}
	s.Device, s.Forced = e.accelerator != nil && s.On != accelerator.OnCPU, s.On == accelerator.OnGPU
	return s, errors.Join(errs...)
}

// ofHits names an option that is given and asks something of hits, or nothing.
func (o *SearchOptions) ofHits() string {
	switch {
	case o.K != 0:
		return "K"
	case o.From != 0:
		return "From"
	case !o.After.IsZero():
		return "After"
	case len(o.Sort) > 0:
		return "Sort"
	case o.Collapse != nil:
		return "Collapse"
	case o.Versions:
		return "Versions"
	case len(o.Load) > 0:
		return "Load"
	case o.Highlight != nil:
		return "Highlight"
	case o.Deadline != 0:
		return "Deadline"
	}
	return ""
}

// settings is Engine.settings for a search of the scope.
func (v scope) settings(o *SearchOptions) (search.Settings, error) {
	s, err := v.e.settings(o)
	if v.m == nil || err != nil {
		return s, err
	}
	if s.On == accelerator.OnGPU {
		return s, plan.Errorf("SearchOptions.Processor", "a Multi searches on the CPU")
	}
	s.On, s.Names = accelerator.OnCPU, v.m.names
	return s, nil
}

var defaultSearch SearchOptions

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

// SearchBatch answers many queries, each as Search does, on all cores and all GPUs of the engine.
// Results are parallel to queries. All are answered from one state of the index, that at the call.
// The first error ends them all; it names its query, counted from 0.
func (e *Engine) SearchBatch(ctx context.Context, queries []Query, o *SearchOptions) ([]*Result, error) {
	v, err := e.acquire()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.searchBatch(ctx, queries, o)
}

// SearchBatch answers many queries, as Engine.SearchBatch does, from the snapshot.
func (s *Snapshot) SearchBatch(ctx context.Context, queries []Query, o *SearchOptions) ([]*Result, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.searchBatch(ctx, queries, o)
}

func (v scope) searchBatch(ctx context.Context, queries []Query, o *SearchOptions) ([]*Result, error) {
	results, start := make([]*Result, len(queries)), time.Now()
	ctx, open := v.untilClose(ctx)
	defer open()
	begin := func(ctx context.Context, i int) (*search.Run, error) {
		return v.begin(ctx, queries[i], o, start, false)
	}
	err := v.e.searcher.Batch(ctx, len(queries), begin, func(ctx context.Context, i int, x *search.Run, err error, began time.Time) error {
		if err == nil {
			results[i], err = v.end(ctx, x, queries[i], o)
		}
		if err == nil {
			results[i].Duration = time.Since(began)
		}
		v.tell(queries[i], o, results[i], err, began)
		if err != nil {
			return fmt.Errorf("query %d: %w", i, err)
		}
		return nil
	})
	if err != nil {
		return nil, v.orClosed(err)
	}
	return results, nil
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

// An Explanation derives the score of one document, term by term. The value of the root is exactly
// the score that Search returns.
//
//	type Explanation struct {
//		Matches bool    // the document matches (this part of) the query
//		Score   float64 // what it adds; at the root, the hit's score
//		Text    string  // how the score is derived
//		Parts   []*Explanation
//	}
//
// Its String prints the tree, one part a line, indented.
type Explanation = plan.Explanation

// Explain derives the score that a search for q with these options gives a document. The document
// need not be among the best, or on the page that the options select. A Match with ModeAndOr is
// explained as the AND or the OR that it becomes for K. ErrNotFound means that no document has the
// id.
func (e *Engine) Explain(ctx context.Context, q Query, id string, o *SearchOptions) (*Explanation, error) {
	v, err := e.acquire()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.explain(ctx, q, id, o)
}

// Explain derives the score of a document of the snapshot; see Engine.Explain.
func (s *Snapshot) Explain(ctx context.Context, q Query, id string, o *SearchOptions) (*Explanation, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.explain(ctx, q, id, o)
}

func (v view) explain(ctx context.Context, q Query, id string, o *SearchOptions) (*Explanation, error) {
	set, err := v.settings(o)
	if err != nil {
		return nil, err
	}
	segment, doc, err := v.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	return v.explainDoc(ctx, q, v.SegmentAt(segment).Base()+doc, &set)
}

// explainDoc derives the score of a document by its number in the scope.
func (v scope) explainDoc(ctx context.Context, q Query, doc uint32, set *search.Settings) (*Explanation, error) {
	set.K, set.From, set.Words = set.K-set.From, 0, true
	x, err := v.plan(ctx, q, set)
	if err != nil {
		return nil, err
	}
	defer x.End()
	return x.Explain(ctx, doc)
}
