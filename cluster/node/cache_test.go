package node

import "testing"

// TestCacheBudget: whatever replicas there are, they keep no more than the budget together, and each has something.
func TestCacheBudget(t *testing.T) {
	b := cacheBudget{bytes: 64 << 20}
	if n := b.first(); n != 64<<20 {
		t.Errorf("the first replica gets %d bytes", n)
	}
	sizes := map[place]int64{{"a", 1, 0}: 3 << 30, {"a", 1, 1}: 1 << 30, {"b", 2, 0}: 0, {"c", 3, 0}: 5}
	for p, n := range sizes {
		b.share(p, n)
	}
	sum := int64(0)
	for p, n := range sizes {
		share := b.share(p, n)
		if sum += share; share < b.bytes/16 {
			t.Errorf("%v gets %d bytes", p, share)
		}
	}
	if sum > b.bytes || sum < b.bytes*9/10 {
		t.Errorf("they get %d bytes of %d", sum, b.bytes)
	}
	if large, small := b.share(place{"a", 1, 0}, 3<<30), b.share(place{"b", 2, 0}, 0); large < 3*small {
		t.Errorf("3 GiB get %d bytes, and nothing gets %d", large, small)
	}
	for p := range sizes {
		b.leave(p)
	}
	if n := b.share(place{"a", 1, 0}, 0); n != 64<<20 {
		t.Errorf("one replica alone gets %d bytes", n)
	}
}
