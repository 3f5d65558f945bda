package cpuexec

import (
	"context"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// SetExactPostings changes exactPostings and returns the old value.
func SetExactPostings(n int) (old int) {
	old, exactPostings = exactPostings, n
	return old
}

// SetNarrowExtents changes narrowExtents and returns the old value.
func SetNarrowExtents(n int) (old int) {
	old, narrowExtents = narrowExtents, n
	return old
}

// Occupy makes a pool count n more goroutines at work.
func (p *Pool) Occupy(n int) { p.running.Add(int32(n)) }

// SetFewCandidates changes fewCandidates and returns the old value.
func SetFewCandidates(n int) (old int) {
	old, fewCandidates = fewCandidates, n
	return old
}

// MakeBitmaps makes the bitmaps of some lists of a plan.
func MakeBitmaps(p *blockmax.Plan, wanted func(*postings.List) bool) error {
	return eachList(p, func(_ *run, c *tileCursor) error {
		if c.list.Bitmap() != nil || !wanted(c.list) {
			return nil
		}
		return c.makeBitmap()
	})
}

// MakeExcerpts makes the excerpts of all lists of a plan that have keys.
func MakeExcerpts(p *blockmax.Plan) error {
	return eachList(p, func(r *run, c *tileCursor) error {
		s, t := r.at.seg.Subset, &r.at.seg.Terms[c.term]
		if s == nil || t.Key == 0 {
			return nil
		}
		s.Spend(t, 1, 1)
		return s.Make(t, func(m *blockmax.ExcerptMaker) (bool, error) { return c.excerpt(s.Docs, nil, m, 1<<30) })
	})
}

// eachList calls fn for the lists of each segment of a plan, in a run that is at the segment.
func eachList(p *blockmax.Plan, fn func(r *run, c *tileCursor) error) error {
	if err := p.Check(); err != nil {
		return err
	}
	r := newRun(context.Background(), p)
	defer r.release()
	for i := range p.Segments {
		if err := r.enter(i); err != nil {
			return err
		}
		lists, err := r.tiled.openAll(r)
		if err != nil {
			return err
		}
		for _, c := range lists {
			if err := fn(r, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// SetLeads changes orLead and andLead, and returns the old values.
func SetLeads(or, and int) (oldOr, oldAnd int) {
	oldOr, oldAnd = orLead, andLead
	orLead, andLead = or, and
	return oldOr, oldAnd
}

// SetAcceptedShare changes acceptedShare and returns the old value.
func SetAcceptedShare(n int) (old int) {
	old, acceptedShare = acceptedShare, n
	return old
}

// SetFirstWords changes firstWords and returns the old value.
func SetFirstWords(n int) (old int) {
	old, firstWords = firstWords, n
	return old
}

// SetSparseShare changes sparseShare and returns the old value.
func SetSparseShare(n int) (old int) {
	old, sparseShare = sparseShare, n
	return old
}
