package proximity

// Exact phrases, of which the positions of each word are at hand as 16 bits. Equal positions of a word
// count once.

// CountPair returns how many times two words stand at some distance: positions of b minus those of a.
func CountPair(a, b []uint16, distance int) (n int) {
	i, j, last := 0, 0, -1
	for i < len(a) && j < len(b) {
		x, y := int(a[i])+distance, int(b[j])
		if x == y && x != last {
			n, last = n+1, x
		}
		if x <= y {
			i++
		}
		if y <= x {
			j++
		}
	}
	return n
}

// KeepPair is CountPair, and writes these positions of b to dst, which has room for them.
func KeepPair(dst, a, b []uint16, distance int) (n int) {
	i, j, last := 0, 0, -1
	for i < len(a) && j < len(b) {
		x, y := int(a[i])+distance, int(b[j])
		if x == y && x != last {
			dst[n] = uint16(y)
			n, last = n+1, x
		}
		if x <= y {
			i++
		}
		if y <= x {
			j++
		}
	}
	return n
}

// AppendStarts appends the places at which a phrase may begin, given the positions of two of its words
// and their offsets.
func AppendStarts(dst []int32, a, b []uint16, offsetA, offsetB uint32) []int32 {
	i, j, distance, last := 0, 0, int(offsetB)-int(offsetA), -1
	for i < len(a) && j < len(b) {
		x, y := int(a[i])+distance, int(b[j])
		if x == y && x != last {
			dst, last = append(dst, int32(x-int(offsetB))), x
		}
		if x <= y {
			i++
		}
		if y <= x {
			j++
		}
	}
	return dst
}

// KeepStarts keeps the places at which a word of the phrase stands at its offset.
func KeepStarts(starts []int32, p []uint16, offset uint32) []int32 {
	n, j := 0, 0
	for _, at := range starts {
		want := int(at) + int(offset)
		for j < len(p) && int(p[j]) < want {
			j++
		}
		if j == len(p) {
			break
		}
		if int(p[j]) == want {
			starts[n] = at
			n++
		}
	}
	return starts[:n]
}
