package segment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/postings"
)

// A lookupSource counts lookups of parts, and iterators over them.
type lookupSource struct {
	*mapStore
	lookups map[string]int
	scans   int
}

func (s *lookupSource) Get(key []byte) ([]byte, error) {
	if Kind(key[0]) == kindList {
		s.lookups[string(key)]++
	}
	return s.mapStore.Get(key)
}

func (s *lookupSource) Scan(lower, upper []byte) (Iterator, error) {
	if Kind(lower[0]) == kindList {
		s.scans++
	}
	return s.mapStore.Scan(lower, upper)
}

// TestReadAhead checks that a merge reads the parts of long lists with one iterator. The rest of a
// list longer than aheadBytes is looked up, each part once, and a new iterator begins after it.
func TestReadAhead(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	mem := NewMemory()
	for i := range 120_000 {
		f := FieldTerms{Name: "f", Terms: []TermFreq{{[]byte("b"), 1 + rng.Uint32N(1<<24)}}}
		if i%100 == 0 {
			f.Terms = append(f.Terms, TermFreq{[]byte("a"), 1}, TermFreq{[]byte("c"), 1}, TermFreq{[]byte("d"), 2}, TermFreq{fmt.Append(nil, i), 1})
		}
		mem.Add(Document{ID: fmt.Sprint(i), Fields: []FieldTerms{f}})
	}
	opts := MergeOptions{Codec: postings.Interpolative, Workers: 1}
	_, _, s := merge(t, []Input{{Reader: mem.View()}}, opts)
	long, size, behind := splitList(t, s, "b"), 0, 0
	for _, k := range s.keys {
		if Kind(k[0]) == kindList && string(k[:5]) == string(listKey(long, 0)[:5]) {
			if size >= aheadBytes {
				behind++
			}
			size += len(s.values[k])
		}
	}
	if behind < 2 {
		t.Fatalf("a list of %d bytes is too short for the test", size)
	}
	src := &lookupSource{mapStore: s, lookups: make(map[string]int)}
	d, err := Open(src)
	if err != nil {
		t.Fatal(err)
	}
	out := newMapStore(t)
	if _, err := Merge(context.Background(), out, []Input{{Reader: d}}, opts); err != nil {
		t.Fatal(err)
	}
	requireSame(t, out, s)
	if len(src.lookups) != behind || src.scans != 2 {
		t.Errorf("%d parts looked up, want %d; %d iterators, want 2", len(src.lookups), behind, src.scans)
	}
	for k, n := range src.lookups {
		if n != 1 {
			t.Errorf("%s was looked up %d times", KeyString([]byte(k)), n)
		}
	}
}

// splitList returns the number of a term's long list in field 0.
func splitList(t *testing.T, s *mapStore, term string) uint32 {
	value := s.values[string(appendTermKey(nil, Version, 0, []byte(term)))]
	_, list, err := splitEntry(value)
	if err != nil || value[0]&longEntry == 0 {
		t.Fatalf("the list of %q is not long: %v", term, err)
	}
	return list
}
