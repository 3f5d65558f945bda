package segment

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A scannedSource counts the scans of a source.
type scannedSource struct {
	*mapStore
	scans int
}

func (s *scannedSource) Scan(lower, upper []byte) (Iterator, error) {
	s.scans++
	return s.mapStore.Scan(lower, upper)
}

// TestTermsAreReadOnce: the dictionary of a field and the counts of its terms come from one scan.
func TestTermsAreReadOnce(t *testing.T) {
	m := randomModel(rand.New(rand.NewPCG(3, 3)), 300, "d")
	_, _, s := merge(t, []Input{{Reader: m.memory().View()}}, MergeOptions{})
	var want []TermCount
	_, _, lists := m.field("body")
	for term, list := range lists {
		want = append(want, TermCount{term, len(list)})
	}
	slices.SortFunc(want, MoreFrequent)
	for _, first := range []string{"dictionary", "counts"} {
		src := &scannedSource{mapStore: s}
		d, err := Open(src)
		if err != nil {
			t.Fatal(err)
		}
		src.scans = 0
		read := func() {
			words, err := d.Dictionary("body")
			if err != nil || words.Len() != len(want) {
				t.Fatalf("%d terms, want %d: %v", words.Len(), len(want), err)
			}
		}
		if first == "dictionary" {
			read()
		}
		got, err := d.Frequent("body", ranged{}, 10)
		if err != nil || !slices.Equal(got, want[:10]) {
			t.Fatalf("%v, want %v: %v", got, want[:10], err)
		}
		read()
		if src.scans != 1 {
			t.Errorf("%s first: %d scans, want 1", first, src.scans)
		}
	}
}

// TestDamagedCount: a damaged entry fails what needs its count, with its place, and no search for
// other terms.
func TestDamagedCount(t *testing.T) {
	m := randomModel(rand.New(rand.NewPCG(3, 3)), 300, "d")
	_, _, s := merge(t, []Input{{Reader: m.memory().View()}}, MergeOptions{})
	d, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	field, _ := findField(d.meta.fields, "body")
	_, _, lists := m.field("body")
	terms := slices.Sorted(maps.Keys(lists))
	damaged := terms[len(terms)/2]
	value := s.values[string(d.termKey(field, []byte(damaged)))]
	value[len(value)-1] ^= 1
	for range 2 {
		words, err := d.Dictionary("body")
		if err != nil || words.Len() != len(terms) {
			t.Fatalf("%d terms, want %d: %v", words.Len(), len(terms), err)
		}
		if _, err := d.Frequent("body", ranged{}, 10); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", damaged)) {
			t.Errorf("error %v, want one that names %q", err, damaged)
		}
	}
}
