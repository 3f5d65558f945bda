package blockmax

// Seed is a score that at least K documents of an OR reach, as far as that is known in advance. If
// K postings of one list, in all segments together, have some impact, K documents score its
// contribution. If not all documents may be returned, the postings must be known one by one
// (Ranges.Peaks), and only those of accepted documents count.
func (p *Plan) Seed() (need uint32) {
	if p.After != nil {
		return p.Least
	}
	need = p.Least
	if p.Outer != nil && !p.Outer.Keeps() {
		return need
	}
	for t := range p.Weights {
		need = max(need, p.seedOf(t))
	}
	return need
}

// SeedOf is Seed for a tree. Documents of a list match the tree and score the list's contribution
// if there are only alternatives between its leaf and the root.
func (p *Plan) SeedOf(n *Node) (need uint32) {
	switch {
	case p.Outer != nil && !p.Outer.Keeps() || n.Function != nil && !n.Function.Keeps():
		return 0
	case p.After != nil || n.Constant || n.All || n.Set || n.Proximity != nil || n.Combined != nil:
		return 0
	case n.Leaf:
		return p.seedOf(n.Term)
	case len(n.Must)+len(n.Filter)+len(n.Not) > 0 || n.MinShould > 1:
		return 0
	}
	for i := range n.Should {
		need = max(need, p.SeedOf(&n.Should[i]))
	}
	return need
}

// seedOf is a score that K documents of a term reach.
func (p *Plan) seedOf(t int) uint32 { return Contribution(p.Weights[t], p.reached(t)) }

// reached returns an impact that at least K postings of a term reach, counting only documents that
// may be returned.
func (p *Plan) reached(term int) (impact uint16) {
	for i := range p.Segments {
		if s := &p.Segments[i]; s.Accept == nil && s.Terms[term].Bounds != nil {
			impact = max(impact, s.Terms[term].Bounds.Reached(p.K))
			if len(p.Segments) == 1 {
				return impact
			}
		}
	}
	if p.K <= mostMerged {
		impact = max(impact, p.reachedTogether(term))
	}
	return impact
}

// The best postings of several segments are merged for a K of at most mostMerged, because each
// takes a step, and for a limited number of segments, because each step looks at all of them.
const (
	mostMerged   = 100
	mostSegments = 32
)

// reachedTogether merges the known best postings of a term in all segments until there are K.
func (p *Plan) reachedTogether(term int) (impact uint16) {
	var all [mostSegments]bestOf
	segs := all[:0]
	for i := range p.Segments[:min(len(p.Segments), mostSegments)] {
		s := &p.Segments[i]
		if b := s.Terms[term].Bounds; b != nil {
			of := bestOf{bounds: b, accept: s.Accept}
			if r := b.Refined(); r != nil {
				of.peaks = r.Peaks
			}
			if of.next(); of.impact > 0 {
				segs = append(segs, of)
			}
		}
	}
	for range p.K {
		best := -1
		for i := range segs {
			if best < 0 || segs[i].impact > segs[best].impact {
				best = i
			}
		}
		if best < 0 || segs[best].impact == 0 {
			return 0
		}
		impact = segs[best].impact
		segs[best].next()
	}
	return impact
}

// A bestOf iterates over the known best postings of a list in one segment.
type bestOf struct {
	bounds *Bounds
	accept []uint64
	peaks  []Peak
	seen   int
	impact uint16 // which at least one more posting reaches; 0 when no more are known
}

func (b *bestOf) next() {
	b.impact = 0
	if b.accept == nil {
		b.seen++
		b.impact = b.bounds.Reached(b.seen)
		return
	}
	for b.seen < len(b.peaks) {
		peak := b.peaks[b.seen]
		b.seen++
		if b.accept[peak.Doc/64]>>(peak.Doc%64)&1 == 1 {
			b.impact = peak.Impact
			return
		}
	}
}
