package gpuexec

import (
	"fmt"
	"testing"
)

// measuredBounds are thousands of ANDs a second by blocks on an H100, k = 10, with bounds and without
// (unbounded). The longest query of 10,000 and of 5 million documents is an estimate.
var measuredBounds = []struct {
	docs, postings, queries, longest int
	with, without                    float64
}{
	{10_000, 1_470, 256, 20_000, 617, 837},
	{10_000, 1_470, 2048, 20_000, 991, 1146},
	{60_000, 8_953, 16, 95_862, 86.8, 129.5},
	{60_000, 8_953, 256, 95_862, 655, 713},
	{60_000, 8_953, 2048, 95_862, 1319, 1423},
	{200_000, 56_000, 1, 324_028, 10.0, 9.1},
	{200_000, 56_000, 256, 324_028, 308, 483},
	{200_000, 56_000, 2048, 324_028, 959, 866},
	{1_000_000, 148_827, 1, 1_050_042, 8.2, 6.4},
	{1_000_000, 148_827, 16, 1_050_042, 29.8, 47.2},
	{1_000_000, 148_827, 256, 1_050_042, 208, 224},
	{1_000_000, 148_827, 2048, 1_050_042, 485, 286},
	{5_000_000, 745_000, 1, 5_000_000, 4.8, 2.2},
	{5_000_000, 745_000, 256, 5_000_000, 94, 59},
	{5_000_000, 745_000, 2048, 5_000_000, 141, 67},
}

// TestBoundsMeasured: what the default shape chooses has at least 0.9 of the better throughput.
func TestBoundsMeasured(t *testing.T) {
	s := Shape{}.withDefaults()
	for _, m := range measuredBounds {
		t.Run(fmt.Sprintf("%d/queries=%d", m.docs, m.queries), func(t *testing.T) {
			chosen := m.with
			if s.unbounded(blockLoad{m.queries, m.queries * m.postings, m.longest}) {
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
		{"one alone", 0, blockLoad{1, 10, 10}, false},
		{"two", 0, blockLoad{2, 10, 9}, true},
		{"as many postings as may be", 0, blockLoad{2, 600_000, 500_000}, true},
		{"one more", 0, blockLoad{2, 600_001, 500_000}, false},
		{"as many in all", 0, blockLoad{1000, 40_000_000, 1_250_000}, true},
		{"one more in all", 0, blockLoad{1000, 40_000_001, 1_250_000}, false},
		{"one query with one more", 0, blockLoad{1000, 40_000_000, 1_250_001}, false},
		{"a shape of its own", 5, blockLoad{2, 11, 6}, false},
		{"never", -1, blockLoad{2, 0, 0}, false},
	} {
		if got := (Shape{UnboundedPostings: test.given}).withDefaults().unbounded(test.load); got != test.want {
			t.Errorf("%s: %v", test.what, got)
		}
	}
}
