package postings

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// TestUnpackPositions unpacks all widths from the fewest bytes to the fewest elements that kernels may
// use.
func TestUnpackPositions(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(45, 46))
		from, to := guarded(t, 4096), guarded(t, 4096)
		for width := range 17 {
			for n := 1; n <= 300; n++ {
				want := make([]uint32, n)
				for i := range want {
					want[i] = rng.Uint32() & (1<<width - 1)
				}
				packed := packPositions(want, 1<<width-1).rows
				rows := from[len(from)-len(packed):]
				copy(rows, packed)
				at := to[len(to)-2*(n+NarrowPad):]
				got := unsafe.Slice((*uint16)(unsafe.Pointer(&at[0])), n+NarrowPad)[:n]
				unpackPositions(got, rows, width)
				for i, p := range got {
					if uint32(p) != want[i] {
						t.Fatalf("%d positions of %d bits: the one at %d is %d, want %d", n, width, i, p, want[i])
					}
				}
			}
		}
	})
}

// TestPositionCodes reads codes of all numbers of low bits from the fewest bytes to the fewest elements
// that kernels may use, and finds each that ends early.
func TestPositionCodes(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(47, 48))
		from, to := guarded(t, 4096), guarded(t, 4096)
		for width := range 32 {
			for n := 1; n <= 300; n += 1 + n/64 {
				want := make([]uint32, n)
				for i := range want {
					want[i] = rng.Uint32() & (1<<width - 1) >> rng.IntN(width+1)
				}
				code := appendPositionCode(nil, want)
				in := from[len(from)-len(code)-codeGuard:]
				copy(in, code)
				at := to[len(to)-4*(n+unaryPad):]
				got := unsafe.Slice((*uint32)(unsafe.Pointer(&at[0])), n+unaryPad)[:n]
				for i := len(code); i < len(in); i++ {
					in[i] = byte(rng.Uint32())
				}
				if size, err := decodeDeltas(got, in); err != nil || size != len(code) || !slices.Equal(got, want) {
					t.Fatalf("%d numbers of %d bits: %v, %d bytes of %d, %d, want %d", n, width, err, size, len(code), got, want)
				}
				clear(in[len(code):])
				if _, err := decodeDeltas(got, in[:len(in)-1]); err == nil {
					t.Fatalf("%d numbers of %d bits are read from a byte less", n, width)
				}
			}
		}
	})
}
