package partition

import (
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
)

// TestCuts: ranges have about the same number of words, end at tiles, and stay; a small segment is
// one device's.
func TestCuts(t *testing.T) {
	c := cuts{devices: 3, unit: 128, leastDocs: 1000}
	norms := make([]uint8, 9000)
	for d := range norms {
		norms[d] = 4
		if d < 3000 {
			norms[d] = 14 // three times as many words, with one for each document
		}
	}
	segment := func(number, docs int, norms []uint8) *blockmax.Segment {
		return &blockmax.Segment{Docs: uint32(docs), Terms: []blockmax.Term{{}, {Bounds: new(blockmax.Bounds), Norms: norms, Key: uint64(number)<<32 | 5}}}
	}
	first := c.of(segment(1, 9000, norms), 0)
	// 3,000 documents of 15 words and 6,000 of 5 make three shares of 25,000, in units of 128.
	if want := []uint32{1792, 4096, 9000}; !slices.Equal(first.ends, want) {
		t.Errorf("ranges end at %v, want %v", first.ends, want)
	}
	if even := c.of(segment(2, 9000, nil), 1); !slices.Equal(even.ends, []uint32{3072, 6016, 9000}) {
		t.Errorf("ranges of documents without lengths end at %v", even.ends)
	}
	if small := c.of(segment(5, 2999, nil), 2); !slices.Equal(small.ends, []uint32{0, 0, 2999}) {
		t.Errorf("ranges of a small segment end at %v", small.ends)
	}
	if again := c.of(segment(1, 9000, nil), 7); again != first {
		t.Errorf("the segment is cut anew, at %v", again.ends)
	}
	c.drop(func(key uint64) bool { return key>>32 == 1 })
	if again := c.of(segment(1, 9000, nil), 0); again == first {
		t.Error("the cut of a segment that is gone is still known")
	}
	for i, want := range [][2]uint32{{0, 1792}, {1792, 4096}, {4096, 9000}} {
		if from, to := first.of(i); from != want[0] || to != want[1] {
			t.Errorf("range %d is %d to %d, want %v", i, from, to, want)
		}
	}
}

// TestBest: hits are merged by score, ties by document.
func TestBest(t *testing.T) {
	lists := [][]blockmax.Hit{{{Doc: 7, Score: 9}, {Doc: 1, Score: 5}}, {{Doc: 3, Score: 9}, {Doc: 9, Score: 9}}, {{Doc: 2, Score: 5}}}
	got := best(lists, 4)
	want := []blockmax.Hit{{Doc: 3, Score: 9}, {Doc: 7, Score: 9}, {Doc: 9, Score: 9}, {Doc: 1, Score: 5}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
