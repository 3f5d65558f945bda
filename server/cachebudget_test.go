package server

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/riffle-search/riffle"
)

// TestSharesOfCache: half of a budget is divided by sizes.
func TestSharesOfCache(t *testing.T) {
	for _, test := range []struct {
		sizes, want []int64
	}{
		{nil, []int64{}},
		{[]int64{7}, []int64{1000}},
		{[]int64{0, 0}, []int64{500, 500}},
		{[]int64{300, 100, 0, 0}, []int64{500, 250, 125, 125}},
	} {
		if got := sharesOfCache(1000, test.sizes); !slices.Equal(got, test.want) {
			t.Errorf("%v: %v, want %v", test.sizes, got, test.want)
		}
	}
}

// TestCacheBudget: the caches of all indexes together stay within the budget, those of mounted engines, too, if it is
// set; an index gets more when another is dropped.
func TestCacheBudget(t *testing.T) {
	const budget = 1 << 20
	s := newServer(t, &Options{CacheBytes: budget})
	fill := func(e *riffle.Engine) {
		b := new(riffle.Batch)
		for i := range 5000 {
			text := ""
			for j := range 40 {
				text += fmt.Sprintf("w%d ", i*i*(j+1)%997)
			}
			b.Put(fmt.Sprint(i), map[string]any{"t": text})
		}
		must(t, e.Apply(t.Context(), b))
		must(t, e.Flush(t.Context()))
	}
	ask := func(e *riffle.Engine) int64 {
		for w := range 997 {
			_, err := e.Search(t.Context(), riffle.Term{Field: "t", Value: fmt.Sprintf("w%d", w)}, nil)
			must(t, err)
		}
		st, err := e.Stats()
		must(t, err)
		return st.CacheBytes
	}
	must(t, s.host.create("a", nil))
	a := s.host.all()[0].engine
	fill(a)
	s.host.divideCache()
	alone := ask(a)
	must(t, s.host.create("b", nil))
	b := s.host.all()[1].engine
	mounted, err := riffle.Open(filepath.Join(t.TempDir(), "m"), nil)
	must(t, err)
	defer mounted.Close()
	fill(b)
	fill(mounted)
	must(t, s.Mount("m", mounted))
	st, err := a.Stats()
	must(t, err)
	if st.CacheBytes > budget/2 || alone < budget/4 {
		t.Errorf("the caches of one index have %d bytes alone, and %d with others, of %d", alone, st.CacheBytes, budget)
	}
	together := []int64{ask(a), ask(b), ask(mounted)}
	if sum := together[0] + together[1] + together[2]; sum > budget || slices.Min(together) < budget/20 {
		t.Errorf("caches of %v bytes, together %d of %d", together, sum, budget)
	}
	must(t, s.host.drop("b"))
	if more := ask(a); more < together[0]*5/4 {
		t.Errorf("with an index less, the cache has %d bytes, and %d before", more, together[0])
	}
}

// TestCacheOfMounted: without a budget of its own, a Server leaves mounted engines alone.
func TestCacheOfMounted(t *testing.T) {
	s := newServer(t, nil)
	must(t, s.host.create("a", nil))
	if s.host.cache.mounted || s.host.cache.bytes != riffle.DefaultCacheBytes() {
		t.Errorf("%+v", &s.host.cache)
	}
}
