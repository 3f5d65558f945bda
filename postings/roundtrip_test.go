package postings

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestRoundTrip(t *testing.T) { eachVariant(t, testRoundTrip) }

func testRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 2, 3, 5, 8, 127} {
		for _, n := range []int{1, 2, 3, 7, 64, 127, 128, 129, 256, 500, 4096, 4097} {
			t.Run(fmt.Sprintf("size=%d/n=%d", size, n), func(t *testing.T) {
				ps := random(rng, n)
				b := build(size, ps)
				checkList(t, b.View(MaxDoc), ps, false)
				checkList(t, reopen(t, b), ps, false)
				b.Codec = Interpolative
				checkList(t, reopen(t, b), ps, false)
			})
		}
	}
}

// TestSizeBreakdown checks that every stored byte counts once.
func TestSizeBreakdown(t *testing.T) {
	rng := rand.New(rand.NewPCG(37, 38))
	var sum Sizes
	total := 0
	for i, n := range []int{1, 5, 128, 129, 10_000, 10_000} {
		enc := buildBy([]Kind{Packed, Interpolative}[i/5], 0, random(rng, n)).Encode()
		l, err := Open(enc.Entry, &stored{Encoded: enc})
		if err != nil {
			t.Fatal(err)
		}
		size, err := l.SizeBreakdown()
		if err != nil {
			t.Fatal(err)
		}
		sum.Add(size)
		for _, value := range parts(&enc) {
			total += len(*value)
		}
		if got := sum.Docs + sum.Freqs + sum.Directory; got != total {
			t.Errorf("%d postings: %+v are %d bytes, want %d", n, sum, got, total)
		}
	}
}

// TestBlockShapes packs every number of postings with every width of gaps and frequencies.
func TestBlockShapes(t *testing.T) { eachVariant(t, testBlockShapes) }

func testBlockShapes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for width := 0; width <= 32; width++ {
		for n := 1; n <= BlockSize; n++ {
			prev := noDoc
			if n%2 == 0 {
				prev = uint32(rng.IntN(1000))
			}
			want := shape(rng, n, width, prev)
			rows, e := want.appendRows(nil, prev, Packed)
			if len(rows) != RowBytes*e.Rows(n) {
				t.Fatalf("width %d, n %d: %v takes %d bytes, not %d rows", width, n, e, len(rows), e.Rows(n))
			}
			if f := e.fault(n, want.last()-prev); f != "" {
				t.Fatalf("width %d, n %d: %v: %s", width, n, e, f)
			}
			got := block{n: n}
			if err := decodeDocs(&got.docs, rows, e, n, prev, want.last()); err != nil {
				t.Fatalf("width %d, n %d: %v: %v", width, n, e, err)
			}
			if err := decodeFreqs(&got.tfs, rows[RowBytes*e.docRows(n):], e, n); err != nil {
				t.Fatalf("width %d, n %d: %v: %v", width, n, e, err)
			}
			for i := range n {
				if got.docs[i] != want.docs[i] || got.tfs[i] != want.tfs[i] {
					t.Fatalf("width %d, n %d, %v: posting %d is (%d, %d), want (%d, %d)", width, n, e, i, got.docs[i], got.tfs[i], want.docs[i], want.tfs[i])
				}
			}
		}
	}
}

// TestUnrolled compares the generated functions with the loop, on rows of noise. They share only
// the layout.
func TestUnrolled(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	for width := 1; width <= 32; width++ {
		rows := make([]byte, RowBytes*width)
		for i := range rows {
			rows[i] = byte(rng.Uint32())
		}
		var got, want [BlockSize]uint32
		if width < len(docsByWidth) {
			docsByWidth[width](&got, rows, 99)
			loopDocs(&want, rows, BlockSize, width, 99)
		}
		if got != want {
			t.Errorf("gaps of %d bits: unrolled %v, loop %v", width, got, want)
		}
		if width < len(freqsByWidth) {
			freqsByWidth[width](&got, rows)
			loopFreqs(&want, rows, BlockSize, width)
		}
		if got != want {
			t.Errorf("frequencies of %d bits: unrolled %v, loop %v", width, got, want)
		}
	}
	if len(docsByWidth) < 10 || len(freqsByWidth) < 5 {
		t.Error("hardly anything is unrolled")
	}
}

// shape makes a block after prev whose widest gap and frequency have exactly width bits (as far as
// documents allow).
func shape(rng *rand.Rand, n, width int, prev uint32) *block {
	var k block
	room := uint64(MaxDoc-1) - uint64(prev+1) // the most that all gaps may sum to
	wide := rng.IntN(n)
	for i := range n {
		gap := uint64(rng.Uint32() & 1)
		tf := rng.Uint32()
		if i == wide {
			gap = uint64(1)<<min(width, 31) - 1
			tf = uint32(uint64(1)<<width - 1)
		}
		tf &= uint32(uint64(1)<<width - 1)
		if tf == 1<<32-1 {
			tf--
		}
		gap = min(gap, room-uint64(n-1-i))
		room -= gap + 1
		prev += uint32(gap) + 1
		k.add(prev, tf+1, uint8(rng.IntN(256)))
	}
	return &k
}
