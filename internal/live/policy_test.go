package live

import (
	"math/rand/v2"
	"testing"
)

// grow adds segments of the given size, as seals do, until the index has total bytes, and merges as
// the policy says. It returns the bytes written by seals and merges for each byte of the index, and
// the most segments at a time.
func grow(m *Merge, total int64, next func() int64) (written float64, most int) {
	var all []mergeSize
	var bytes, wrote int64
	for bytes < total {
		size := next()
		all = append(all, mergeSize{size, uint64(size)})
		bytes, wrote = bytes+size, wrote+size
		for {
			start, end := m.fullTier(all)
			if start == end {
				break
			}
			var sum mergeSize
			for _, s := range all[start:end] {
				sum.bytes, sum.docs = sum.bytes+s.bytes, sum.docs+s.docs
			}
			wrote += sum.bytes
			all = append(all[:start], append([]mergeSize{sum}, all[end:]...)...)
		}
		most = max(most, len(all))
	}
	return float64(wrote) / float64(bytes), most
}

// TestMergesWriteLittle: an index of 2.5 GB, made of segments of whatever size, is written at most
// five times, and has at most SegmentsPerTier-1 segments in each tier.
func TestMergesWriteLittle(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, kib := range []int64{300, 1200, 2500, 4000, 7000, 12_000, 40_000} {
		for _, varied := range []bool{false, true} {
			m := &Merge{SegmentsPerTier: 5, MaxSegmentBytes: 5 << 30, MaxSegmentDocs: 1 << 62}
			written, most := grow(m, 2500<<20, func() int64 {
				if varied {
					return kib<<9 + rng.Int64N(kib<<10)
				}
				return kib << 10
			})
			t.Logf("segments of %d KiB (varied: %v): written %.2f times, at most %d segments", kib, varied, written, most)
			tiers := tier(2500<<20, 5) + 1
			if most > 4*tiers+1 || kib >= 2500 && written > 5 {
				t.Errorf("segments of %d KiB (varied: %v): written %.2f times, at most %d segments in %d tiers", kib, varied, written, most, tiers)
			}
		}
	}
}

// TestMergeOfEquals: a large segment is not merged with a few small ones, however many merges that
// would save, and small ones between large ones join.
func TestMergeOfEquals(t *testing.T) {
	const mib = 1 << 20
	m := &Merge{SegmentsPerTier: 3, MaxSegmentBytes: 1000 * mib, MaxSegmentDocs: 1000}
	for _, c := range []struct {
		sizes      []int64 // in MiB
		start, end int
	}{
		{[]int64{900, 30, 30, 4}, 0, 0},
		{[]int64{900, 4, 4, 4}, 1, 4},
		{[]int64{30, 4, 30, 4, 30}, 0, 5},
		{[]int64{30, 4, 30, 4}, 0, 0},
		{[]int64{400, 400, 400}, 1, 3}, // all would be more than a segment may have
		{[]int64{600, 600, 600}, 0, 0},
		{[]int64{0, 0, 0, 5, 0, 0, 0}, 4, 7},
	} {
		var all []mergeSize
		for _, s := range c.sizes {
			all = append(all, mergeSize{s * mib, 1})
		}
		if start, end := m.fullTier(all); start != c.start || end != c.end {
			t.Errorf("%v: merge %d to %d, want %d to %d", c.sizes, start, end, c.start, c.end)
		}
	}
}
