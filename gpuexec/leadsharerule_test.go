package gpuexec

import "testing"

// TestSharesLead has leads at the borders of the rule.
func TestSharesLead(t *testing.T) {
	for _, test := range []struct {
		what       string
		given      Shape
		depth, all int
		want       bool
	}{
		{"one block alone", Shape{}, 127, 127, true},
		{"it leads to few", Shape{}, 7, 7, false},
		{"to just enough", Shape{}, 8, 8, true},
		{"as much as a warp of the device has on average", Shape{}, 100, 100 * 132 * leadWarps, true},
		{"less than that", Shape{}, 100, 100*132*leadWarps + 1, false},
		{"a shape of its own", Shape{SharedDepth: 3, Multiprocessors: 1}, 3, 3 * leadWarps, true},
		{"half as many warps", Shape{LeadThreads: 64}, 8, 8, true},
	} {
		s := test.given.withDefaults()
		if got := s.sharesLeads() && s.sharesLead(test.depth, test.all); got != test.want {
			t.Errorf("%s: %v", test.what, got)
		}
	}
	for _, s := range []Shape{{SharedDepth: -1}, {LeadThreads: 32}, {LeadThreads: 96}} {
		if s.withDefaults().sharesLeads() {
			t.Errorf("%+v shares", s)
		}
	}
}
