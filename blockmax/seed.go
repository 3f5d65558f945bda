package blockmax

// Seed is a score that K documents of an OR reach at the least, if as much is known before
// any has been seen: when K postings of one list have some impact, K documents score what
// that contributes. It is 0 when not all documents may be returned.
func (p *Plan) Seed() (need uint32) {
	if !p.seeds() {
		return 0
	}
	for t := range p.Weights {
		need = max(need, p.seedOf(t))
	}
	return need
}

// SeedOf is Seed for a tree: documents of a list match it and score what that contributes, if there
// are nothing but alternatives between its leaf and the root.
func (p *Plan) SeedOf(n *Node) (need uint32) {
	switch {
	case !p.seeds() || n.Constant || n.All:
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

// seeds reports whether all documents may be returned.
func (p *Plan) seeds() bool {
	for i := range p.Segments {
		if p.Segments[i].Accept != nil {
			return false
		}
	}
	return p.After == nil
}

// seedOf is what K documents of a term reach in a segment.
func (p *Plan) seedOf(t int) (need uint32) {
	for i := range p.Segments {
		if b := p.Segments[i].Terms[t].Bounds; b != nil {
			need = max(need, Contribution(p.Weights[t], b.Reached(p.K)))
		}
	}
	return need
}
