package gpuexec

import (
	"testing"

	"github.com/riffle-search/riffle/postings"
)

// TestKnownBounded: what is remembered of lists is bounded. A list that two batches meet at the
// same time becomes known once.
func TestKnownBounded(t *testing.T) {
	k := &knownLists{}
	k.mu.RLock()
	defer k.mu.RUnlock()
	big := &knownList{key: 1, extents: make([]uint32, knownExtentsMost)}
	add := func(of *knownList) *knownList {
		lists := []*knownList{nil, of}
		k.add(lists, []addedList{{at: 1}})
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

// TestKeylessForgotten: lists without a key are forgotten some batches after their last use, or when
// a segment is gone.
func TestKeylessForgotten(t *testing.T) {
	k := &knownLists{}
	k.mu.RLock()
	defer k.mu.RUnlock()
	var terms []*term
	for range 1024 {
		terms = append(terms, &term{List: new(postings.List)})
	}
	var v versions
	meet := func(of *term) *knownList {
		now := k.now.Add(1)
		if known := k.find(of, 1, &v, now); known != nil {
			return known
		}
		lists := []*knownList{new(knownList)}
		k.add(lists, []addedList{{0, k.identify(of, 1)}})
		return lists[0]
	}
	first := meet(terms[0])
	for _, of := range terms {
		meet(of)
		if meet(terms[0]) != first {
			t.Fatal("a list that recurs is forgotten")
		}
	}
	last := &term{List: new(postings.List)}
	if meet(last); len(k.byList) > 2+keylessAge/2 {
		t.Errorf("%d lists are remembered, want those of %d batches", len(k.byList), keylessAge)
	}
	if meet(terms[0]) != first {
		t.Error("a list that recurs is forgotten with others")
	}
	k.mu.RUnlock()
	k.forgetKeyless()
	k.mu.RLock()
	if len(k.byList) > 0 {
		t.Errorf("%d lists are remembered when their segment may be gone", len(k.byList))
	}
}

// TestTwoVersions: of a list with a key two versions are known, and the newer begins with what holds
// for both.
func TestTwoVersions(t *testing.T) {
	k := &knownLists{}
	k.mu.RLock()
	defer k.mu.RUnlock()
	var versions []*knownList
	for v := range uint64(4) {
		of := &knownList{key: 7, version: version{all: v}, extents: make([]uint32, 3), checked: make([]uint64, 1)}
		lists := []*knownList{of}
		k.add(lists, []addedList{{at: 0}})
		versions = append(versions, lists[0])
		if v == 1 {
			of.whole.Store(true)
			of.setChecked(2)
		}
	}
	if len(k.byKey) != 2 || k.extents != 6 || k.byKey[knownKey{7, 3}] != versions[3] || k.byKey[knownKey{7, 2}] != versions[2] {
		t.Errorf("%d versions with %d extents are known, want the last two", len(k.byKey), k.extents)
	}
	if last := versions[3]; !last.whole.Load() || !last.isChecked(2) || last.isChecked(1) || last.before.Load() != versions[2] || versions[2].before.Load() != nil {
		t.Error("the last version does not follow the one before")
	}
	if versions[0].whole.Load() {
		t.Error("an earlier version follows a later one")
	}
}
