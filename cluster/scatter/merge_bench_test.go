package scatter

import (
	"fmt"
	"testing"

	"github.com/riffle-search/riffle"
)

// BenchmarkMerge merges the top 10 of many shards.
func BenchmarkMerge(b *testing.B) {
	for _, shards := range []int{4, 100, 400} {
		b.Run(fmt.Sprintf("shards=%d", shards), func(b *testing.B) {
			results := make([]*riffle.Result, shards)
			for i := range results {
				results[i] = &riffle.Result{}
				for n := range 10 {
					results[i].Hits = append(results[i].Hits, riffle.Hit{ID: fmt.Sprint(i, "-", n), Score: float64(100-n) - float64(i)/1000})
				}
			}
			for b.Loop() {
				s := &search{k: 10, after: cursor{Shards: make([]riffle.Cursor, shards)}}
				if hits, _, err := s.merge(b.Context(), results); err != nil || len(hits) != 10 {
					b.Fatal(len(hits), err)
				}
			}
		})
	}
}
