package riffle

import (
	"context"
	"fmt"

	"github.com/riffle-search/riffle/internal/plan"
)

// An Explanation derives the score of one document, term by term. The value of
// the root is exactly the score that Search returns.
//
//	type Explanation struct {
//		Matches bool    // the document matches (this part of) the query
//		Score   float64 // what it adds; at the root, the hit's score
//		Text    string  // how that comes about
//		Parts   []*Explanation
//	}
//
// Its String prints the tree, one part a line, indented.
type Explanation = plan.Explanation

// Explain derives the score that a search for q with these options gives a
// document, whether or not it is among the best, or on the page that the options
// ask for. A Match with ModeAndOr is explained as the AND or the OR that it is for K.
// ErrNotFound means that no document has the id.
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
	set, err := v.e.settings(o)
	if err != nil {
		return nil, err
	}
	segment, doc, err := v.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	set.From = 0
	p := v.e.borrow()
	defer v.giveBack(p)
	c, err := p.prepare(ctx, v, q, &set)
	if err != nil {
		return nil, err
	}
	either := c.Plan.Else != nil || c.Plan.Tree == nil && c.Plan.Mode == ModeAndOr
	if err := v.settle(ctx, &c.Plan, &set); err != nil {
		return nil, err
	}
	x, err := c.Explain(ctx, segment, doc)
	if err != nil {
		return nil, v.Segment(segment).At(err)
	}
	if either && c.Plan.Mode == ModeAnd && !x.Matches {
		x.Text += fmt.Sprintf(" (AND+OR: at least K = %d documents match all words, so those with some are no hits)", set.K)
	}
	return x, nil
}
