package postings

// unpackDocs reads n gaps of width bits (1 to 31) and sums them up from prev, the
// last document of the block before. It writes up to three values more than n.
// rows must hold packedRows(n, width) rows.
//
// The sum costs one addition in the chain of dependencies for every four
// documents: within a row, x + x<<32 is the running sum of two lanes.
func unpackDocs(dst *[BlockSize]uint32, rows []byte, n, width int, prev uint32) {
	l := makeLanes(rows, width)
	for i := 0; i < n; i += 4 {
		lo, hi := l.next()
		lo, hi = lo+lanes2, hi+lanes2
		lo, hi = lo+lo<<32, hi+hi<<32
		d := dst[i&(BlockSize-4) : i&(BlockSize-4)+4 : BlockSize]
		mid := prev + uint32(lo>>32)
		d[0], d[1] = prev+uint32(lo), mid
		prev = mid + uint32(hi>>32)
		d[2], d[3] = mid+uint32(hi), prev
	}
}

// unpackFreqs reads n values of width bits (1 to 32) and adds one to each. It
// writes up to three values more than n. rows must hold packedRows(n, width) rows.
func unpackFreqs(dst *[BlockSize]uint32, rows []byte, n, width int) {
	l := makeLanes(rows, width)
	for i := 0; i < n; i += 4 {
		lo, hi := l.next()
		d := dst[i&(BlockSize-4) : i&(BlockSize-4)+4 : BlockSize]
		d[0], d[1] = uint32(lo)+1, uint32(lo>>32)+1
		d[2], d[3] = uint32(hi)+1, uint32(hi>>32)+1
	}
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
	// The value goes on in the next row. What shifting moves across the middle
	// lands on bits that the masks clear.
	have := 32 - s
	low := uint64(1<<have-1) * lanes2
	l.load()
	l.shift = l.width - have
	return lo&low | l.lo<<(have&63)&(l.mask&^low), hi&low | l.hi<<(have&63)&(l.mask&^low)
}
