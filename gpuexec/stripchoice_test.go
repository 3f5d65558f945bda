package gpuexec

import (
	"fmt"
	"testing"
)

// measured are thousands of queries a second on an H200, of k = 10 and more, by strips and by blocks
// (bench/results/2026-11-23-gpu-small.md; from k = 64 on the better of two runs by strips).
var measured = []struct {
	docs           uint32
	postings       int // of a query
	mode           string
	k, queries     int
	strips, blocks float64
}{
	{60_000, 8_953, "or", 10, 2048, 1215, 1320},
	{60_000, 8_953, "or", 10, 256, 296, 705},
	{60_000, 8_953, "or", 100, 2048, 1067, 1038},
	{60_000, 8_953, "or", 1000, 2048, 435, 416},
	{60_000, 8_953, "and", 10, 2048, 1359, 1372},
	{60_000, 8_953, "and", 10, 256, 282, 672},
	{60_000, 8_953, "and", 100, 2048, 1364, 1322},
	{200_000, 56_000, "or", 10, 2048, 1066, 705},
	{200_000, 56_000, "or", 10, 256, 247, 352},
	{200_000, 56_000, "and", 10, 2048, 1205, 950},
	{200_000, 56_000, "and", 10, 256, 243, 356},
	{200_000, 56_000, "or", 1000, 2048, 386, 288},
	{1_000_000, 148_827, "or", 10, 2048, 699, 243},
	{1_000_000, 148_827, "or", 10, 256, 186, 161},
	{1_000_000, 148_827, "and", 10, 2048, 1069, 499},
	{1_000_000, 148_827, "and", 10, 256, 216, 228},
	{1_000_000, 148_827, "or", 1000, 2048, 265, 76},
	{25_000_000, 3_700_000, "and", 10, 2048, 243, 27},
	// bench/results/2026-11-23-gpu-choice.md
	{60_000, 8_953, "or", 10, 16, 30, 115},
	{60_000, 8_953, "and", 10, 16, 34, 93},
	{60_000, 8_953, "or", 100, 16, 45, 110},
	{60_000, 8_953, "or", 100, 256, 346, 607},
	{60_000, 8_953, "and", 100, 16, 64, 85},
	{60_000, 8_953, "and", 100, 256, 420, 669},
	{200_000, 56_000, "or", 10, 16, 25, 51},
	{200_000, 56_000, "and", 10, 16, 24, 47},
	{200_000, 56_000, "or", 100, 16, 36.5, 47.1},
	{200_000, 56_000, "or", 100, 256, 279, 305},
	{200_000, 56_000, "and", 100, 16, 43.4, 40.5},
	{200_000, 56_000, "and", 100, 256, 349, 327},
	{1_000_000, 148_827, "or", 10, 1, 2.9, 5.5},
	{1_000_000, 148_827, "or", 10, 16, 19.6, 32.6},
	{1_000_000, 148_827, "and", 10, 1, 5.2, 8.3},
	{1_000_000, 148_827, "and", 10, 16, 23.1, 31.9},
	{1_000_000, 148_827, "or", 100, 16, 37.9, 23.0},
	{1_000_000, 148_827, "or", 100, 256, 227, 106},
	{1_000_000, 148_827, "and", 100, 16, 48.0, 22.1},
	{1_000_000, 148_827, "and", 100, 256, 334, 159},
	{5_000_000, 745_000, "or", 10, 1, 3.02, 3.08},
	{5_000_000, 745_000, "or", 10, 2, 4.3, 4.49},
	{5_000_000, 745_000, "or", 10, 16, 17.3, 18.8},
	{5_000_000, 745_000, "and", 10, 1, 4.04, 4.84},
	{5_000_000, 745_000, "and", 10, 16, 17.0, 17.5},
	{25_000_000, 3_700_000, "or", 10, 2, 3.7, 3.1},
	{25_000_000, 3_700_000, "or", 10, 8, 8.5, 6.3},
	{25_000_000, 3_700_000, "and", 10, 2, 2.88, 3.03},
	{25_000_000, 3_700_000, "and", 10, 8, 5.37, 5.29},
}

// TestChoiceMeasured: what the default shape chooses has at least 0.9 of the better throughput.
func TestChoiceMeasured(t *testing.T) {
	s := Shape{}.withDefaults()
	for _, m := range measured {
		t.Run(fmt.Sprintf("%d/%s/k=%d/queries=%d", m.docs, m.mode, m.k, m.queries), func(t *testing.T) {
			load := stripLoad{
				queries: m.queries, tiles: m.queries * int(s.tiles(m.docs)), postings: m.queries * m.postings, appends: s.appends(m.k),
			}
			chosen := m.blocks
			if s.byStrips(load) {
				chosen = m.strips
			}
			if best := max(m.strips, m.blocks); chosen < 0.9*best {
				t.Errorf("%v thousand queries/s, where %v is possible", chosen, best)
			}
		})
	}
}

// TestByStrips has loads at the borders of the rule, for 132 multiprocessors.
func TestByStrips(t *testing.T) {
	const border = 96 * 132
	for _, test := range []struct {
		what       string
		stripTiles int
		load       stripLoad
		want       bool
	}{
		{"too few tiles", 0, stripLoad{queries: 100, tiles: border - 1, postings: 1 << 30}, false},
		{"enough tiles", 0, stripLoad{queries: 100, tiles: border}, true},
		{"with one that appends", 0, stripLoad{queries: 2, tiles: 1, postings: 200_000, appends: true}, true},
		{"with one that appends little", 0, stripLoad{queries: 2, tiles: 1, postings: 199_999, appends: true}, false},
		{"not all blocks resident", 0, stripLoad{queries: 2, tiles: 1, unread: true}, true},
		{"long queries", 0, stripLoad{queries: 2, tiles: 1024}, true},
		{"not long enough", 0, stripLoad{queries: 2, tiles: 1023}, false},
		{"strips always", -1, stripLoad{queries: 2, tiles: 1}, true},
		{"a shape of its own", 10, stripLoad{queries: 100, tiles: 1320}, true},
		{"hardly ever", 1 << 30, stripLoad{queries: 1 << 25, tiles: 1 << 30}, false},
		{"none", 0, stripLoad{}, false},
	} {
		if got := (Shape{StripTiles: test.stripTiles}).withDefaults().byStrips(test.load); got != test.want {
			t.Errorf("%s: %v", test.what, got)
		}
	}
}

// TestCanGoByStrips: lists must be flat, short, or travel with each batch, and terms few. In a segment
// of 100 tiles a list is short with fewer than 13 postings, in one of 8 tiles always.
func TestCanGoByStrips(t *testing.T) {
	for _, test := range []struct {
		counts      []uint32
		flat, whole int // how many of them are flat, and have all blocks resident
		tiles       uint32
		travel      bool // with each batch, those that are not flat
		k           int
		can         bool
		want        stripLoad
	}{
		{[]uint32{50_000, 50_000}, 2, 2, 100, false, 10, true, stripLoad{queries: 1, tiles: 100, postings: 100_000}},
		{[]uint32{50_000, 50_000}, 2, 1, 100, false, 63, true, stripLoad{queries: 1, tiles: 100, postings: 100_000, unread: true}},
		{[]uint32{50_000, 50_000}, 2, 2, 100, false, 64, true, stripLoad{queries: 1, tiles: 100, postings: 100_000, appends: true}},
		{[]uint32{50_000, 12}, 1, 1, 100, false, 10, true, stripLoad{queries: 1, tiles: 100, postings: 50_012}},
		{[]uint32{50_000, 13}, 1, 2, 100, false, 10, false, stripLoad{}},
		{[]uint32{50_000, 50_000}, 1, 2, 100, false, 1000, false, stripLoad{}},
		{[]uint32{50_000, 50_000}, 1, 1, 100, true, 10, true, stripLoad{queries: 1, tiles: 100, postings: 100_000}},
		{[]uint32{50_000, 50_000}, 1, 1, 8, false, 10, true, stripLoad{queries: 1, tiles: 8, postings: 100_000}},
		{[]uint32{50_000, 50_000}, 1, 1, 9, false, 10, false, stripLoad{}},
		{[]uint32{3, 3}, 0, 2, 100, false, 10, false, stripLoad{}},
		{make([]uint32, 32), 32, 32, 100, false, 10, true, stripLoad{queries: 1, tiles: 100}},
		{make([]uint32, 33), 33, 33, 100, false, 10, false, stripLoad{}},
	} {
		b := batch{shape: Shape{}.withDefaults(), flat: flattenings{flats: new(flats)}}
		b.queries = []query{{plan: &Plan{K: test.k}, to: 1}}
		b.parts = []part{{to: len(test.counts)}}
		for i, count := range test.counts {
			k := &knownList{key: 1, count: count}
			k.whole.Store(i < test.whole)
			if i < test.flat {
				k.flat = 1
			} else if test.travel {
				k.key = 0
			}
			b.lists.entries = append(b.lists.entries, listEntry{known: k, tiles: test.tiles})
			b.terms = append(b.terms, partTerm{entry: int32(i)})
		}
		got, can := b.canGoByStrips(&b.queries[0], (*flats).has)
		if can != test.can || can && got != test.want {
			t.Errorf("%d postings, %d lists flat, %d whole, k %d: %v %+v", test.counts, test.flat, test.whole, test.k, can, got)
		}
		if b.algorithm = WAND; can {
			if _, can = b.canGoByStrips(&b.queries[0], (*flats).has); can {
				t.Error("an algorithm without strips goes by strips")
			}
		}
	}
}
