//go:build !amd64 || purego

package postings

func unpackDocs(dst *[BlockSize]uint32, rows []byte, n, width int, prev uint32) {
	unpackDocsPortable(dst, rows, n, width, prev)
}

func unpackFreqs(dst *[BlockSize]uint32, rows []byte, n, width int) {
	unpackFreqsPortable(dst, rows, n, width)
}

func expandBitset(dst *[BlockSize]uint32, rows []byte, n int, first uint32) (ones int) {
	return expandBitsetPortable(dst, rows, n, first)
}

func consecutive(dst *[BlockSize]uint32, first uint32) { consecutivePortable(dst, first) }

func ones(dst *[BlockSize]uint32) { onesPortable(dst) }

func sumUp(gaps *[BlockSize]uint32, prev uint32) { sumUpPortable(gaps, prev) }

func addQuotients(values *[BlockSize]uint32, ends *[BlockSize + 1]uint32, low int) {
	addQuotientsPortable(values, ends, low)
}

func addQuotientSums(values *[BlockSize]uint32, ends *[BlockSize + 1]uint32, low int) {
	addQuotientSumsPortable(values, ends, low)
}

func readRisingFull(b []byte, at int, v *[BlockSize + 1]uint32) (end int, ok bool) {
	return readRisingPortable(b, at, v)
}

func readDocsFull(dst *[BlockSize]uint32, b []byte, at int, prev, last uint32) (end int, union uint32, ok bool) {
	return docsByRising(dst, b, at, prev, last)
}

func readFreqsFull(dst *[BlockSize]uint32, b []byte, at int, sum uint32) (end int, union uint32, ok bool) {
	return freqsByRising(dst, b, at, sum)
}

func packGapsFull(to []byte, v *[BlockSize + 1]uint32, width int) (union uint32) {
	packGapsPortable(to, v, BlockSize, width)
	return unionOfGaps(v, BlockSize)
}

func seekBlock(docs *[BlockSize]uint32, n int, x uint32) int { return seekPortable(docs[:n], x) }

func seekExtent(last *[ExtentBlocks]uint32, x uint32) int { return seekPortable(last[:], x) }

func unpackPositions(dst []uint16, rows []byte, width int) {
	unpackPositionsPortable(dst, rows, width)
}

func unpacksSteps() bool { return false }

func readUnary(dst []uint32, code []byte, words int) (found int) {
	return readUnaryPortable(dst, code, words)
}

func takeUnary(dst []uint32, in []byte, begin, low int) (union uint32) {
	return takeUnaryPortable(dst, in, begin, low, lowBits-1)
}
