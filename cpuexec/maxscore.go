package cpuexec

import (
	"cmp"
	"slices"
)

// maxScore answers OR by MaxScore, document at a time (Turtle and Flood, Query
// Evaluation: Strategies and Optimizations, 1995).
//
// The lists are in ascending order of their bounds. The longest run of the weakest that together
// cannot reach need is not essential: a document that only they hold cannot enter. So documents
// come from the essential lists alone. They are looked up in the other lists, strongest first,
// until the document cannot enter any more.
func (r *run) maxScore() error {
	cs, err := r.docs.start(r)
	if err != nil {
		return err
	}
	slices.SortFunc(cs, func(a, b *docCursor) int {
		return cmp.Or(cmp.Compare(a.max, b.max), cmp.Compare(a.term, b.term))
	})
	sums := append(r.docs.sums[:0], 0) // sums[i] is what cs[:i] can contribute together
	for i, c := range cs {
		sums = append(sums, sums[i]+c.max)
	}
	r.docs.sums = sums
	essential := 0
	for step := 0; ; step++ {
		doc := lowestOf(cs[essential:])
		if doc >= r.at.to || r.tailDone(doc) {
			return nil
		}
		if err := r.query.interrupted(step); err != nil {
			return err
		}
		if err := r.maxScoreDocument(cs, essential, doc); err != nil {
			return err
		}
		need := r.at.underAny(r.out.need(doc + 1))
		for essential < len(cs) && sums[essential+1] < need {
			essential++
		}
	}
}

func lowestOf(cs []*docCursor) uint32 {
	doc := end
	for _, c := range cs {
		doc = min(doc, c.doc)
	}
	return doc
}

// maxScoreDocument scores doc by the essential lists, then by the others while it can still enter,
// and moves the essential cursors on.
func (r *run) maxScoreDocument(cs []*docCursor, essential int, doc uint32) error {
	score := uint32(0)
	for _, c := range cs[essential:] {
		if c.doc != doc {
			continue
		}
		part, err := c.scoreHere()
		if err != nil {
			return err
		}
		score += part
		if err := c.next(); err != nil {
			return err
		}
	}
	r.out.work.DocsScored++
	if !r.at.accepts(doc) {
		return nil
	}
	r.out.total++
	need := r.at.underOne(r.out.need(doc), doc)
	for i := essential - 1; i >= 0; i-- {
		if score+r.docs.sums[i+1] < need {
			return nil
		}
		c := cs[i]
		if err := c.seekGE(doc); err != nil {
			return err
		}
		if c.doc != doc {
			continue
		}
		part, err := c.scoreHere()
		if err != nil {
			return err
		}
		score += part
	}
	r.offer(doc, score)
	return nil
}
