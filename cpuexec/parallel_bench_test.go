package cpuexec_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
)

// BenchmarkShared measures the cost of publishing queries for which no help comes: the price of
// FGQP under full load.
func BenchmarkShared(b *testing.B) {
	queries := gutenberg(b).queries(b, "gutenberg-dev", 300)
	for _, mode := range []blockmax.Mode{blockmax.Or, blockmax.And} {
		for _, cores := range []int{0, 2, 8, 16} {
			b.Run(fmt.Sprintf("mode=%s/cores=%d", []string{"or", "and"}[mode], cores), func(b *testing.B) {
				x := cpuexec.Parallel{Policy: cpuexec.FGQP, Delta: 1 << 20}
				if cores > 0 {
					x.Pool = newPool(b, cores)
					x.Pool.Occupy(cores)
				}
				var tasks, decoded, scored int64
				i := 0
				for ; b.Loop(); i++ {
					p := queries[i%len(queries)]
					p.K, p.Mode = 10, mode
					top, err := x.TopK(context.Background(), &p)
					if err != nil {
						b.Fatal(err)
					}
					tasks += top.Work.Tasks
					decoded += top.Work.BlocksDecoded
					scored += top.Work.DocsScored
				}
				b.ReportMetric(float64(tasks)/float64(i), "tasks/op")
				b.ReportMetric(float64(decoded)/float64(i), "decoded/op")
				b.ReportMetric(float64(scored)/float64(i), "scored/op")
			})
		}
	}
}
