package blockmax

// Seed is a score that K documents of an OR reach at the least, if as much is known before
// any has been seen: when K postings of one list have some impact, K documents score what
// that contributes. It is 0 when not all documents may be returned.
func (p *Plan) Seed() (need uint32) {
	if p.After != nil {
		return 0
	}
	for i := range p.Segments {
		if p.Segments[i].Accept != nil {
			return 0
		}
	}
	for i := range p.Segments {
		for t := range p.Segments[i].Terms {
			if b := p.Segments[i].Terms[t].Bounds; b != nil {
				need = max(need, Contribution(p.Weights[t], b.Reached(p.K)))
			}
		}
	}
	return need
}
