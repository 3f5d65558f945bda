package gpuexec

import "testing"

// TestFlatLayout: the parts of a flat list lie one after the other, in whole rows.
func TestFlatLayout(t *testing.T) {
	shape := Shape{TileShift: 14}
	for _, test := range []struct{ count, tiles, shift, entries uint32 }{
		{100, 3, 9, 96}, // more postings than strips
		{95, 3, 14, 3},  // fewer
		{8_000_000, 1526, 9, 48832},
		{40_000, 1526, 14, 1526},
	} {
		l := shape.flatLayout(test.count, test.tiles)
		if l.shift != test.shift || l.entries != test.entries {
			t.Errorf("%d postings, %d tiles: %d entries of 1<<%d documents", test.count, test.tiles, l.entries, l.shift)
		}
		if l.first < 4*uint64(test.count) || l.bound < l.first+4*uint64(l.entries+1) || uint64(l.rows)*rowBytes < l.bound+32*uint64(test.tiles) {
			t.Errorf("%d postings, %d tiles: parts overlap: %+v", test.count, test.tiles, l)
		}
		if l.first%rowBytes != 0 || l.bound%rowBytes != 0 {
			t.Errorf("%d postings, %d tiles: parts begin within rows: %+v", test.count, test.tiles, l)
		}
	}
}

// TestFlatsGiveUp: lists are made flat while there is room. Some time after one found none, all are
// dropped.
func TestFlatsGiveUp(t *testing.T) {
	f := flats{address: 1 << 20, rows: 100}
	var a, b, c knownList
	if f.has(&a) || !f.take(&a, 60) || !f.has(&a) || f.take(&b, 60) || f.has(&b) || !f.take(&c, 40) {
		t.Fatal("not as long as there is room")
	}
	if a.flat != 1<<20 || c.flat != 1<<20+60*rowBytes {
		t.Errorf("at %d and %d", a.flat, c.flat)
	}
	for range tablesAge {
		if f.begin(0); !f.has(&a) {
			t.Fatal("given up at once")
		}
	}
	if f.begin(0); f.has(&a) || f.has(&c) || !f.take(&b, 60) {
		t.Error("not given up")
	}
	if f.take(&a, 101) || f.full {
		t.Error("what can never have room is waited for")
	}
	if f.begin(0); !f.has(&b) {
		t.Error("given up too early")
	}
	if f.begin(1); f.has(&b) || f.used != 0 {
		t.Error("not given up with all that is known of lists")
	}
}

// TestGoesByStrips: lists must be flat or short, and queries for few hits have many postings for each,
// or few in each of 100 tiles.
func TestGoesByStrips(t *testing.T) {
	for _, test := range []struct {
		counts []uint32
		flat   int // how many of them are flat
		k      int
		want   bool
	}{
		{[]uint32{50_000, 50_000}, 2, 10, true},
		{[]uint32{50_000, 50_000}, 2, 63, false}, // 4,096 for each hit
		{[]uint32{50_000, 50_000}, 2, 64, true},  // since it appends
		{[]uint32{50_000, 50_000}, 2, 1000, true},
		{[]uint32{50_000, 50_000}, 1, 10, false},
		{[]uint32{50_000, 50_000}, 1, 1000, false},
		{[]uint32{50_000, 3}, 1, 10, true},
		{[]uint32{12_700, 3}, 1, 63, true},
		{[]uint32{12_900}, 1, 63, false},
		{[]uint32{3, 3}, 0, 1000, false},
		{[]uint32{3, 3}, 0, 10, false},
		{make([]uint32, 33), 33, 0, false},
	} {
		b := batch{shape: Shape{}.withDefaults(), flat: flattenings{flats: new(flats)}}
		b.queries = []query{{plan: &Plan{K: test.k}, to: 1}}
		b.parts = []part{{to: len(test.counts)}}
		for i, count := range test.counts {
			k := &knownList{count: count}
			if i < test.flat {
				k.flat = 1
			}
			b.lists.entries = append(b.lists.entries, listEntry{known: k, tiles: 100})
			b.terms = append(b.terms, partTerm{entry: int32(i)})
		}
		if got := b.goesByStrips(&b.queries[0]); got != test.want {
			t.Errorf("%d postings, %d lists flat, k %d: %v", test.counts, test.flat, test.k, got)
		}
	}
}
