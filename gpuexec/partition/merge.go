package partition

import (
	"cmp"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
)

// openAll makes an answer empty, with all documents open.
func openAll(a *blockmax.Partial, p *Plan) {
	*a = blockmax.Partial{Pass: blockmax.And, Top: blockmax.TopK{Exact: true}}
	for s := range p.Segments {
		if docs := p.Segments[s].Docs; docs > 0 {
			a.Open = append(a.Open, blockmax.Span{Segment: s, To: docs})
		}
	}
}

// merge merges the answers to plan n, which was number j in question.
func (b *batch) merge(n, j int, asks []inquiry) {
	p, a := b.plans[n], &b.answers[n]
	work := a.Top.Work // of the first turn
	*a = blockmax.Partial{Pass: blockmax.And, Top: blockmax.TopK{Exact: true, Work: work}}
	if b.again {
		a.Pass = blockmax.Or
	}
	var lists [][]blockmax.Hit
	for i := range asks {
		ask := &asks[i]
		switch {
		case ask.err != nil || ask.of[j] == damaged:
			b.openRanges(a, n, i)
			continue
		case ask.of[j] == nothing:
			continue
		}
		part := &ask.partials[ask.of[j]]
		a.Top.Total += part.Top.Total
		a.Top.Exact = a.Top.Exact && part.Top.Exact
		a.Top.Work.Add(part.Top.Work)
		if len(part.Top.Hits) > 0 {
			lists = append(lists, part.Top.Hits)
		}
		b.addOpen(a, n, i, ask.segments[ask.starts[j]:], part.Open)
	}
	a.Top.Hits = best(lists, p.K)
	b.settle(a, p)
}

// openRanges opens all ranges of device i.
func (b *batch) openRanges(a *blockmax.Partial, n, i int) {
	for s := range b.plans[n].Segments {
		if from, to := b.cuts[b.at[n].segment+s].of(i); from < to {
			a.Open = append(a.Open, blockmax.Span{Segment: s, From: from, To: to})
		}
	}
}

// addOpen adds what device i has left open.
func (b *batch) addOpen(a *blockmax.Partial, n, i int, segments []int, open []blockmax.Span) {
	for _, s := range open {
		segment := segments[s.Segment]
		r := b.set.stretch(b.cuts[b.at[n].segment+segment], i)
		a.Open = append(a.Open, blockmax.Span{Segment: segment, From: s.From + r.start, To: s.To + r.start})
	}
}

// settle makes the open spans begin and end at tiles, as Partial wants. Hits in documents that this
// opens are dropped and found again. The total is then inexact: a count begins anew on the CPU, and so
// does a plan whose second turn depends on it.
func (b *batch) settle(a *blockmax.Partial, p *Plan) {
	if len(a.Open) == 0 {
		return
	}
	widened := false
	for i := range a.Open {
		s := &a.Open[i]
		docs := p.Segments[s.Segment].Docs
		from, to := s.From&^(blockmax.TileDocs-1), min(docs, (s.To+blockmax.TileDocs-1)&^(blockmax.TileDocs-1))
		widened = widened || from != s.From || to != s.To
		s.From, s.To = from, to
	}
	if widened && (p.CountAll || settles(p) && !b.again) {
		pass, work := a.Pass, a.Top.Work
		openAll(a, p)
		a.Pass, a.Top.Work = pass, work
		return
	}
	a.Open = joined(a.Open)
	if widened {
		a.Top.Hits = slices.DeleteFunc(a.Top.Hits, func(h blockmax.Hit) bool { return isOpen(a, p, h.Doc) })
		a.Top.Total, a.Top.Exact = len(a.Top.Hits), false
	}
}

// joined sorts spans and joins those that meet.
func joined(spans []blockmax.Span) (open []blockmax.Span) {
	slices.SortFunc(spans, func(x, y blockmax.Span) int {
		return cmp.Or(cmp.Compare(x.Segment, y.Segment), cmp.Compare(x.From, y.From))
	})
	for _, s := range spans {
		if n := len(open); n > 0 && open[n-1].Segment == s.Segment && open[n-1].To >= s.From {
			open[n-1].To = max(open[n-1].To, s.To)
		} else {
			open = append(open, s)
		}
	}
	return open
}

// isOpen reports whether a document, by its global number, is among the open ones.
func isOpen(a *blockmax.Partial, p *Plan, doc uint32) bool {
	for _, s := range a.Open {
		base := p.Segments[s.Segment].Base
		if doc >= base+s.From && doc < base+s.To {
			return true
		}
	}
	return false
}

// settles reports whether what a plan finds at first decides whether it begins anew: as OR, or with
// Else instead of its tree.
func settles(p *Plan) bool { return p.Else != nil || p.Tree == nil && p.Mode == blockmax.AndOr }

// second returns the plans of mode AndOr, and the trees with Else, that have found too few documents.
func (b *batch) second() (some []int) {
	b.again = true
	for _, n := range b.first {
		p, a := b.plans[n], &b.answers[n]
		if settles(p) && len(a.Open) == 0 && a.Top.Total < p.K {
			some = append(some, n)
		}
	}
	return some
}

// best merges lists of hits and returns the k best. It may return one of the lists.
func best(lists [][]blockmax.Hit, k int) []blockmax.Hit {
	all := 0
	for _, l := range lists {
		all += len(l)
	}
	switch len(lists) {
	case 0:
		return []blockmax.Hit{}
	case 1:
		return lists[0]
	}
	hits := make([]blockmax.Hit, min(all, k))
	for i := range hits {
		first := -1
		for j, l := range lists {
			if len(l) > 0 && (first < 0 || precedes(l[0], lists[first][0])) {
				first = j
			}
		}
		hits[i], lists[first] = lists[first][0], lists[first][1:]
	}
	return hits
}

// precedes reports whether a hit comes before another one: ties go to the lower document.
func precedes(h, other blockmax.Hit) bool {
	return h.Score > other.Score || h.Score == other.Score && h.Doc < other.Doc
}
