package listcache

import (
	"fmt"
	"testing"
)

// BenchmarkPlace places batches of 1,000 lists of 300 extents. Its argument is the percentage of
// them that would fit if slots wasted nothing.
func BenchmarkPlace(b *testing.B) {
	for _, percent := range []int{5, 50, 110} {
		b.Run(fmt.Sprintf("fit=%d", percent), func(b *testing.B) {
			const lists, extents, rows = 1000, 300, 280
			var needs []Need
			for i := range lists {
				n := Need{Key: uint64(i + 1), Queries: 1 + i%7}
				for range extents {
					n.Head, n.Extents = append(n.Head, 20), append(n.Extents, rows)
				}
				needs = append(needs, n)
			}
			all := uint32(lists * extents * (rows + 20))
			c, err := New(Config{Region: Region{Rows: all/100*uint32(percent) + all/50}})
			if err != nil {
				b.Fatal(err)
			}
			var batch Batch
			buffer := Region{First: 2 * all, Rows: all}
			for range 5 {
				c.Place(needs, buffer, &batch)
			}
			b.ResetTimer()
			for b.Loop() {
				c.Place(needs, buffer, &batch)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/lists, "ns/list")
			b.ReportMetric(0, "ns/op")
		})
	}
}
