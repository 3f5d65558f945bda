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
		{3_125_248, 1526, 9, 48832}, // dense: one posting for eight documents
		{3_125_247, 1526, 9, 48832},
	} {
		l := shape.flatLayout(test.count, test.tiles)
		if l.shift != test.shift || l.entries != test.entries {
			t.Errorf("%d postings, %d tiles: %d entries of 1<<%d documents", test.count, test.tiles, l.entries, l.shift)
		}
		if l.first < 4*uint64(test.count) || l.bound < l.first+4*uint64(l.entries+1) || uint64(l.rows)*rowBytes < l.bound+32*uint64(test.tiles) {
			t.Errorf("%d postings, %d tiles: parts overlap: %+v", test.count, test.tiles, l)
		}
		end, bits := l.bound+32*9*uint64(test.tiles), uint64(l.rows)*rowBytes
		if dense := test.count*8 >= test.tiles<<14; dense != (bits == end+uint64(test.tiles)<<14/8) || dense && bits > end+uint64(test.count) {
			t.Errorf("%d postings, %d tiles: %d bytes, of which bounds end at %d", test.count, test.tiles, bits, end)
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

// TestFlatsFollow: another version of a list takes the place of the one before.
func TestFlatsFollow(t *testing.T) {
	f := flats{address: 1 << 20, rows: 100}
	var a, b, longer knownList
	b.before.Store(&a)
	longer.before.Store(&b)
	longer.count = 1
	if !f.take(&a, 60) || !f.take(&b, 60) || f.has(&a) || !f.has(&b) || b.flat != 1<<20 || f.used != 60 {
		t.Errorf("the next version lies at %d, and %d rows are used", b.flat, f.used)
	}
	if f.take(&longer, 60) || !f.has(&b) {
		t.Error("a longer list got the place")
	}
}
