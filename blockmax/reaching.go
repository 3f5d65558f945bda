package blockmax

import "github.com/riffle-search/riffle/postings"

// Reaching estimates the share of a list's blocks that can contribute at least an amount under a
// weight, from at most so many of them, spread evenly. Where a block's bound has not been read yet,
// that of its extent stands for it.
func (b *Bounds) Reaching(weight, contribution uint32, most int) float64 {
	if contribution == 0 {
		return 1
	}
	blocks := len(b.Block)
	n, reach := min(blocks, most), 0
	for i := range n {
		at := (2*i + 1) * blocks / (2 * n)
		bound := uint16(0)
		if e := at / postings.ExtentBlocks; b.onDemand == nil || b.onDemand.left.Load() == 0 || b.onDemand.has(e) {
			bound = b.Block[at]
		} else {
			bound = b.Extent[e]
		}
		if Contribution(weight, bound) >= contribution {
			reach++
		}
	}
	return float64(reach) / float64(max(1, n))
}
