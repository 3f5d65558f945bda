package demand_test

import (
	"fmt"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/demand"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// benchPlan is a query of three lists of 300 extents each.
func benchPlan() *demand.Plan {
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	p := &demand.Plan{K: 10, Weights: []uint32{1 << 28, 1 << 27, 1 << 26}}
	p.Segments = []blockmax.Segment{{Docs: 1 << 24}}
	for t := range 3 {
		var b postings.Builder
		for i := range uint32(300 * 4096) {
			b.Add(13*i+uint32(t), 1+i*i%97/90+i%4096/4000, 10)
		}
		l := b.View(1 << 24)
		p.Segments[0].Terms = append(p.Segments[0].Terms, blockmax.Term{List: l, Table: table, Bounds: segment.Bounds(l, table)})
	}
	return p
}

// BenchmarkExtents is a query of 3.7 million postings, with thresholds that all, some or no extents
// can reach.
func BenchmarkExtents(b *testing.B) {
	p := benchPlan()
	wanted := bitmaps(&p.Segments[0])
	highest := uint32(0)
	for t, w := range p.Weights {
		highest += blockmax.Contribution(w, p.Segments[0].Terms[t].Bounds.List)
	}
	for _, need := range []uint32{0, p.Seed(), highest, highest + 1} {
		b.Run(fmt.Sprintf("need=%.2f", float64(need)/float64(highest)), func(b *testing.B) {
			var f demand.Finder
			for b.Loop() {
				for t := range wanted {
					clear(wanted[t])
				}
				f.Extents(p, 0, blockmax.Or, need, wanted)
			}
		})
	}
}
