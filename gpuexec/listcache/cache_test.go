package listcache

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// TestSameAgain: the same calls give the same places, down to the row.
func TestSameAgain(t *testing.T) {
	run := func() (all []Batch) {
		rng := rand.New(rand.NewPCG(9, 9))
		lists := randomLists(rng)
		c, err := New(Config{Region: Region{Rows: 2000}, HalfLife: 20})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 200 {
			b := new(Batch)
			c.Place(pick(rng, lists), Region{First: 2000, Rows: 3000}, b)
			b.Lists = append([]Placed(nil), b.Lists...)
			for j := range b.Lists { // valid only until the next call
				b.Lists[j].Extents = append([]uint32(nil), b.Lists[j].Extents...)
				b.Lists[j].Head = append([]uint32(nil), b.Lists[j].Head...)
			}
			all = append(all, *b)
			if i%50 == 49 {
				c.Drop(func(key uint64) bool { return key>>32%3 == 0 })
			}
		}
		return all
	}
	first, second := run(), run()
	for i := range first {
		if !reflect.DeepEqual(first[i].Copies, second[i].Copies) || !reflect.DeepEqual(first[i].Lists, second[i].Lists) {
			t.Fatalf("batch %d is placed in another way the second time", i)
		}
	}
}

// TestPlaceAllocatesNothing: with known lists, once the batch's memory has grown.
func TestPlaceAllocatesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	c, err := New(Config{Region: Region{Rows: 3000}})
	if err != nil {
		t.Fatal(err)
	}
	lists := randomLists(rng)
	var b Batch
	place := func() { c.Place(lists, Region{First: 3000, Rows: 1 << 20}, &b) }
	for range 50 {
		place()
	}
	if n := testing.AllocsPerRun(100, place); n > 0 {
		t.Errorf("%v allocations for a batch", n)
	}
}

// TestSerial: a fully resident list keeps its serial until one of its places changes. Then it gets
// another.
func TestSerial(t *testing.T) {
	c, err := New(Config{Region: Region{Rows: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	need := []Need{{Key: 1, Head: []uint32{2}, Extents: []uint32{5, 6}, Wanted: []uint64{1}}}
	var b Batch
	serial := func() uint64 {
		c.Place(need, Region{First: 1000, Rows: 100}, &b)
		return b.Lists[0].Serial
	}
	if s := serial(); s != 0 {
		t.Errorf("a list of which an extent is missing has serial %d", s)
	}
	need[0].Wanted = nil
	first := serial()
	if first == 0 || serial() != first {
		t.Errorf("a list that is there has serial %d, then %d", first, serial())
	}
	need[0].Version = 7
	if other := serial(); other == 0 || other == first || serial() != other {
		t.Errorf("with another head the serial is %d, before %d", other, first)
	}
	c.Reset()
	if again := serial(); again == 0 || again == first {
		t.Errorf("when it is copied anew the serial is %d, as before", again)
	}
}

// TestSerialOfRuns: a list of runs only, or of one posting, is resident once its head is, though no
// extent has rows.
func TestSerialOfRuns(t *testing.T) {
	c, err := New(Config{Region: Region{Rows: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	need := []Need{{Key: 1, Head: []uint32{2}, Extents: []uint32{0}}}
	var b Batch
	c.Place(need, Region{First: 1000, Rows: 100}, &b)
	first := b.Lists[0].Serial
	c.Place(need, Region{First: 1000, Rows: 100}, &b)
	if first == 0 || b.Lists[0].Serial != first || b.Rows != 0 {
		t.Errorf("it has serial %d, then %d, and %d rows are copied again", first, b.Lists[0].Serial, b.Rows)
	}
}

// TestZeroNeed: a zero Need among others changes nothing, not even the statistics.
func TestZeroNeed(t *testing.T) {
	full := Need{Key: 1, Head: []uint32{2}, Extents: []uint32{5, 6}}
	var figures [2]Stats
	for i, needs := range [][]Need{{full}, {{}, full, {}}} {
		c, err := New(Config{Region: Region{Rows: 1000}})
		if err != nil {
			t.Fatal(err)
		}
		var b Batch
		for range 2 {
			c.Place(needs, Region{First: 1000, Rows: 100}, &b)
		}
		figures[i] = c.Stats()
		if last := b.Lists[len(needs)-1]; i == 1 && (!last.Complete || last.Serial != 0 || len(last.Head)+len(last.Extents) > 0) {
			t.Errorf("nothing is placed as %+v", last)
		}
	}
	if figures[0] != figures[1] || figures[0].WantedBytes == 0 {
		t.Errorf("figures are %+v, without those that ask for nothing %+v", figures[1], figures[0])
	}
}

// TestConfig: an error names each invalid field.
func TestConfig(t *testing.T) {
	for _, test := range []struct {
		config Config
		want   string
	}{
		{Config{Policy: policies}, "Policy"},
		{Config{Lambda: 1.1}, "Lambda"},
		{Config{Lambda: -1}, "Lambda"},
		{Config{HalfLife: -1}, "HalfLife"},
		{Config{Region: Region{First: 1, Rows: Missing - 1}}, "Region"},
	} {
		if _, err := New(test.config); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want one about %s", test.config, err, test.want)
		}
	}
	for p := range policies {
		if got, err := ParsePolicy(p.String()); got != p || err != nil {
			t.Errorf("ParsePolicy(%q) = %v, %v", p.String(), got, err)
		}
	}
	if _, err := ParsePolicy("lru"); err == nil {
		t.Error("there is a policy lru")
	}
}

// TestSlotSize: slots are at most an eighth too large.
func TestSlotSize(t *testing.T) {
	waste := 0.0
	for rows := uint32(1); rows < 5000; rows++ {
		size := slotSize(rows)
		if size < rows || 8*(size-rows) >= rows+7 || slotSize(size) != size {
			t.Errorf("a piece of %d rows gets a slot of %d", rows, size)
		}
		waste += float64(size-rows) / float64(rows) / 5000
	}
	if waste > 0.06 {
		t.Errorf("slots are %.3f too large on average", waste)
	}
}
