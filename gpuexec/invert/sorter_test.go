package invert

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/segment"
)

// open returns a Sorter with that much device memory. It skips the test where there is no device.
func open(t testing.TB, bytes int64, o Options) *Sorter {
	t.Helper()
	dev, err := device.Open(0, device.Options{MemoryBytes: bytes})
	if errors.Is(err, device.ErrNoDevice) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := New(dev, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A sink keeps what a segment has written.
type sink map[string]string

func (s sink) Set(key, value []byte) error {
	s[string(key)] = string(value)
	return nil
}

// A document is the terms of its fields.
type document map[string][]string

// write makes a segment of documents, perChunk in each chunk. All fields but titles have positions,
// the same at each call. With a Sorter everything is offloaded.
func write(t testing.TB, docs []document, perChunk int, s segment.Sorter, share float64, failed func(error)) sink {
	t.Helper()
	var c segment.Chunk
	var parts *segment.Partitions
	var b *segment.Bulk
	number := 0
	rng := rand.New(rand.NewPCG(30, 30))
	for chunk := range slices.Chunk(docs, perChunk) {
		for _, d := range chunk {
			c.Begin(fmt.Sprint(number))
			number++
			for _, name := range slices.Sorted(maps.Keys(d)) {
				c.Field(name, name != "title")
				at := uint32(0)
				for _, term := range d[name] {
					c.AddAt([]byte(term), at)
					at += distance(rng)
				}
				c.EndField(true, uint32(len(d[name])))
			}
			c.End(0, nil)
		}
		if b == nil {
			parts = c.Sample()
			b = segment.NewBulk(parts, 2)
			if s != nil {
				b.Offload(s, share, failed)
			}
		}
		c.Group(parts)
		b.Add(&c)
		c.Reset()
	}
	out := sink{}
	if _, err := b.Write(context.Background(), out, segment.BulkOptions{Workers: 2}); err != nil {
		t.Fatal(err)
	}
	return out
}

// distance is that of two words that follow one another in a field.
func distance(rng *rand.Rand) uint32 {
	switch rng.IntN(40) {
	case 0, 1, 2: // both at one position
		return 0
	case 3, 4, 5: // stop words between them were dropped
		return 2 + rng.Uint32N(3)
	case 6: // they are in two values
		return 1 + segment.PositionGap
	case 7:
		return rng.Uint32N(20_000)
	}
	return 1
}

func same(t testing.TB, got, want sink) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d keys, want %d", len(got), len(want))
	}
	for k, v := range want {
		if got[k] != v {
			t.Fatalf("%s: %x, want %x", segment.KeyString([]byte(k)), got[k], v)
		}
	}
}

// random makes documents with terms of all kinds: a few frequent and many rare ones, empty ones,
// with zeros inside and at the end, and long ones with a common beginning.
func random(rng *rand.Rand, n int) []document {
	term := func() string {
		switch rng.IntN(8) {
		case 0:
			return strings.Repeat("\x00", rng.IntN(20))
		case 1:
			return strings.Repeat("long and alike ", rng.IntN(8)) + string(rune('a'+rng.IntN(3)))
		case 2:
			return fmt.Sprintf("%x", rng.Uint64())
		case 3:
			b := make([]byte, rng.IntN(30))
			for i := range b {
				b[i] = byte(rng.IntN(2) * 255)
			}
			return string(b)
		case 4:
			return fmt.Sprint("number ", rng.IntN(1000))
		}
		return string(rune('a' + rng.IntN(20)))
	}
	docs := make([]document, n)
	for i := range docs {
		docs[i] = document{}
		for _, name := range []string{"body", "title", "tag"}[:1+rng.IntN(3)] {
			for range rng.IntN(40) {
				docs[i][name] = append(docs[i][name], term())
			}
			if rng.IntN(50) == 0 {
				docs[i][name] = append(docs[i][name], slices.Repeat([]string{"often"}, rng.IntN(1000))...)
			}
		}
	}
	return docs
}

// TestSegments: a segment is the same to the byte when a device inverts it, whatever the share and
// the number of rounds, in fields with positions and without.
func TestSegments(t *testing.T) {
	t.Run("sort", func(t *testing.T) { testSegments(t, Options{}) })
	t.Run("trees", func(t *testing.T) { testSegments(t, Options{Trees: true}) })
}

func testSegments(t *testing.T, o Options) {
	large := open(t, 24<<20, o)
	rng := rand.New(rand.NewPCG(31, 31))
	never := func(err error) { t.Error(err) }
	most := 2000
	if testing.Short() {
		most = 400
	}
	for _, n := range []int{1, 7, 300, most} {
		docs := random(rng, n)
		for _, perChunk := range []int{1 << 20, 150, 9} {
			if n > 300 && perChunk == 9 && testing.Short() {
				continue
			}
			want := write(t, docs, perChunk, nil, 0, nil)
			for _, share := range []float64{1, 0.4} {
				same(t, write(t, docs, perChunk, large, share, never), want)
			}
		}
	}
	if st := large.Stats(); st.Sorts == 0 || st.Records == 0 || st.Sorted == 0 || st.Sorted > st.Bytes || st.Sort == 0 {
		t.Errorf("%+v", st)
	}
}

// TestRounds: with little device memory a segment takes several rounds and is still the same.
func TestRounds(t *testing.T) {
	t.Run("sort", func(t *testing.T) { testRounds(t, Options{}) })
	t.Run("trees", func(t *testing.T) { testRounds(t, Options{Trees: true}) })
}

func testRounds(t *testing.T, o Options) {
	small := open(t, 1<<20, o)
	docs := random(rand.New(rand.NewPCG(32, 32)), 1500)
	want := write(t, docs, 100, nil, 0, nil)
	same(t, write(t, docs, 100, small, 1, func(err error) { t.Error(err) }), want)
	if st := small.Stats(); st.Sorts < 3 {
		t.Errorf("%d rounds for %d bytes with room for %d", st.Sorts, st.Bytes, small.Room())
	}
}

// TestSlabs: the copies to and from the device take more than one slab.
func TestSlabs(t *testing.T) {
	if testing.Short() {
		t.Skip("half a million terms")
	}
	s := open(t, 240<<20, Options{})
	var docs []document
	for i := range 26 {
		d := document{}
		for j := range 20_000 {
			d["body"] = append(d["body"], fmt.Sprintf("%d %d", j, i*j))
		}
		docs = append(docs, d)
	}
	same(t, write(t, docs, 2, s, 1, func(err error) { t.Error(err) }), write(t, docs, 2, nil, 0, nil))
	if st := s.Stats(); st.Bytes < 2*slabSize || st.Sorted < slabSize {
		t.Errorf("%d bytes went and %d came: no more than a slab of %d", st.Bytes, st.Sorted, slabSize)
	}
}

// TestLongTerms: a Sorter refuses terms with too long a common beginning, and the CPU indexes them.
func TestLongTerms(t *testing.T) {
	s := open(t, 4<<20, Options{})
	long := strings.Repeat("x", 1000)
	docs := []document{{"f": {long + "a"}}, {"f": {long + "b", "short"}}, {"f": {long + "a"}}}
	var refused error
	got := write(t, docs, 1, s, 1, func(err error) { refused = err })
	same(t, got, write(t, docs, 1, nil, 0, nil))
	if refused == nil || errors.Is(refused, device.ErrLost) {
		t.Errorf("terms of 1,000 bytes: %v", refused)
	}
	// A single long term needs no second round.
	docs = []document{{"f": {long}}, {"f": {"short"}}}
	same(t, write(t, docs, 2, s, 1, func(err error) { t.Error(err) }), write(t, docs, 2, nil, 0, nil))
}

// TestLost: losing the device at any step costs only time.
func TestLost(t *testing.T) {
	docs := random(rand.New(rand.NewPCG(33, 33)), 200)
	want := write(t, docs, 20, nil, 0, nil)
	lost := 0
	for _, launches := range []string{"1", "2", "5", "40", "150"} {
		t.Setenv("RIFFLE_EMULATOR_FAIL", launches) // a real device does not fail
		dev, err := device.Open(0, device.Options{MemoryBytes: 512 << 10})
		if errors.Is(err, device.ErrNoDevice) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(dev, Options{})
		if err != nil {
			t.Fatal(err)
		}
		same(t, write(t, docs, 20, s, 1, func(err error) {
			lost++
			if !errors.Is(err, device.ErrLost) {
				t.Error(err)
			}
		}), want)
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	}
	if lost == 0 {
		t.Skip("the device is real")
	}
	if lost != 5 {
		t.Errorf("lost %d times of 5", lost)
	}
}

// TestTooLittle: a Sorter reports that it has too little memory to work, or is given too much.
func TestTooLittle(t *testing.T) {
	s := open(t, MinMemory, Options{})
	if _, err := s.Sort(1, []segment.Piece{{Records: make([]byte, s.Room()+1)}}); !errors.Is(err, errNoRoom) {
		t.Errorf("%d bytes: %v", s.Room()+1, err)
	}
	dev, err := device.Open(0, device.Options{MemoryBytes: MinMemory - 1024})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	if _, err := New(dev, Options{}); err == nil {
		t.Error("a device with too little memory is taken")
	}
}
