package columns

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// numberAt is the slow twin of unpacking: it reads packed number i bit by bit.
func numberAt(b []byte, i, width int) (v uint64) {
	for bit := range width {
		at := i*width + bit
		v |= uint64(b[at/8]>>(at%8)&1) << bit
	}
	return v
}

// widths are all that numbers are packed at.
func widths() (all []int) {
	for w := 1; w <= widest; w++ {
		all = append(all, w)
	}
	return append(all, 64)
}

// noise fills the end of guarded memory with noise: n packed numbers and their guard.
func noise(rng *rand.Rand, memory []byte, n, width int) []byte {
	size := int(packedBytes(uint64(n), width))
	b := memory[len(memory)-size-guardBytes:]
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// TestKernels compares kernels at each width with reading bit by bit. Memory ends with the guard.
func TestKernels(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(31, 32))
		memory := fenced(t, 16<<10)
		for _, width := range widths() {
			for _, n := range []int{0, 1, 7, 8, 15, 16, 63, 64, 65, 128, 200, 512 + rng.IntN(500)} {
				b := noise(rng, memory, n, width)
				numbers := make([]uint64, n)
				for i := range numbers {
					numbers[i] = numberAt(b, i, width)
				}
				checkUnpack(t, rng, b, numbers, width)
				checkGather(t, rng, b, numbers, width)
				for range 5 {
					checkRange(t, rng, b, numbers, width)
				}
			}
		}
	})
}

func checkUnpack(t *testing.T, rng *rand.Rand, b []byte, numbers []uint64, width int) {
	t.Helper()
	least, divisor := rng.Uint64(), rng.Uint64()>>rng.IntN(64)
	if rng.IntN(3) == 0 {
		divisor = 1
	}
	keys := make([]uint64, len(numbers)+1)
	keys[len(numbers)] = 77
	unpackKeys(keys[:len(numbers)], b, width, least, divisor)
	small := make([]uint32, len(numbers)+1)
	small[len(numbers)] = 77
	if width <= widest32 {
		unpack32(small[:len(numbers)], b, width)
	}
	for i, x := range numbers {
		if want := least + x*divisor; keys[i] != want {
			t.Fatalf("%d of %d bits: key %d is %d, want %d", len(numbers), width, i, keys[i], want)
		}
		if width <= widest32 && small[i] != uint32(x) {
			t.Fatalf("%d of %d bits: number %d is %d, want %d", len(numbers), width, i, small[i], x)
		}
	}
	if keys[len(numbers)] != 77 || small[len(numbers)] != 77 {
		t.Fatalf("%d of %d bits: written behind the last", len(numbers), width)
	}
}

func checkGather(t *testing.T, rng *rand.Rand, b []byte, numbers []uint64, width int) {
	t.Helper()
	if len(numbers) == 0 {
		return
	}
	n := rng.IntN(50)
	places := []uint16{uint16(len(numbers) - 1)} // whose bytes end with the guard
	for range n {
		places = append(places, uint16(rng.IntN(len(numbers))))
	}
	least, divisor := rng.Uint64(), rng.Uint64()>>rng.IntN(64)
	keys, small := make([]uint64, len(places)+1), make([]uint32, len(places)+1)
	keys[len(places)], small[len(places)] = 77, 77
	gatherKeys(keys, b, places, width, least, divisor)
	if width <= widest32 {
		gather32(small, b, places, width)
	}
	for i, at := range places {
		if want := least + divisor*numbers[at]; keys[i] != want {
			t.Fatalf("%d of %d bits: the key at %d is %d, want %d", len(numbers), width, at, keys[i], want)
		}
		if width <= widest32 && small[i] != uint32(numbers[at]) {
			t.Fatalf("%d of %d bits: the number at %d is %d, want %d", len(numbers), width, at, small[i], numbers[at])
		}
	}
	if keys[len(places)] != 77 || small[len(places)] != 77 {
		t.Fatalf("%d of %d bits: written behind the last", len(numbers), width)
	}
}

func checkRange(t *testing.T, rng *rand.Rand, b []byte, numbers []uint64, width int) {
	t.Helper()
	lo, hi := rng.Uint64()&lowBits(width), rng.Uint64()&lowBits(width)
	if len(numbers) > 0 && rng.IntN(2) == 0 {
		lo = numbers[rng.IntN(len(numbers))]
	}
	switch rng.IntN(4) {
	case 0:
		hi = lowBits(width)
	case 1:
		lo = 0
	case 2:
		hi = lo
	}
	lo, hi = min(lo, hi), max(lo, hi)
	set := make([]uint64, (len(numbers)+63)/64+1)
	want := slices.Clone(set)
	for i, x := range numbers {
		if lo <= x && x <= hi {
			want[i/64] |= 1 << (i % 64)
		}
	}
	rangePacked(set[:len(set)-1], b, len(numbers), width, lo, hi-lo)
	if !slices.Equal(set, want) {
		t.Fatalf("%d of %d bits: %d to %d: %x, want %x", len(numbers), width, lo, hi, set, want)
	}
}

// TestAnyOf compares documents of which a value was found with loops.
func TestAnyOf(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(33, 34))
		for round := range 2000 {
			var set, want [64]uint64
			words := 1 + rng.IntN(100)
			found, ends := make([]uint64, words), make([]uint64, words)
			dense := rng.IntN(3)
			docs, some := 0, false
			for i := range 64*words - rng.IntN(64) {
				if rng.IntN(1+dense*20) == 0 {
					found[i/64] |= 1 << (i % 64)
					some = true
				}
				if docs < 4096 && (round%4 == 0 || rng.IntN(1+rng.IntN(200)) == 0) {
					ends[i/64] |= 1 << (i % 64)
					if some {
						want[docs/64] |= 1 << (docs % 64)
					}
					docs, some = docs+1, false
				}
			}
			if anyOf(&set, found, ends); set != want {
				t.Fatalf("round %d: %d words, %d documents", round, words, docs)
			}
		}
	})
}

// TestDocsOf compares the documents of sets, and their number, with loops.
func TestDocsOf(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(35, 36))
		memory := fenced(t, 2*TileDocs)
		dst := (*[TileDocs]uint16)(unsafe.Pointer(&memory[0]))
		for range 300 {
			set := anySet(rng)
			if set == nil {
				set = new([64]uint64)
				fill(set, TileDocs)
			}
			var want []uint16
			for doc := range TileDocs {
				if set[doc/64]>>(doc%64)&1 == 1 {
					want = append(want, uint16(doc))
				}
			}
			if n := onesOf(set); n != len(want) {
				t.Fatalf("%d bits, want %d", n, len(want))
			}
			if n := docsOf(dst, set); !slices.Equal(dst[:n], want) {
				t.Fatalf("%d documents, want %d", n, len(want))
			}
		}
	})
}
