package riffle

import (
	"context"
	"iter"
)

// A TermCount is a term of a field, as the field's analyzer has left it, and the number of documents
// that have it. Deleted documents count until a merge drops them.
type TermCount struct {
	Term      string
	Documents uint64
}

// Terms iterates over the terms of a field that begin with a prefix, in the order of their bytes. The
// prefix is normalized as that of Prefix is. Numbers, dates and booleans are left out.
//
// An error, such as that of a field which the index does not have, ends the iteration.
func (e *Engine) Terms(ctx context.Context, field, prefix string) iter.Seq2[TermCount, error] {
	return func(yield func(TermCount, error) bool) {
		v, err := e.acquire()
		if err == nil {
			defer v.Release()
			err = v.terms(ctx, field, prefix, yield)
		}
		if err != nil {
			yield(TermCount{}, err)
		}
	}
}

// Terms is Engine.Terms at the moment of the snapshot.
func (s *Snapshot) Terms(ctx context.Context, field, prefix string) iter.Seq2[TermCount, error] {
	return func(yield func(TermCount, error) bool) {
		v, err := s.hold()
		if err == nil {
			defer v.Release()
			err = v.terms(ctx, field, prefix, yield)
		}
		if err != nil {
			yield(TermCount{}, err)
		}
	}
}

func (v scope) terms(ctx context.Context, field, prefix string, yield func(TermCount, error) bool) error {
	set, err := v.settings(nil)
	if err != nil {
		return err
	}
	p := v.e.newPreparer()
	defer p.Forget(v.View)
	return p.Rewriter(v.View, &set.Settings).EachTerm(ctx, field, prefix, func(term string, docs uint64) bool {
		return yield(TermCount{term, docs}, nil)
	})
}

// CountTerms calls visit with the terms of a field that begin with a prefix, and with two numbers of
// documents of the snapshot that have the term: those that match a query, and all, deleted ones included.
// It is a facet of the words of a text. The prefix is normalized as that of Prefix is. Numbers, dates and
// booleans are left out: see TermsAggregation.
//
// It reads the lists of all these terms. The terms come in no particular order, and one may come several
// times: then its numbers add up. A term is valid during the visit. An error of visit ends it.
func (s *Snapshot) CountTerms(ctx context.Context, q Query, field, prefix string, visit func(term []byte, matching, all int) error) error {
	v, err := s.hold()
	if err != nil {
		return err
	}
	defer v.Release()
	set, err := v.settings(nil)
	if err != nil {
		return err
	}
	set.Alpha = 0
	x, err := v.plan(ctx, q, &set)
	if err != nil {
		return err
	}
	defer x.End()
	return x.CountTerms(ctx, field, prefix, visit)
}
