package gpuexec

import "testing"

// TestKnownBounded: what is remembered of lists is bounded. A list that two batches meet at the
// same time becomes known once.
func TestKnownBounded(t *testing.T) {
	k := &knownLists{}
	k.mu.RLock()
	defer k.mu.RUnlock()
	big := &knownList{key: 1, extents: make([]uint32, knownExtentsMost)}
	add := func(of *knownList) *knownList {
		lists := []*knownList{nil, of}
		k.add(lists, []int{1})
		return lists[1]
	}
	if add(big) != big || add(&knownList{key: 1}) != big {
		t.Error("a list is known twice")
	}
	before := k.cleared.Load()
	small := &knownList{key: 2, extents: make([]uint32, 3)}
	if add(small) != small || len(k.byKey) != 1 || k.extents != 3 {
		t.Errorf("%d lists with %d extents are known, want the last one alone", len(k.byKey), k.extents)
	}
	if k.cleared.Load() != before+1 {
		t.Error("nobody is told that the rest is forgotten")
	}
}
