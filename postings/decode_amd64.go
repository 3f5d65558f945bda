//go:build !purego

package postings

import (
	"math"
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/riffle-search/riffle/internal/impl"
)

//go:generate env GOWORK=off go run -C _asm . -out ../decode_amd64.s -pkg postings

// Which variants this CPU has; the first that is set is used. AVX-512 means the extensions of Ice
// Lake and Zen 4. Older CPUs lower their clock for AVX-512 and cannot shuffle bytes, so they use
// AVX2.
var (
	useAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512CD && cpu.X86.HasAVX512DQ &&
		cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VBMI && cpu.X86.HasAVX512VBMI2 && cpu.X86.HasAVX512VNNI && useAVX2
	useAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT
)

func init() {
	impl.Register("postings", "avx512", &useAVX512)
	impl.Register("postings", "avx2", &useAVX2)
}

// The widest values that assembly unpacks. Wider gaps span a million documents, or 33 million, and
// frequencies are rarely above 256: Go is fast enough for them.
const (
	widthAVX512     = 25
	docsWidthAVX2   = 20
	freqsWidthAVX2  = 8
	readBehindBytes = 64 // how far assembly reads past a full block, at most
)

// Assembly reads interpolative codes of numbers in ranges with less room than that.
const (
	rangeAVX512 = 1 << 25
	rangeAVX2   = 1 << 15
)

// unpackDocs reads n gaps minus one of width bits (1 to 31) and sums them up from prev, the last
// document of the previous block. Elements of dst after the first n are undefined. rows must hold
// packedRows(n, width) rows. Memory past them may be read too; its content does not matter and may
// change meanwhile (a Builder appends there).
func unpackDocs(dst *[BlockSize]uint32, rows []byte, n, width int, prev uint32) {
	switch {
	case nearPageEnd(rows, width):
		docsPadded(dst, rows, n, width, prev)
	case useAVX512 && width <= widthAVX512:
		docsAVX512(dst, unsafe.SliceData(rows), width, prev)
	case useAVX2 && width <= docsWidthAVX2:
		docsAVX2(dst, unsafe.SliceData(rows), width, prev)
	default:
		unpackDocsPortable(dst, rows, n, width, prev)
	}
}

// unpackFreqs reads n values of width bits (1 to 32) and adds one to each. dst and rows are as in
// unpackDocs.
func unpackFreqs(dst *[BlockSize]uint32, rows []byte, n, width int) {
	switch {
	case nearPageEnd(rows, width):
		freqsPadded(dst, rows, n, width)
	case useAVX512 && width <= widthAVX512:
		freqsAVX512(dst, unsafe.SliceData(rows), width)
	case useAVX2 && width <= freqsWidthAVX2:
		freqsAVX2(dst, unsafe.SliceData(rows), width)
	default:
		unpackFreqsPortable(dst, rows, n, width)
	}
}

// nearPageEnd reports whether unpacking rows could read unmapped memory. Assembly treats every
// block as full and reads 64 bytes at a time, so it may read past rows. Reads within a page, the
// smallest unit of mapping, are safe.
func nearPageEnd(rows []byte, width int) bool {
	const page = 4096
	reads := RowBytes*width + readBehindBytes
	return uintptr(unsafe.Pointer(unsafe.SliceData(rows)))%page > uintptr(page-reads) && cap(rows) < reads
}

// padded has room for everything that assembly reads of a block.
type padded [32*RowBytes + readBehindBytes]byte

//go:noinline
func docsPadded(dst *[BlockSize]uint32, rows []byte, n, width int, prev uint32) {
	var p padded
	copy(p[:], rows[:RowBytes*packedRows(n, width)])
	unpackDocs(dst, p[:], n, width, prev)
}

//go:noinline
func freqsPadded(dst *[BlockSize]uint32, rows []byte, n, width int) {
	var p padded
	copy(p[:], rows[:RowBytes*packedRows(n, width)])
	unpackFreqs(dst, p[:], n, width)
}

// expandBitset writes the documents whose bits are set in rows, of which it needs at least one. The
// lowest bit is document first. It returns the number of set bits, and writes nothing when that is
// not n.
func expandBitset(dst *[BlockSize]uint32, rows []byte, n int, first uint32) (ones int) {
	switch {
	case useAVX512:
		return bitsetAVX512(dst, unsafe.SliceData(rows), len(rows)/8, n, first)
	case useAVX2:
		return bitsetAVX2(dst, unsafe.SliceData(rows), len(rows)/8, n, first)
	}
	return expandBitsetPortable(dst, rows, n, first)
}

// consecutive writes 128 consecutive documents, beginning with first.
func consecutive(dst *[BlockSize]uint32, first uint32) {
	if useAVX512 || useAVX2 {
		progressionAVX2(dst, first, 1)
		return
	}
	consecutivePortable(dst, first)
}

// ones writes 128 frequencies of 1.
func ones(dst *[BlockSize]uint32) {
	if useAVX512 || useAVX2 {
		progressionAVX2(dst, 1, 0)
		return
	}
	onesPortable(dst)
}

// seekBlock returns how many of the first n documents are below x. Elements after them do not
// matter.
func seekBlock(docs *[BlockSize]uint32, n int, x uint32) int {
	switch {
	case useAVX512:
		return min(n, seekBlockAVX512(docs, x))
	case useAVX2:
		return min(n, seekBlockAVX2(docs, x))
	}
	return seekPortable(docs[:n], x)
}

// seekExtent returns how many of 32 last documents are below x.
func seekExtent(last *[ExtentBlocks]uint32, x uint32) int {
	switch {
	case useAVX512:
		return seekExtentAVX512(last, x)
	case useAVX2:
		return seekExtentAVX2(last, x)
	}
	return seekPortable(last[:], x)
}

// sumUp replaces each of 128 gaps by the sum of prev and the gaps up to it.
func sumUp(gaps *[BlockSize]uint32, prev uint32) {
	if useAVX512 || useAVX2 {
		sumUpAVX2(gaps, prev)
		return
	}
	sumUpPortable(gaps, prev)
}

// addQuotients adds to each of 128 values its quotient times 1<<low; low is 0 to 31. Quotient i is
// ends[i+1]-ends[i]-1.
func addQuotients(values *[BlockSize]uint32, ends *[BlockSize + 1]uint32, low int) {
	if useAVX512 || useAVX2 {
		addQuotientsAVX2(values, ends, low)
		return
	}
	addQuotientsPortable(values, ends, low)
}

// addQuotientSums is like addQuotients, but adds the sum of the quotients up to each. As ends[0] is
// -1, that sum is ends[i+1]-i.
func addQuotientSums(values *[BlockSize]uint32, ends *[BlockSize + 1]uint32, low int) {
	if useAVX512 || useAVX2 {
		addQuotientSumsAVX2(values, ends, low)
		return
	}
	addQuotientSumsPortable(values, ends, low)
}

// readRisingFull is readRising for 128 numbers.
func readRisingFull(b []byte, at int, v *[BlockSize + 1]uint32) (end int, ok bool) {
	bad := 0
	switch room := v[BlockSize] - v[0] - BlockSize; {
	case useAVX512 && room < rangeAVX512:
		end, bad = risingAVX512(v, unsafe.SliceData(b), at)
	case (useAVX512 || useAVX2) && room < rangeAVX2:
		end, bad = risingAVX2(v, unsafe.SliceData(b), at)
	default:
		return readRisingPortable(b, at, v)
	}
	return end, bad >= 0
}

// readDocsFull reads 128 documents between prev and last, which is also written. union has the bits
// of all gaps between them, minus one. Otherwise it is like readRisingFull.
func readDocsFull(dst *[BlockSize]uint32, b []byte, at int, prev, last uint32) (end int, union uint32, ok bool) {
	if useAVX512 && last-prev-BlockSize < rangeAVX512 {
		end, bad, union := blockDocsAVX512(dst, unsafe.SliceData(b), at, prev, last)
		return end, union, bad >= 0
	}
	return docsByRising(dst, b, at, prev, last)
}

// readFreqsFull reads 128 frequencies, given their sum. union has the bits of all, minus one.
func readFreqsFull(dst *[BlockSize]uint32, b []byte, at int, sum uint32) (end int, union uint32, ok bool) {
	if useAVX512 && sum-BlockSize < rangeAVX512 {
		end, bad, union := blockFreqsAVX512(dst, unsafe.SliceData(b), at, sum)
		return end, union, bad >= 0
	}
	return freqsByRising(dst, b, at, sum)
}

// packGapsFull packs the 128 gaps in v, minus one, in width bits each, and returns the union of
// their bits. The rows mean nothing if a gap is wider.
func packGapsFull(to []byte, v *[BlockSize + 1]uint32, width int) (union uint32) {
	if useAVX512 || useAVX2 {
		return packGapsAVX2(unsafe.SliceData(to[:RowBytes*width]), v, width)
	}
	packGapsPortable(to, v, BlockSize, width)
	return unionOfGaps(v, BlockSize)
}

// _asm generates the functions below. All blocks are full, and widths are between 1 and the
// constants above.

//go:noescape
func docsAVX512(dst *[128]uint32, rows *byte, width int, prev uint32)

//go:noescape
func docsAVX2(dst *[128]uint32, rows *byte, width int, prev uint32)

//go:noescape
func freqsAVX512(dst *[128]uint32, rows *byte, width int)

//go:noescape
func freqsAVX2(dst *[128]uint32, rows *byte, width int)

// bitsetAVX512 takes an even number of words, at least two, and n up to 128.
//
//go:noescape
func bitsetAVX512(dst *[128]uint32, rows *byte, words, n int, first uint32) (ones int)

// bitsetAVX2 is like bitsetAVX512.
//
//go:noescape
func bitsetAVX2(dst *[128]uint32, rows *byte, words, n int, first uint32) (ones int)

//go:noescape
func progressionAVX2(dst *[128]uint32, first, step uint32)

//go:noescape
func sumUpAVX2(gaps *[128]uint32, prev uint32)

//go:noescape
func addQuotientsAVX2(values *[128]uint32, ends *[129]uint32, low int)

//go:noescape
func addQuotientSumsAVX2(values *[128]uint32, ends *[129]uint32, low int)

// risingAVX512 reads up to 64 bytes from where a number begins. bad is negative for bits that rising
// does not write.
//
//go:noescape
func risingAVX512(v *[129]uint32, b *byte, at int) (end, bad int)

//go:noescape
func blockDocsAVX512(dst *[128]uint32, b *byte, at int, prev, last uint32) (end, bad int, union uint32)

//go:noescape
func blockFreqsAVX512(dst *[128]uint32, b *byte, at int, sum uint32) (end, bad int, union uint32)

// risingAVX2 reads up to 8 bytes from where a number begins. bad is as in risingAVX512.
//
//go:noescape
func risingAVX2(v *[129]uint32, b *byte, at int) (end, bad int)

// packGapsAVX2 takes widths up to 32, and writes as many rows.
//
//go:noescape
func packGapsAVX2(to *byte, v *[129]uint32, width int) (union uint32)

//go:noescape
func seekBlockAVX512(sorted *[128]uint32, x uint32) int

//go:noescape
func seekBlockAVX2(sorted *[128]uint32, x uint32) int

//go:noescape
func seekExtentAVX512(sorted *[32]uint32, x uint32) int

//go:noescape
func seekExtentAVX2(sorted *[32]uint32, x uint32) int

// unpackPositions unpacks positions of width bits (0 to 16), as positionRows have them. Up to
// NarrowPad elements behind dst may be overwritten.
func unpackPositions(dst []uint16, rows []byte, width int) {
	if n := len(dst); 0 < width && width < 16 && n > 0 && cap(dst) >= n+NarrowPad {
		steps := (n + stepPositions - 1) / stepPositions
		switch {
		case useAVX512:
			positionsAVX512(unsafe.SliceData(dst), unsafe.SliceData(rows), steps, width)
			return
		case useAVX2:
			positionsAVX2(unsafe.SliceData(dst), unsafe.SliceData(rows), steps, width)
			return
		}
	}
	unpackPositionsPortable(dst, rows, width)
}

// unpacksSteps reports whether unpackPositions takes a step about as fast as a few positions.
func unpacksSteps() bool { return useAVX512 || useAVX2 }

// lowAVX2 is the most low bits of a code that assembly reads: with the bits before them, a number
// lies in four bytes.
const lowAVX2 = 25

// readUnary writes the set bits of a code behind the first lowBits, of which the first words*64 may
// be read, until it has written as many as dst has elements. It returns how many it has found; with
// fewer, dst means nothing. Up to unaryPad elements behind dst may be overwritten.
func readUnary(dst []uint32, code []byte, words int) (found int) {
	if (useAVX512 || useAVX2) && cap(dst) >= len(dst)+unaryPad {
		return unaryEndsAVX2(unsafe.SliceData(dst), unsafe.SliceData(code[:8*words]), words, len(dst))
	}
	return readUnaryPortable(dst, code, words)
}

// takeUnary makes numbers of the bits that readUnary has written, whose low bits begin at a bit of in.
// It returns the union of what is above these.
func takeUnary(dst []uint32, in []byte, begin, low int) (union uint32) {
	before, done := uint32(lowBits-1), 0
	if from := begin >> 3; (useAVX512 || useAVX2) && low <= lowAVX2 {
		if steps := min(len(dst)/8, cutSteps(cap(in)-from, low)); steps > 0 {
			done = 8 * steps
			before = dst[done-1]
			union = unaryDeltasAVX2(unsafe.SliceData(dst), unsafe.SliceData(in[from:cap(in)]), steps, low, begin&7)
			begin += low * done
		}
	}
	return union | takeUnaryPortable(dst[done:], in, begin, low, before)
}

// cutSteps returns how many steps of unaryDeltasAVX2 read no more than room bytes.
func cutSteps(room, low int) int {
	room -= (7+4*low)/8 + 16
	switch {
	case room < 0:
		return 0
	case low == 0:
		return math.MaxInt
	}
	return room/low + 1
}

// positionsAVX512 takes widths of 1 to 15. Each step writes 32 positions and reads 64 bytes, of which
// the next one begins after 4 * width.
//
//go:noescape
func positionsAVX512(dst *uint16, rows *byte, steps, width int)

// positionsAVX2 is like positionsAVX512.
//
//go:noescape
func positionsAVX2(dst *uint16, rows *byte, steps, width int)

//go:noescape
func unaryEndsAVX2(dst *uint32, code *byte, words, n int) (found int)

// unaryDeltasAVX2 takes eight numbers at a step. It reads 16 bytes from where their low bits begin,
// and 16 from where those of the fifth do.
//
//go:noescape
func unaryDeltasAVX2(ends *uint32, lows *byte, steps, low, begin int) (union uint32)
