//go:build !purego

package columns

import (
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/riffle-search/riffle/internal/impl"
)

//go:generate env GOWORK=off go run -C _asm . -out ../kernels_amd64.s -pkg columns

// Which variants this CPU has; the first that is set is used. AVX-512 means the extensions of Ice
// Lake and Zen 4, which shuffle and compress bytes across a register.
var (
	useAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VBMI && cpu.X86.HasAVX512VBMI2 && useAVX2
	useAVX2   = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT
)

func init() {
	impl.Register("columns", "avx512", &useAVX512)
	impl.Register("columns", "avx2", &useAVX2)
}

// rangePacked sets a bit for each of n packed numbers of width bits (1 to 57, or 64) that is in
// lo..lo+span, in as many words as that takes. lo+span must have at most width bits. The guard must
// follow the numbers in b.
func rangePacked(set []uint64, b []byte, n, width int, lo, span uint64) {
	words := n / 64
	switch {
	case words == 0 || !useAVX2 && !useAVX512:
		rangePortable(set, b, n, width, lo, span)
		return
	case useAVX512:
		rangeAVX512(unsafe.SliceData(set), unsafe.SliceData(b), words, width, lo, span)
	default:
		rangeAVX2(unsafe.SliceData(set), unsafe.SliceData(b), words, width, lo, span)
	}
	if n%64 > 0 {
		rangePortable(set[words:], b[8*words*width:], n%64, width, lo, span)
	}
}

// unpackKeys writes len(dst) keys: least + divisor times a packed number of width bits (0 to 57, or
// 64). The guard must follow the numbers in b.
func unpackKeys(dst []uint64, b []byte, width int, least, divisor uint64) {
	steps := len(dst) / 8
	switch {
	case steps == 0 || width == 0 || !useAVX2 && !useAVX512:
		unpackKeysPortable(dst, b, width, least, divisor)
		return
	case useAVX512:
		unpackAVX512(unsafe.SliceData(dst), unsafe.SliceData(b), steps, width, least, divisor)
	default:
		unpackAVX2(unsafe.SliceData(dst), unsafe.SliceData(b), steps, width, least, divisor)
	}
	unpackKeysPortable(dst[8*steps:], b[steps*width:], width, least, divisor)
}

// unpack32 writes len(dst) packed numbers of width bits (0 to 25). The guard must follow them in b.
func unpack32(dst []uint32, b []byte, width int) {
	steps := len(dst) / 16
	switch {
	case steps == 0 || width == 0 || !useAVX2 && !useAVX512:
		unpack32Portable(dst, b, width)
		return
	case useAVX512:
		unpack32AVX512(unsafe.SliceData(dst), unsafe.SliceData(b), steps, width)
	default:
		unpack32AVX2(unsafe.SliceData(dst), unsafe.SliceData(b), steps, width)
	}
	unpack32Portable(dst[16*steps:], b[2*steps*width:], width)
}

// gatherKeys writes the keys at some places among packed numbers of width bits (1 to 57, or 64): least +
// divisor times the number. The guard must follow the numbers in b.
func gatherKeys(dst []uint64, b []byte, places []uint16, width int, least, divisor uint64) {
	dst = dst[:len(places)]
	steps := len(dst) / 8
	switch {
	case steps == 0 || !useAVX2 && !useAVX512:
		gatherPortable(dst, b, places, width, least, divisor)
		return
	case useAVX512:
		gatherAVX512(unsafe.SliceData(dst), unsafe.SliceData(b), unsafe.SliceData(places), steps, width, least, divisor)
	default:
		gatherAVX2(unsafe.SliceData(dst), unsafe.SliceData(b), unsafe.SliceData(places), steps, width, least, divisor)
	}
	gatherPortable(dst[8*steps:], b, places[8*steps:], width, least, divisor)
}

// gather32 writes the packed numbers of width bits (1 to 25) at some places, which are below TileDocs.
// The guard must follow the numbers in b.
func gather32(dst []uint32, b []byte, places []uint16, width int) {
	dst = dst[:len(places)]
	steps := len(dst) / 16
	switch {
	case steps == 0 || !useAVX2 && !useAVX512:
		gather32Portable(dst, b, places, width)
		return
	case useAVX512:
		gather32AVX512(unsafe.SliceData(dst), unsafe.SliceData(b), unsafe.SliceData(places), steps, width)
	default:
		gather32AVX2(unsafe.SliceData(dst), unsafe.SliceData(b), unsafe.SliceData(places), steps, width)
	}
	gather32Portable(dst[16*steps:], b, places[16*steps:], width)
}

// stepsOf replaces keys by their steps, of a grid with a table that is not coarse, counted from a first one.
func stepsOf(keys []uint64, g *Grid, first uint64) {
	steps := len(keys) / 8
	switch {
	case steps == 0 || !useAVX2 && !useAVX512:
		stepsPortable(keys, g, first)
		return
	case useAVX512:
		stepsAVX512(unsafe.SliceData(keys), steps, &g.table, first)
	default:
		stepsAVX2(unsafe.SliceData(keys), steps, &g.table, first)
	}
	stepsPortable(keys[8*steps:], g, first)
}

// stepsOf32 replaces packed numbers by the steps of distance + scale times a number, in units of a grid with a table for
// these, counted from a first one, modulo 1<<32.
func stepsOf32(numbers []uint32, g *Grid, scale, distance, first uint32) {
	steps := len(numbers) / 16
	switch {
	case steps == 0 || !useAVX2 && !useAVX512:
		stepsPortable32(numbers, g, scale, distance, first)
		return
	case useAVX512:
		steps32AVX512(unsafe.SliceData(numbers), steps, &g.table32, scale, distance, first)
	default:
		steps32AVX2(unsafe.SliceData(numbers), steps, &g.table32, scale, distance, first)
	}
	stepsPortable32(numbers[16*steps:], g, scale, distance, first)
}

// countUp adds 1 to the count of each number. All numbers must be below len(counts).
func countUp(counts, numbers []uint32) {
	steps := len(numbers) / 8
	if steps > 0 && (useAVX2 || useAVX512) {
		countAMD64(unsafe.SliceData(counts), unsafe.SliceData(numbers), steps)
		numbers = numbers[8*steps:]
	}
	countPortable(counts, numbers)
}

// countLanes is countUp for lanes, four tables at least as long as counts: their sums count. Numbers may go
// to counts, too.
func countLanes(counts, lanes, numbers []uint32) {
	steps := len(numbers) / 8
	if steps > 0 && (useAVX2 || useAVX512) {
		lanesAMD64(unsafe.SliceData(lanes), len(lanes), unsafe.SliceData(numbers), steps)
		numbers = numbers[8*steps:]
	}
	countPortable(counts, numbers)
}

// foldLanes adds the sums of lanes to counts, and clears the lanes.
func foldLanes(counts, lanes []uint32) {
	steps := len(counts) / 8
	if steps > 0 && (useAVX2 || useAVX512) {
		foldAVX2(unsafe.SliceData(counts), unsafe.SliceData(lanes), len(lanes), steps)
	} else {
		steps = 0
	}
	foldRest(counts, lanes, 8*steps)
}

// foldRest adds the counts of four tables to others, from one on, and clears the tables.
func foldRest(counts, lanes []uint32, from int) {
	stride := len(lanes) / 4
	for i := from; i < len(counts); i++ {
		for at := i; at < len(lanes); at += stride {
			counts[i] += lanes[at]
			lanes[at] = 0
		}
	}
}

// countSeveral adds 1 to the count of each different one of the packed numbers of documents: every (2 or
// more) of width bits each, of at most 57 together, which ascend. ranks are those of the documents. All numbers
// must be below len(counts).
func countSeveral(counts []uint32, b []byte, ranks []uint16, width, every int) {
	if len(ranks) > 0 && (useAVX2 || useAVX512) {
		severalBMI2(unsafe.SliceData(counts), unsafe.SliceData(b), unsafe.SliceData(ranks), len(ranks), width, every)
		return
	}
	severalPortable(counts, b, ranks, width, every)
}

// sum32 adds numbers to none.
func sum32(numbers []uint32) (s sums32) {
	steps := len(numbers) / 8
	if steps == 0 || !useAVX2 && !useAVX512 {
		s.least = noLeast
		s.sum32Portable(numbers)
		return s
	}
	sumAVX2(&s.sum[0], unsafe.SliceData(numbers), steps)
	s.sum32Portable(numbers[8*steps:])
	return s
}

// deposit moves the bits of set, one for each document that has a value, to those documents.
func deposit(set, has *[tileWords]uint64, docs int) {
	if useAVX2 || useAVX512 {
		depositBMI2(set, has, docs)
		return
	}
	depositPortable(set, has)
}

// anyOf sets a bit for each document of which a value was found. ends has a bit for the last value of
// each. Both are as long as the values take, with zeros behind them. set must be clear.
func anyOf(set *[tileWords]uint64, found, ends []uint64) {
	if useAVX2 || useAVX512 {
		anyBMI2(&set[0], unsafe.SliceData(found), unsafe.SliceData(ends), len(found))
		return
	}
	anyPortable(set, found, ends)
}

// docsOf writes the documents of a set, and returns how many there are. Those behind are undefined.
func docsOf(dst *[TileDocs]uint16, set *[tileWords]uint64) (n int) {
	switch {
	case useAVX512:
		return docsAVX512(dst, set)
	case useAVX2:
		return docsAVX2(dst, set)
	}
	return docsPortable(dst, set)
}

// onesOf returns the number of bits that are set.
func onesOf(set *[tileWords]uint64) int {
	if useAVX2 || useAVX512 {
		return onesPOPCNT(set)
	}
	return onesPortable(set)
}

//go:noescape
func rangeAVX512(set *uint64, b *byte, words, width int, lo, span uint64)

//go:noescape
func rangeAVX2(set *uint64, b *byte, words, width int, lo, span uint64)

//go:noescape
func unpackAVX512(dst *uint64, b *byte, steps, width int, least, divisor uint64)

//go:noescape
func unpackAVX2(dst *uint64, b *byte, steps, width int, least, divisor uint64)

//go:noescape
func unpack32AVX512(dst *uint32, b *byte, steps, width int)

//go:noescape
func unpack32AVX2(dst *uint32, b *byte, steps, width int)

//go:noescape
func gatherAVX512(dst *uint64, b *byte, places *uint16, steps, width int, least, divisor uint64)

//go:noescape
func gatherAVX2(dst *uint64, b *byte, places *uint16, steps, width int, least, divisor uint64)

//go:noescape
func gather32AVX512(dst *uint32, b *byte, places *uint16, steps, width int)

//go:noescape
func gather32AVX2(dst *uint32, b *byte, places *uint16, steps, width int)

//go:noescape
func stepsAVX512(keys *uint64, steps int, table *gridTable, first uint64)

//go:noescape
func stepsAVX2(keys *uint64, steps int, table *gridTable, first uint64)

//go:noescape
func steps32AVX512(numbers *uint32, steps int, table *gridTable32, scale, distance, first uint32)

//go:noescape
func steps32AVX2(numbers *uint32, steps int, table *gridTable32, scale, distance, first uint32)

//go:noescape
func countAMD64(counts, numbers *uint32, steps int)

//go:noescape
func lanesAMD64(lanes *uint32, stride int, numbers *uint32, steps int)

//go:noescape
func foldAVX2(counts, lanes *uint32, stride, steps int)

// sumAVX2 writes a whole sums32.
//
//go:noescape
func sumAVX2(into *uint64, numbers *uint32, steps int)

//go:noescape
func depositBMI2(set, has *[64]uint64, docs int)

// anyBMI2 writes as many words of set as there are documents.
//
//go:noescape
func anyBMI2(set, found, ends *uint64, words int)

//go:noescape
func severalBMI2(counts *uint32, b *byte, ranks *uint16, n, width, every int)

//go:noescape
func docsAVX512(dst *[4096]uint16, set *[64]uint64) (n int)

//go:noescape
func docsAVX2(dst *[4096]uint16, set *[64]uint64) (n int)

//go:noescape
func onesPOPCNT(set *[64]uint64) (n int)
