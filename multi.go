package riffle

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/internal/live"
)

// A Multi searches several engines as one. It answers as one index would that has all documents:
// those of the first engine, then those of the second, and so on. Statistics are summed, terms are
// sought in all dictionaries together, ModeAndOr decides by all documents, and what a search has
// found in one engine lets it skip in the others. So hits, scores, order, totals, explanations and
// cursors are those of that index, to the last bit. Deleted documents count in the statistics until
// a merge drops them, as in any index.
//
// An id is unique in an engine, not in a Multi. Documents of several engines with the same id are
// different documents, and each is a hit: Hit.Engine tells them apart.
//
// A search takes about as long as on one engine with the segments of all. It runs on the CPU. The
// options of the first engine count, such as Exec, SearchWorkers, MaxTerms and Listener.
//
// The engines have at most MaxDocs documents together; with more, its methods fail.
//
// Methods are safe for concurrent use. A Multi needs no Close. When one of its engines is closed,
// its methods return ErrClosed.
type Multi struct {
	members []Member
	names   []string
}

// A Member is an engine of a Multi.
type Member struct {
	Name   string // names the engine in hits, cursors and errors
	Engine *Engine
}

// NewMulti returns a Multi of engines. Their order decides where hits with equal scores come.
//
// It is an error if two of them are the same, or have the same name, or would answer a query
// differently: if Options.Similarity or Options.Rank differ, analyzers, or how fields are declared,
// except for what is stored. Analyzers that were registered under the same name must be the same.
func NewMulti(members ...Member) (*Multi, error) {
	if len(members) == 0 {
		return nil, errors.New("riffle: a Multi needs an engine")
	}
	m := &Multi{members: slices.Clone(members)}
	for i, a := range members {
		if a.Name == "" || a.Engine == nil {
			return nil, fmt.Errorf("riffle: Member %d of a Multi lacks a name or an engine", i)
		}
		for _, b := range members[:i] {
			if a.Name == b.Name {
				return nil, fmt.Errorf("riffle: two engines of a Multi are named %q", a.Name)
			}
			if a.Engine == b.Engine {
				return nil, fmt.Errorf("riffle: %q and %q are the same engine", b.Name, a.Name)
			}
		}
		if err := alike(members[0].Engine, a.Engine); err != nil {
			return nil, fmt.Errorf("riffle: engines %q and %q cannot be searched as one: %w", members[0].Name, a.Name, err)
		}
		m.names = append(m.names, a.Name)
	}
	return m, nil
}

// alike reports why two engines may answer the same query differently.
func alike(a, b *Engine) error {
	if x, y := *a.opts.Similarity, *b.opts.Similarity; x != y {
		return fmt.Errorf("their Options.Similarity are %+v and %+v", x, y)
	}
	if x, y := a.opts.Rank, b.opts.Rank; x != y {
		return fmt.Errorf("their Options.Rank are %+v and %+v", x, y)
	}
	return a.index.Schema().SearchedAlike(b.index.Schema())
}

// A MultiSnapshot is the indexes of a Multi, each at one moment: that of the call of Multi.Snapshot
// which took it. Its methods are safe for concurrent use, and are those of the Multi.
type MultiSnapshot struct {
	m         *Multi
	snapshots []*Snapshot
}

// Snapshot returns the current indexes. The caller closes it. See Engine.Snapshot for what it costs.
func (m *Multi) Snapshot() (*MultiSnapshot, error) {
	s := &MultiSnapshot{m: m}
	for i, member := range m.members {
		snapshot, err := member.Engine.Snapshot()
		if err != nil {
			s.Close()
			return nil, m.named(i, err)
		}
		s.snapshots = append(s.snapshots, snapshot)
	}
	return s, nil
}

// Close releases the snapshots. Running calls complete as usual. Closing twice does nothing.
func (s *MultiSnapshot) Close() {
	for _, snapshot := range s.snapshots {
		snapshot.Close()
	}
}

// A multiView is the current indexes of a Multi, or those of a MultiSnapshot.
type multiView struct {
	scope
	all   *live.Multi
	views []view
}

func (m *Multi) acquire() (*multiView, error) {
	return m.view(func(i int) (view, error) { return m.members[i].Engine.acquire() })
}

func (s *MultiSnapshot) hold() (*multiView, error) {
	return s.m.view(func(i int) (view, error) { return s.snapshots[i].hold() })
}

// view begins a call on a view of each engine.
func (m *Multi) view(acquire func(i int) (view, error)) (_ *multiView, err error) {
	v := &multiView{views: make([]view, 0, len(m.members))}
	defer func() {
		if err != nil {
			v.release()
		}
	}()
	own := make([]*live.View, 0, len(m.members))
	for i := range m.members {
		one, err := acquire(i)
		if err != nil {
			return nil, m.named(i, err)
		}
		v.views, own = append(v.views, one), append(own, one.View)
	}
	if v.all, err = live.MultiOf(own, m.names); err != nil {
		return nil, fmt.Errorf("riffle: %w", err)
	}
	v.scope = scope{View: v.all, e: m.members[0].Engine, m: m}
	return v, nil
}

func (v *multiView) release() {
	for _, one := range v.views {
		one.Release()
	}
}

// named adds the name of an engine to its error.
func (m *Multi) named(i int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("engine %q: %w", m.names[i], err)
}

// untilClose returns a context that ends when one of the engines is closed.
func (m *Multi) untilClose(ctx context.Context) (context.Context, context.CancelFunc) {
	cancels := make([]context.CancelFunc, len(m.members))
	for i, member := range m.members {
		ctx, cancels[i] = member.Engine.index.UntilClose(ctx)
	}
	return ctx, func() {
		for _, cancel := range cancels {
			cancel()
		}
	}
}

// orClosed returns the error of a call that a Close may have interrupted.
func (m *Multi) orClosed(err error) error {
	for i, member := range m.members {
		if member.Engine.index.OrClosed(err) == ErrClosed {
			return m.named(i, ErrClosed)
		}
	}
	return err
}

// A multiPlace is where a document is.
type multiPlace struct {
	engine  int
	segment int    // of the engine's view
	doc     uint32 // its number in the segment
}

// find finds the document of an id in the engines, of which only one may have it.
func (v *multiView) find(ctx context.Context, id string) (p multiPlace, err error) {
	var having []string
	for i := range v.views {
		at, err := v.findAt(ctx, i, id)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return p, err
		}
		p, having = at, append(having, fmt.Sprintf("%q", v.m.names[i]))
	}
	switch len(having) {
	case 0:
		return p, ErrNotFound
	case 1:
		return p, nil
	}
	return p, fmt.Errorf("%w: %q is in %s", ErrAmbiguous, id, strings.Join(having, ", "))
}

// findIn finds the document of an id in one engine.
func (v *multiView) findIn(ctx context.Context, engine, id string) (multiPlace, error) {
	i := slices.Index(v.m.names, engine)
	if i < 0 {
		return multiPlace{}, fmt.Errorf("riffle: the Multi has no engine %q; it has %q", engine, v.m.names)
	}
	return v.findAt(ctx, i, id)
}

func (v *multiView) findAt(ctx context.Context, i int, id string) (multiPlace, error) {
	segment, doc, err := v.views[i].Find(ctx, id)
	return multiPlace{i, segment, doc}, v.m.named(i, err)
}

// get returns the stored fields of the document that find finds.
func (v *multiView) get(find func() (multiPlace, error)) (map[string]any, error) {
	at, err := find()
	if err != nil {
		return nil, err
	}
	fields, err := v.views[at.engine].SegmentAt(at.segment).Fields(at.doc, []string{"*"})
	return fields, v.m.named(at.engine, err)
}

// explain derives the score of the document that find finds.
func (v *multiView) explain(ctx context.Context, q Query, o *SearchOptions, find func() (multiPlace, error)) (*Explanation, error) {
	set, err := v.settings(o)
	if err != nil {
		return nil, err
	}
	at, err := find()
	if err != nil {
		return nil, err
	}
	own, base := v.all.ViewAt(at.engine)
	return v.explainDoc(ctx, q, base+own.SegmentAt(at.segment).Base()+at.doc, &set)
}

// docs returns the number of documents.
func (v *multiView) docs() (n int) {
	for _, one := range v.views {
		n += int(one.Docs())
	}
	return n
}

var _, _ Searcher = (*Multi)(nil), (*MultiSnapshot)(nil)

// Search ranks the documents of all engines that match a query. Result.Executor and Work are those
// of one search.
func (m *Multi) Search(ctx context.Context, q Query, o *SearchOptions) (*Result, error) {
	v, err := m.acquire()
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.searchTimed(ctx, q, o)
}

// Search ranks the documents of the snapshot that match a query; see Multi.Search.
func (s *MultiSnapshot) Search(ctx context.Context, q Query, o *SearchOptions) (*Result, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.searchTimed(ctx, q, o)
}

// SearchBatch answers many queries; see Engine.SearchBatch.
func (m *Multi) SearchBatch(ctx context.Context, queries []Query, o *SearchOptions) ([]*Result, error) {
	v, err := m.acquire()
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.searchBatch(ctx, queries, o)
}

// SearchBatch answers many queries from the snapshot; see Engine.SearchBatch.
func (s *MultiSnapshot) SearchBatch(ctx context.Context, queries []Query, o *SearchOptions) ([]*Result, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.searchBatch(ctx, queries, o)
}

// Count returns exactly how many documents of all engines match a query.
func (m *Multi) Count(ctx context.Context, q Query) (int, error) {
	v, err := m.acquire()
	if err != nil {
		return 0, err
	}
	defer v.release()
	return v.count(ctx, q)
}

// Count returns exactly how many documents of the snapshot match a query.
func (s *MultiSnapshot) Count(ctx context.Context, q Query) (int, error) {
	v, err := s.hold()
	if err != nil {
		return 0, err
	}
	defer v.release()
	return v.count(ctx, q)
}

// Statistics returns the statistics of a query in all engines together;
// see Engine.Statistics.
func (m *Multi) Statistics(ctx context.Context, q Query, o *SearchOptions) (*Statistics, error) {
	v, err := m.acquire()
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.statistics(ctx, q, o)
}

// Statistics returns the statistics of a query; see Multi.Statistics.
func (s *MultiSnapshot) Statistics(ctx context.Context, q Query, o *SearchOptions) (*Statistics, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.statistics(ctx, q, o)
}

// Explain derives the score of the document with an id; see Engine.Explain. The error matches
// ErrAmbiguous if several engines have such a document: ExplainIn explains one of them.
func (m *Multi) Explain(ctx context.Context, q Query, id string, o *SearchOptions) (*Explanation, error) {
	v, err := m.acquire()
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.explain(ctx, q, o, func() (multiPlace, error) { return v.find(ctx, id) })
}

// Explain derives the score of a document of the snapshot; see Multi.Explain.
func (s *MultiSnapshot) Explain(ctx context.Context, q Query, id string, o *SearchOptions) (*Explanation, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.explain(ctx, q, o, func() (multiPlace, error) { return v.find(ctx, id) })
}

// ExplainIn derives the score that a search of all engines gives a document of one of them, such as
// that of a hit: ExplainIn(ctx, q, hit.Engine, hit.ID, o).
func (m *Multi) ExplainIn(ctx context.Context, q Query, engine, id string, o *SearchOptions) (*Explanation, error) {
	v, err := m.acquire()
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.explain(ctx, q, o, func() (multiPlace, error) { return v.findIn(ctx, engine, id) })
}

// ExplainIn derives the score of a document of one of the engines; see Multi.ExplainIn.
func (s *MultiSnapshot) ExplainIn(ctx context.Context, q Query, engine, id string, o *SearchOptions) (*Explanation, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.explain(ctx, q, o, func() (multiPlace, error) { return v.findIn(ctx, engine, id) })
}

// Get returns the stored fields of the document with an id; see Hit.Fields for their types. The
// error matches ErrNotFound if no engine has one, and ErrAmbiguous if several have: GetIn returns one
// of them.
func (m *Multi) Get(ctx context.Context, id string) (map[string]any, error) {
	v, err := m.acquire()
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.get(func() (multiPlace, error) { return v.find(ctx, id) })
}

// Get returns the stored fields of a document of the snapshot; see Multi.Get.
func (s *MultiSnapshot) Get(ctx context.Context, id string) (map[string]any, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.get(func() (multiPlace, error) { return v.find(ctx, id) })
}

// GetIn returns the stored fields of a document of one of the engines, such as that of a hit:
// GetIn(ctx, hit.Engine, hit.ID).
func (m *Multi) GetIn(ctx context.Context, engine, id string) (map[string]any, error) {
	v, err := m.acquire()
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.get(func() (multiPlace, error) { return v.findIn(ctx, engine, id) })
}

// GetIn returns the stored fields of a document of one of the engines; see Multi.GetIn.
func (s *MultiSnapshot) GetIn(ctx context.Context, engine, id string) (map[string]any, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.get(func() (multiPlace, error) { return v.findIn(ctx, engine, id) })
}

// Len returns the number of documents of all engines.
func (m *Multi) Len() (int, error) {
	v, err := m.acquire()
	if err != nil {
		return 0, err
	}
	defer v.release()
	return v.docs(), nil
}

// Len returns the number of documents.
func (s *MultiSnapshot) Len() (int, error) {
	v, err := s.hold()
	if err != nil {
		return 0, err
	}
	defer v.release()
	return v.docs(), nil
}

// Highlighter returns a highlighter of the documents that match a query; see Engine.Highlighter.
func (m *Multi) Highlighter(ctx context.Context, q Query, o *HighlightOptions) (*Highlighter, error) {
	v, err := m.acquire()
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.highlighter(ctx, q, o)
}

// Highlighter returns a highlighter at the moment of the snapshot; see Engine.Highlighter.
func (s *MultiSnapshot) Highlighter(ctx context.Context, q Query, o *HighlightOptions) (*Highlighter, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.highlighter(ctx, q, o)
}

// Suggest completes and corrects a word by the terms of all engines, whose documents are added up;
// see Engine.Suggest.
func (m *Multi) Suggest(ctx context.Context, field, word string, o *SuggestOptions) ([]Suggestion, error) {
	v, err := m.acquire()
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.suggest(ctx, field, word, o)
}

// Suggest completes and corrects a word at the moment of the snapshot; see Multi.Suggest.
func (s *MultiSnapshot) Suggest(ctx context.Context, field, word string, o *SuggestOptions) ([]Suggestion, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.suggest(ctx, field, word, o)
}

// Terms iterates over the terms of a field in all engines, whose documents are added up; see
// Engine.Terms.
func (m *Multi) Terms(ctx context.Context, field, prefix string) iter.Seq2[TermCount, error] {
	return eachTerm(ctx, m.acquire, field, prefix)
}

// Terms iterates over the terms of a field at the moment of the snapshot; see Multi.Terms.
func (s *MultiSnapshot) Terms(ctx context.Context, field, prefix string) iter.Seq2[TermCount, error] {
	return eachTerm(ctx, s.hold, field, prefix)
}

func eachTerm(ctx context.Context, acquire func() (*multiView, error), field, prefix string) iter.Seq2[TermCount, error] {
	return func(yield func(TermCount, error) bool) {
		v, err := acquire()
		if err == nil {
			defer v.release()
			err = v.terms(ctx, field, prefix, yield)
		}
		if err != nil {
			yield(TermCount{}, err)
		}
	}
}
