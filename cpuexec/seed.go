package cpuexec

import "github.com/riffle-search/riffle/blockmax"

// seedNeed is a score that K documents reach at the least, if as much is known before
// any has been seen: when K postings of one list have some impact, K documents score what
// that contributes. This holds for OR, and only where all documents may be returned.
func seedNeed(p *Plan) (need uint32) {
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
				need = max(need, blockmax.Contribution(p.Weights[t], b.Reached(p.K)))
			}
		}
	}
	return need
}
