package blockmax

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCollector offers documents in random order with few distinct scores and compares with
// sorting. Before each offer, the need must tell exactly whether the document enters.
func TestCollector(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var c Collector
	for range 3000 {
		docs := rng.Perm(rng.IntN([]int{60, 60, 60, 60, 60, 60, 60, 60, 60, 2000}[rng.IntN(10)]))
		all := make([]Hit, len(docs))
		for i, d := range docs {
			all[i] = Hit{Doc: uint32(d), Score: rng.Uint32N(5)}
		}
		var after *Hit
		if rng.IntN(2) == 0 {
			after = &Hit{Doc: rng.Uint32N(60), Score: rng.Uint32N(5)}
		}
		k := 1 + rng.IntN(20)
		c.Reset(k, after)
		var kept []Hit
		for _, h := range all {
			need := c.Need(h.Doc)
			if after == nil || ranks(*after, h) < 0 {
				kept = append(kept, h)
				slices.SortFunc(kept, ranks)
			}
			enters := slices.Contains(kept[:min(k, len(kept))], h)
			if enters && h.Score < need {
				t.Fatalf("%v enters %v although need is %d", h, kept, need)
			}
			if !enters && h.Score >= need && after == nil {
				t.Fatalf("%v stays out of %v although need is %d", h, kept, need)
			}
			kept = kept[:min(k, len(kept))]
			c.Offer(h.Doc, h.Score)
			if _, full := c.Worst(); full != (len(kept) == k) {
				t.Fatalf("Worst says %v with %d of %d hits", full, len(kept), k)
			}
		}
		if got := c.Hits(); !slices.Equal(got, kept) {
			t.Fatalf("k %d, after %v, offers %v:\n got %v\nwant %v", k, after, all, got, kept)
		}
	}
}

// ranks is negative when a ranks before b.
func ranks(a, b Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc))
}

func BenchmarkCollector(b *testing.B) {
	rng := rand.New(rand.NewPCG(7, 8))
	scores := make([]uint32, 1<<16)
	for i := range scores {
		scores[i] = rng.Uint32N(1 << 30)
	}
	for _, k := range []int{10, 1000, 10000} {
		b.Run(map[int]string{10: "k=10", 1000: "k=1000", 10000: "k=10000"}[k], func(b *testing.B) {
			var c Collector
			for b.Loop() {
				c.Reset(k, nil)
				for d, s := range scores {
					c.Offer(uint32(d), s)
				}
			}
			b.ReportMetric(float64(len(scores))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mdocs/s")
		})
	}
}
