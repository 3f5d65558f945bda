package partition

import "testing"

// TestLists fills two generations and one more: what was used last stays, and what gone reports goes
// from both.
func TestLists(t *testing.T) {
	parts := map[uint64]*listPart{}
	l := &lists{most: 3 * 128} // three lists without parts
	l.drop(func(uint64) bool { return true })
	if l.find(1) != nil {
		t.Fatal("an empty cache knows a list")
	}
	for key := uint64(1); key <= 6; key++ {
		parts[key] = &listPart{whole: true}
		l.keep(key, parts[key])
	}
	if l.find(1) != parts[1] { // old, so that it moves, and all of 1, 2 and 3 but it are forgotten
		t.Fatal("a list of the old generation is not known")
	}
	for key, want := range map[uint64]*listPart{1: parts[1], 2: nil, 3: nil, 5: parts[5], 6: parts[6]} {
		if got := l.find(key); got != want {
			t.Errorf("list %d: %v instead of %v", key, got, want)
		}
	}
	l.drop(func(key uint64) bool { return key != 6 })
	for key := uint64(1); key <= 6; key++ {
		if known := l.find(key) != nil; known != (key == 6) {
			t.Errorf("list %d is known: %v, after all but 6 are gone", key, known)
		}
	}
}
