package postings

import "encoding/binary"

//go:generate go run ./unroll

// unpackDocsPortable is unpackDocs in Go. It writes up to three values past n.
//
// Full blocks of common widths have generated functions (see unroll) that take 38 to 57 ns per
// block. The loop takes 90 to 120 ns.
func unpackDocsPortable(dst *[BlockSize]uint32, rows []byte, n, width int, prev uint32) {
	if n > BlockSize-4 && width < len(docsByWidth) {
		docsByWidth[width](dst, rows, prev)
		return
	}
	loopDocs(dst, rows, n, width, prev)
}

// loopDocs is unpackDocsPortable for any n and width.
func loopDocs(dst *[BlockSize]uint32, rows []byte, n, width int, prev uint32) {
	l := makeLanes(rows, width)
	for i := 0; i < n; i += 4 {
		lo, hi := l.next()
		prev = sumGroup(dst, i&(BlockSize-4), lo, hi, prev)
	}
}

// unpackFreqsPortable is unpackFreqs in Go. It writes up to three values past n.
func unpackFreqsPortable(dst *[BlockSize]uint32, rows []byte, n, width int) {
	if n > BlockSize-4 && width < len(freqsByWidth) {
		freqsByWidth[width](dst, rows)
		return
	}
	loopFreqs(dst, rows, n, width)
}

// loopFreqs is unpackFreqsPortable for any n and width.
func loopFreqs(dst *[BlockSize]uint32, rows []byte, n, width int) {
	l := makeLanes(rows, width)
	for i := 0; i < n; i += 4 {
		lo, hi := l.next()
		putGroup(dst, i&(BlockSize-4), lo, hi)
	}
}

// sumGroup writes documents i to i+3, whose gaps minus one are the lanes of lo and hi, and returns
// the last of them. x + x<<32 is the running sum of two lanes, so only two additions per group wait
// for the previous group. (Folding the ones into the four stores, to save two additions, measured
// 20 % slower.)
func sumGroup(dst *[BlockSize]uint32, i int, lo, hi uint64, prev uint32) uint32 {
	lo, hi = lo+lanes2, hi+lanes2
	lo, hi = lo+lo<<32, hi+hi<<32
	mid := prev + uint32(lo>>32)
	dst[i], dst[i+1] = prev+uint32(lo), mid
	prev = mid + uint32(hi>>32)
	dst[i+2], dst[i+3] = mid+uint32(hi), prev
	return prev
}

// putGroup writes frequencies i to i+3. The lanes of lo and hi hold them minus one.
func putGroup(dst *[BlockSize]uint32, i int, lo, hi uint64) {
	dst[i], dst[i+1] = uint32(lo)+1, uint32(lo>>32)+1
	dst[i+2], dst[i+3] = uint32(hi)+1, uint32(hi>>32)+1
}

// loadRow returns lanes 0 and 1, and lanes 2 and 3, of a row.
func loadRow(row []byte) (lo, hi uint64) {
	_ = row[15]
	return binary.LittleEndian.Uint64(row), binary.LittleEndian.Uint64(row[8:])
}

// next returns the next value of each lane: lanes 0 and 1, then 2 and 3, the lower
// lane in the lower half.
func (l *lanes) next() (lo, hi uint64) {
	if l.shift == 32 {
		l.load()
		l.shift = 0
	}
	s := l.shift
	lo, hi = l.lo>>(s&63), l.hi>>(s&63)
	if s+l.width <= 32 {
		l.shift = s + l.width
		return lo & l.mask, hi & l.mask
	}
	// The value continues in the next row. Bits that the shift moves across the middle are cleared
	// by the masks.
	have := 32 - s
	low := uint64(1<<have-1) * lanes2
	l.load()
	l.shift = l.width - have
	return lo&low | l.lo<<(have&63)&(l.mask&^low), hi&low | l.hi<<(have&63)&(l.mask&^low)
}
