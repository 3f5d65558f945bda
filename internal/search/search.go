// Package search takes a search from its clauses to the places of its hits. A Searcher holds what
// an engine's searches share: memory, the helping cores, and an accelerator if there is one. A Run
// is one search on a view of the index:
//
//   - It is planned, and continues after a cursor if there is one (search.go, resume.go).
//   - The CPU or the accelerator answers it; an accelerator may answer several at once (answer.go).
//   - Several goroutines answer many searches, which keeps an accelerator busy (batch.go).
//   - The hits of an answer get ids and cursors, whose text outlives the process (cursor.go).
//
// The package knows views, plans, executors and accelerators. It must not know how an index
// changes, how a plan is answered, or the queries, options and results that callers of package
// riffle see: it gets clauses, and validated Settings.
package search

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/dispatch"
	"github.com/riffle-search/riffle/internal/live"
	"github.com/riffle-search/riffle/internal/plan"
)

// Options configure a Searcher.
type Options struct {
	Preparer    func() plan.Preparer    // makes one for the searched index
	Cores       int                     // that searches share
	Spin        time.Duration           // how long an idle worker looks for a search to help with: see cpuexec.NewPool
	Accelerator accelerator.Accelerator // nil without a GPU; its owner closes it
}

// A Searcher runs the searches of an engine. Its methods are safe for concurrent use.
type Searcher struct {
	cores       int
	accelerator accelerator.Accelerator
	pool        *cpuexec.Pool
	runs        sync.Pool // of *Run

	// Without a GPU, the searches with a deadline wait here for a core.
	onCores func() *dispatch.Dispatcher
}

// New returns a Searcher. The caller closes it.
func New(o Options) *Searcher {
	s := &Searcher{cores: o.Cores, accelerator: o.Accelerator, pool: cpuexec.NewPool(o.Cores, o.Spin)}
	s.onCores = sync.OnceValue(func() *dispatch.Dispatcher {
		return dispatch.New(nil, dispatch.Options{Policy: dispatch.Processors, Cores: o.Cores})
	})
	s.runs.New = func() any { return &Run{searcher: s, preparer: o.Preparer()} }
	return s
}

// Close stops the workers. Later searches run on their own goroutine alone.
func (s *Searcher) Close() { s.pool.Close() }

// A View is what a search runs on: the view of an index, or those of several as one.
type View interface {
	plan.Index

	// NumberOf returns the number of the view of an index that has a document. ViewAt returns the
	// view with such a number, or nil, and the number of its first document in this View.
	NumberOf(doc uint32) int
	ViewAt(number int) (v *live.View, base uint32)

	// PartOf returns the number of the segment with a document, for Segment.
	PartOf(doc uint32) int

	// Named adds to an error which index it is of, if there are several.
	Named(number int, err error) error
}

var _, _ View = (*live.View)(nil), (*live.Multi)(nil)

// Settings are those of one search, validated and complete.
type Settings struct {
	plan.Settings // After and Frozen come from Cursor

	From   int              // hits of the K that are skipped
	Cursor Cursor           // after which the search continues
	CPU    cpuexec.Parallel // how the CPU answers; its Pool is the Searcher's
	On     accelerator.Side // where the search may run

	// When the answer is wanted, zero for no deadline, and whether the search fails if it is late:
	// see dispatch.Query.
	Due      time.Time
	FailLate bool

	// Prompt says that Answer is called right after Submit: see dispatch.Query.
	Prompt bool

	// Query, DependsOnK and Names identify the query for cursors: its JSON form, whether its answer
	// depends on K, and the names of the indexes if there are several.
	Query      json.Marshaler
	QueryForm  QueryForm // of Query; nil for json.Marshal
	DependsOnK bool
	Names      []string

	Sort     []SortKey // the order of hits; nil for that of scores
	Collapse string    // with Sort: the field of whose values each has one hit; or ""

	CollapseBytes int64 // memory for the groups
	AllGroups     bool  // the sizes of all groups are wanted

	Profile bool      // the run keeps a Profile
	Began   time.Time // with Profile: when the search was called
}

// page returns how many hits to return.
func (o *Settings) page() int { return o.K - o.From }

// A Run is one search on a view. Its memory is reused from search to search.
type Run struct {
	preparer plan.Preparer
	searcher *Searcher
	ids      []byte // of a page; scratch

	view     View
	settings Settings
	compiled *plan.Compiled
	ticket   accelerator.Ticket
	waiting  bool // the caller must wait for the ticket

	// Of a sorted search: where it continues, with hits that tie with that, and its answer.
	after   *cpuexec.Place
	ties    bool
	sorting sorting
	answer  sorted

	profiling *profiling // nil unless the settings ask for a profile
}

// Begin begins a search on a view, which must stay open until the caller ends the run. The caller
// plans it by Words or by Plan.
func (s *Searcher) Begin(v View, o *Settings) *Run {
	x := s.runs.Get().(*Run)
	x.view, x.settings = v, *o
	x.settings.CPU.Pool = s.pool
	x.beginProfile()
	return x
}

// End ends the search. Its answer stays valid.
func (x *Run) End() {
	x.preparer.Forget(x.view)
	x.view, x.settings, x.compiled = nil, Settings{}, nil
	x.ticket, x.waiting, x.profiling = accelerator.Ticket{}, false, nil
	x.after, x.ties, x.sorting, x.answer = nil, false, sorting{}, sorted{}
	x.searcher.runs.Put(x)
}

// Words plans the words of a match, if Preparer.Words accepts the search.
func (x *Run) Words(ctx context.Context, m plan.Match) (planned bool, err error) {
	c, err := x.preparer.Words(ctx, x.view, m, &x.settings.Settings)
	if c == nil || err != nil {
		return false, err
	}
	return true, x.keep(ctx, c)
}

// Rewriter returns a rewriter that turns the search's query into the clause for Plan.
func (x *Run) Rewriter() *plan.Rewriter { return x.preparer.Rewriter(x.view, &x.settings.Settings) }

// Plan plans the search of a clause.
func (x *Run) Plan(ctx context.Context, c plan.Clause) error {
	compiled, err := x.preparer.Plan(ctx, x.view, c, &x.settings.Settings)
	if err != nil {
		return err
	}
	return x.keep(ctx, compiled)
}

// keep keeps the plan. With From it settles the plan first, because AND or OR must be decided for
// the page alone, without the hits before it.
func (x *Run) keep(ctx context.Context, c *plan.Compiled) error {
	x.compiled = c
	if x.settings.From > 0 {
		return x.settle(ctx)
	}
	return nil
}

// settle decides an AND+OR plan: whether it requires all words, or, if fewer than K documents have
// them, some.
func (x *Run) settle(ctx context.Context) error {
	p := &x.compiled.Plan
	mode, other := p.Mode, p.Else
	if other == nil && (p.Tree != nil || mode != blockmax.AndOr) {
		return nil
	}
	p.Mode, p.Else = blockmax.And, nil
	n, err := x.count(ctx)
	if err != nil {
		return err
	}
	if n < x.settings.page() {
		p.Mode = blockmax.Or
		if other != nil {
			p.Tree = other
		}
	}
	return nil
}

// Explain derives the score of a document of the view.
func (x *Run) Explain(ctx context.Context, doc uint32) (*plan.Explanation, error) {
	p := &x.compiled.Plan
	either := p.Else != nil || p.Tree == nil && p.Mode == blockmax.AndOr
	if err := x.settle(ctx); err != nil {
		return nil, err
	}
	part := x.view.PartOf(doc)
	e, err := x.compiled.Explain(ctx, part, doc-x.view.Segment(part).Base())
	if err != nil {
		return nil, x.view.Segment(part).At(err)
	}
	if either && p.Mode == blockmax.And && !e.Matches {
		e.Text += fmt.Sprintf(" (AND+OR: at least K = %d documents match all words, so those with some are no hits)", x.settings.page())
	}
	return e, nil
}

// Statistics returns the statistics behind the weights of the query's terms, by name.
func (x *Run) Statistics() *plan.Statistics { return x.compiled.Statistics(x.view) }

// Fingerprint returns a hash of what turns frequencies into scores: see plan.Compiled.
func (x *Run) Fingerprint() uint64 { return x.compiled.Fingerprint() }
