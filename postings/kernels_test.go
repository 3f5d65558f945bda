package postings

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"unsafe"

	"github.com/riffle-search/riffle/internal/impl"
)

// eachVariant runs a test once for each variant of the kernels.
func eachVariant(t *testing.T, test func(t *testing.T)) {
	for variant := range impl.Each("postings") {
		t.Run(variant, test)
	}
}

// A guardedBlock is memory for a block and its rows. It ends where reads and writes fault, which
// catches kernels that go too far.
type guardedBlock struct {
	memory []byte
	dst    *[BlockSize]uint32
}

func makeGuarded(t testing.TB) guardedBlock {
	dst := guarded(t, 4*BlockSize)
	return guardedBlock{guarded(t, 40*RowBytes), (*[BlockSize]uint32)(unsafe.Pointer(&dst[0]))}
}

// noise puts the given number of rows of noise at the end of the memory.
func (g guardedBlock) noise(rng *rand.Rand, rows int) []byte {
	out := g.memory[len(g.memory)-RowBytes*rows:]
	for i := range out {
		out[i] = byte(rng.Uint32())
	}
	return out
}

// valueOf is the slow twin of unpacking: it reads value i of rows bit by bit.
func valueOf(rows []byte, i, width int) (v uint32) {
	for bit := range width {
		at := i/4*width + bit // of the lane
		word := binary.LittleEndian.Uint32(rows[at/32*RowBytes+i%4*4:])
		v |= word >> (at % 32) & 1 << bit
	}
	return v
}

func checkUnpack(t *testing.T, dst *[BlockSize]uint32, rows []byte, n, width int, prev uint32) {
	t.Helper()
	unpackFreqs(dst, rows, n, width)
	for i := range n {
		if want := valueOf(rows, i, width) + 1; dst[i] != want {
			t.Fatalf("%d frequencies of %d bits: the one at %d is %d, want %d", n, width, i, dst[i], want)
		}
	}
	if width == 32 {
		return // no gap has that width
	}
	unpackDocs(dst, rows, n, width, prev)
	for i, want := 0, prev; i < n; i++ {
		if want += valueOf(rows, i, width) + 1; dst[i] != want {
			t.Fatalf("%d gaps of %d bits from %d: document %d is %d, want %d", n, width, prev, i, dst[i], want)
		}
	}
}

func TestUnpack(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(41, 42))
		g := makeGuarded(t)
		for width := 1; width <= 32; width++ {
			for n := 1; n <= BlockSize; n++ {
				rows := g.noise(rng, packedRows(n, width))
				checkUnpack(t, g.dst, rows, n, width, rng.Uint32())
				// Give assembly the fewest bytes after the rows that it may need, filled with
				// noise.
				rows = g.noise(rng, width+4)[:len(rows)]
				checkUnpack(t, g.dst, rows, n, width, noDoc)
			}
		}
	})
}

// TestUnpackBesideDecode unpacks the first of two blocks while the rows of the second are written,
// as when two readers decode blocks of one extent. They lie before the end of a page, where rows are
// copied first. The race detector sees what Go reads of Go's memory.
func TestUnpackBesideDecode(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		const page, width = 4096, 2
		memory := make([]byte, 2*page)
		end := page - int(uintptr(unsafe.Pointer(&memory[0]))%page)
		if end < 2*RowBytes*width {
			end += page
		}
		rows := memory[end-2*RowBytes*width : end : end]
		second := rows[RowBytes*width:]
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range second { // the detector does not see clear
				second[i] = 1
			}
		}()
		checkUnpack(t, new([BlockSize]uint32), rows, BlockSize, width, noDoc)
		<-done
	})
}

// TestUnpackExtremes unpacks the widest values, whose sums wrap around.
func TestUnpackExtremes(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		g := makeGuarded(t)
		for i := range g.memory {
			g.memory[i] = 0xff
		}
		for width := 1; width <= 32; width++ {
			checkUnpack(t, g.dst, g.memory[:RowBytes*width], BlockSize, width, noDoc)
		}
	})
}

func TestExpandBitset(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(43, 44))
		g := makeGuarded(t)
		for rows := 1; rows <= 32; rows++ {
			for n := 1; n <= BlockSize; n++ {
				bits := rng.Perm(128 * rows)[:n]
				if n%3 == 0 { // as close together as possible, at a random place
					first := rng.IntN(128*rows - n + 1)
					for i := range bits {
						bits[i] = first + i
					}
				}
				checkBitset(t, g, rows, bits)
			}
		}
	})
}

func checkBitset(t *testing.T, g guardedBlock, rows int, bits []int) {
	t.Helper()
	set := g.memory[len(g.memory)-RowBytes*rows:]
	clear(set)
	slices.Sort(bits)
	var want [BlockSize]uint32
	for i, bit := range bits {
		set[bit/8] |= 1 << (bit % 8)
		want[i] = 1000 + uint32(bit)
	}
	n := len(bits)
	if ones := expandBitset(g.dst, set, n, 1000); ones != n || !slices.Equal(g.dst[:n], want[:n]) {
		t.Fatalf("%d of %d rows: %d documents %v, want %v", n, rows, ones, g.dst[:n], want[:n])
	}
	// When the number of bits differs from n, it may only return that number.
	*g.dst = [BlockSize]uint32{7}
	for _, other := range []int{n - 1, n + 1} {
		if ones := expandBitset(g.dst, set, other, 1000); ones != n || *g.dst != [BlockSize]uint32{7} {
			t.Fatalf("%d of %d rows, %d expected: %d bits, documents %v", n, rows, other, ones, g.dst)
		}
	}
}

// TestExpandFull expands more bits than a block has documents.
func TestExpandFull(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		g := makeGuarded(t)
		for i := range g.memory {
			g.memory[i] = 0xff
		}
		if ones := expandBitset(g.dst, g.memory[:RowBytes*32], BlockSize, 0); ones != 4096 {
			t.Errorf("%d bits, want 4096", ones)
		}
	})
}

func TestConsecutive(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		g := makeGuarded(t)
		for _, first := range []uint32{0, 1, 1<<31 - 1, 1<<32 - 100} {
			consecutive(g.dst, first)
			for i, d := range g.dst {
				if d != first+uint32(i) {
					t.Fatalf("document %d from %d is %d", i, first, d)
				}
			}
		}
	})
}

func TestOnes(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		g := makeGuarded(t)
		ones(g.dst)
		if want := slices.Repeat([]uint32{1}, BlockSize); !slices.Equal(g.dst[:], want) {
			t.Errorf("ones are %v", g.dst)
		}
	})
}

// TestSeekKernels seeks every document of a block and its neighbors, for every size of block, with
// noise after it.
func TestSeekKernels(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(45, 46))
		g := makeGuarded(t)
		for n := 1; n <= BlockSize; n++ {
			d := rng.Uint32N(3)
			for i := range g.dst {
				d += 1 + rng.Uint32N(3)
				g.dst[i] = d
				if i >= n {
					g.dst[i] = rng.Uint32N(300)
				}
			}
			if n%5 == 0 {
				g.dst[n-1] = MaxDoc - 1
			}
			for _, x := range append([]uint32{0, MaxDoc, End}, g.dst[:n]...) {
				for _, x := range []uint32{x - 1, x, x + 1} {
					want := sort.Search(n, func(i int) bool { return g.dst[i] >= x })
					if got := SeekBlock(g.dst, n, x); got != want {
						t.Fatalf("%d among %v is at %d, want %d", x, g.dst[:n], got, want)
					}
					if n < ExtentBlocks {
						continue
					}
					last := (*[ExtentBlocks]uint32)(g.dst[n-ExtentBlocks : n])
					want = sort.Search(len(last), func(i int) bool { return last[i] >= x })
					if got := seekExtent(last, x); got != want {
						t.Fatalf("%d among %v is at %d, want %d", x, *last, got, want)
					}
				}
			}
		}
	})
}

// FuzzKernels compares all variants with bit-by-bit unpacking and with one another.
func FuzzKernels(f *testing.F) {
	f.Add([]byte{1, 2, 3}, uint8(5), uint8(127), uint32(9))
	f.Add([]byte{0xff, 0}, uint8(24), uint8(50), noDoc)
	f.Fuzz(func(t *testing.T, noise []byte, width, n uint8, prev uint32) {
		g := makeGuarded(t)
		w, count := 1+int(width)%32, 1+int(n)%BlockSize
		rows := g.memory[len(g.memory)-RowBytes*packedRows(count, w):]
		for at := 0; at < len(rows) && len(noise) > 0; {
			at += copy(rows[at:], noise)
		}
		var want []uint32
		for variant := range impl.Each("postings") {
			checkUnpack(t, g.dst, rows, count, w, prev)
			*g.dst = [BlockSize]uint32{}
			ones := expandBitset(g.dst, rows, count, prev)
			got := append([]uint32{uint32(ones)}, g.dst[:count]...)
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s: bits and documents %v, the first variant has %v", variant, got, want)
			}
		}
	})
}

// TestCodedKernels compares the kernels of pfor and rice with plain loops, on noise.
func TestCodedKernels(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(47, 48))
		g := makeGuarded(t)
		memory := guarded(t, 4*(BlockSize+1))
		ends := (*[BlockSize + 1]uint32)(unsafe.Pointer(&memory[0]))
		for low := range 32 {
			var before [BlockSize]uint32
			for i := range before {
				before[i] = rng.Uint32()
			}
			for i := range ends {
				ends[i] = rng.Uint32()
			}
			check := func(what string, want func(i int) uint32) {
				t.Helper()
				for i, got := range g.dst {
					if got != want(i) {
						t.Fatalf("%s, low part of %d bits: value %d is %d, want %d", what, low, i, got, want(i))
					}
				}
			}
			*g.dst = before
			addQuotients(g.dst, ends, low)
			check("quotients", func(i int) uint32 { return before[i] + (ends[i+1]-ends[i]-1)<<low })
			*g.dst = before
			addQuotientSums(g.dst, ends, low)
			check("sums of quotients", func(i int) uint32 { return before[i] + (ends[i+1]-uint32(i))<<low })
			*g.dst = before
			sumUp(g.dst, ends[0])
			sums, sum := before, ends[0]
			for i := range sums {
				sum += sums[i]
				sums[i] = sum
			}
			check("sums", func(i int) uint32 { return sums[i] })
		}
	})
}

// risingNumbers draws 129 numbers that rise from first within a span.
func risingNumbers(rng *rand.Rand, first, span uint32) (v [BlockSize + 1]uint32) {
	inner := map[uint32]bool{}
	for len(inner) < BlockSize-1 {
		inner[1+rng.Uint32N(span-1)] = true
	}
	i := 1
	for x := range inner {
		v[i] = first + x
		i++
	}
	v[0], v[BlockSize] = first, first+span
	slices.Sort(v[1:BlockSize])
	return v
}

// TestReadRising reads codes of every span, at every bit of a byte, with the fewest bytes behind
// them that a reader may need.
func TestReadRising(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(47, 48))
		memory := guarded(t, blockRoom)
		for span := uint32(BlockSize); span < MaxDoc/2; span += 1 + span/16 {
			want := risingNumbers(rng, rng.Uint32N(MaxDoc/2)-1, span)
			skip := rng.IntN(8)
			w := bitWriter{}
			w.put(1<<skip-1, skip)
			w.rising(&want, BlockSize)
			bits := 8*len(w.b) + w.held
			code := memory[:copy(memory, w.flush())]
			for i := len(code); i < len(memory); i++ {
				memory[i] = byte(rng.Uint32())
			}
			v := [BlockSize + 1]uint32{0: want[0], BlockSize: want[BlockSize]}
			if end, ok := readRisingFull(memory, skip, &v); !ok || end != bits || v != want {
				t.Fatalf("span %d after %d bits: ok %v, ends at %d, want %d\n%v, want\n%v", span, skip, ok, end, bits, v, want)
			}
		}
	})
}

// TestReadRisingDamage reads noise as the portable twin does, at the end of the memory.
func TestReadRisingDamage(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(49, 50))
		memory := guarded(t, blockRoom)
		refused := 0
		for range 20000 {
			span := BlockSize + rng.Uint32N(1<<rng.IntN(16))
			for i := range memory {
				memory[i] = byte(rng.Uint32() & rng.Uint32() & rng.Uint32() & rng.Uint32() & rng.Uint32())
			}
			v := [BlockSize + 1]uint32{BlockSize: span}
			want := v
			end, ok := readRisingFull(memory, 3, &v)
			wantEnd, wantOK := readRisingPortable(memory, 3, &want)
			if ok != wantOK || ok && (v != want || end != wantEnd) {
				t.Fatalf("span %d: ok %v to %d, want %v to %d\n%v, want\n%v", span, ok, end, wantOK, wantEnd, v, want)
			}
			if !ok {
				refused++
			}
		}
		if refused == 0 || refused == 20000 {
			t.Errorf("%d of 20000 are refused", refused)
		}
	})
}
