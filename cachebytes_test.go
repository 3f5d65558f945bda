package riffle

import (
	"fmt"
	"testing"
)

// TestSetCacheBytes: with less, what does not fit goes at once, and searches stay within it; with more, they keep more.
func TestSetCacheBytes(t *testing.T) {
	ix := newIndex(t, &Options{CacheBytes: 4 << 20, NoMap: true})
	b := new(Batch)
	for i := range 6000 {
		b.Put(fmt.Sprint("d", i), map[string]any{"t": fmt.Sprintf("a%d b%d c%d all", i*i%113, i*i%217, i*i%319)})
	}
	ix.must(ix.Apply(t.Context(), b))
	ix.flush()
	ask := func() (lists, stored int64) {
		for i := range 319 {
			ix.search(match("t", fmt.Sprintf("a%d b%d c%d", i%113, i%217, i)), &SearchOptions{Load: []string{"*"}})
		}
		st, err := ix.Stats()
		ix.must(err)
		return st.CacheBytes, st.Stored.Bytes
	}
	lists, stored := ask()
	for _, budget := range []int64{256 << 10, 4 << 20} {
		ix.must(ix.SetCacheBytes(budget))
		st, err := ix.Stats()
		ix.must(err)
		if st.CacheBytes > budget || st.Stored.Bytes > budget/4 {
			t.Errorf("a budget of %d leaves lists of %d bytes and documents of %d", budget, st.CacheBytes, st.Stored.Bytes)
		}
		less, fewer := ask()
		if less > budget || (less < lists) != (budget < 4<<20) || fewer > stored {
			t.Errorf("with %d bytes, lists take %d and documents %d; with 4 MiB %d and %d", budget, less, fewer, lists, stored)
		}
	}
	if ix.SetCacheBytes(0) == nil {
		t.Error("a budget of 0 is taken")
	}
	ix.must(ix.Close())
	if err := ix.SetCacheBytes(1 << 20); err != ErrClosed {
		t.Errorf("closed: %v", err)
	}
}
