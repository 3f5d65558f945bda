package gpuexec

import (
	"fmt"
	"testing"
)

// measuredBounds are thousands of ANDs a second by blocks on an H100, k = 10, with bounds and without
// (unbounded).
var measuredBounds = []struct {
	docs, postings, queries int
	with, without           float64
}{
	{10_000, 1_470, 256, 617, 837},
	{10_000, 1_470, 2048, 991, 1146},
	{60_000, 8_953, 16, 86.8, 129.5},
	{60_000, 8_953, 256, 655, 713},
	{60_000, 8_953, 2048, 1319, 1423},
	{200_000, 56_000, 1, 10.0, 9.1},
	{200_000, 56_000, 256, 308, 483},
	{200_000, 56_000, 2048, 959, 866},
	{1_000_000, 148_827, 1, 8.2, 6.4},
	{1_000_000, 148_827, 16, 29.8, 47.2},
	{1_000_000, 148_827, 256, 208, 224},
	{1_000_000, 148_827, 2048, 485, 286},
	{5_000_000, 745_000, 1, 4.8, 2.2},
	{5_000_000, 745_000, 256, 94, 59},
	{5_000_000, 745_000, 2048, 141, 67},
}

// TestBoundsMeasured: what the default shape chooses has at least 0.9 of the better throughput.
func TestBoundsMeasured(t *testing.T) {
	s := Shape{}.withDefaults()
	for _, m := range measuredBounds {
		t.Run(fmt.Sprintf("%d/queries=%d", m.docs, m.queries), func(t *testing.T) {
			chosen := m.with
			if s.unbounded(blockLoad{m.queries, m.queries * m.postings}) {
				chosen = m.without
			}
			if best := max(m.with, m.without); chosen < 0.9*best {
				t.Errorf("%v thousand queries/s, where %v is possible", chosen, best)
			}
		})
	}
}

// TestUnboundedRule has loads at the borders of the rule.
func TestUnboundedRule(t *testing.T) {
	for _, test := range []struct {
		what  string
		given int
		load  blockLoad
		want  bool
	}{
		{"none", 0, blockLoad{}, false},
		{"one alone", 0, blockLoad{1, 10}, false},
		{"two", 0, blockLoad{2, 10}, true},
		{"as many postings as may be", 0, blockLoad{2, 600_000}, true},
		{"one more", 0, blockLoad{2, 600_001}, false},
		{"as many in all", 0, blockLoad{1000, 40_000_000}, true},
		{"one more in all", 0, blockLoad{1000, 40_000_001}, false},
		{"a shape of its own", 5, blockLoad{2, 11}, false},
		{"never", -1, blockLoad{2, 0}, false},
	} {
		if got := (Shape{UnboundedPostings: test.given}).withDefaults().unbounded(test.load); got != test.want {
			t.Errorf("%s: %v", test.what, got)
		}
	}
}
