package riffle

import (
	"context"

	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/internal/search"
)

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
