package gpuexec

import (
	"slices"
	"testing"
)

// TestSteps divides twelve windows, each of which needs the same, but for one that needs more.
func TestSteps(t *testing.T) {
	windows := func(flat, other int) (needs []need) {
		return slices.Repeat([]need{{flat: flat, other: other}}, 12)
	}
	wide := windows(1, 1)
	wide[5] = need{flat: 98, other: 1}
	for _, c := range []struct {
		name  string
		needs []need
		most  int
		ends  []int
	}{
		{"doubled", windows(1, 1), 12, []int{1, 3, 7, 12}},
		{"at most four", windows(1, 1), 4, []int{1, 3, 7, 11, 12}},
		{"at most one", windows(1, 1), 1, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{"room for three", windows(30, 1), 12, []int{1, 3, 6, 9, 12}},
		{"room for three, by the other memory", windows(1, 30), 12, []int{1, 3, 6, 9, 12}},
		{"one window too large", windows(101, 1), 3, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{"room for a wide one and two more", wide, 12, []int{1, 3, 6, 12}},
		{"one window", windows(1, 1)[:1], 12, []int{1}},
	} {
		if ends := stepsOf(c.needs, need{flat: 100, other: 100}, c.most); !slices.Equal(ends, c.ends) {
			t.Errorf("%s: steps end at %d, want %d", c.name, ends, c.ends)
		}
	}
}
