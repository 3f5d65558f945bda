package postings

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// wideFreqs is the most bits of a frequency minus one with which the sum of 128 frequencies stays
// below 1<<32. Wider ones do not occur in text and are not coded by their sums.
const wideFreqs = 24

// maxBlockBits is the most that even a damaged block can take as a bit string: its numbers have 32
// bits each, and so has the sum of its frequencies.
const maxBlockBits = 32 * (2*BlockSize + 1)

// blockRoom is how many bytes from the beginning of a block are read, at most: assembly reads 64 from
// where a number begins.
const blockRoom = maxBlockBits/8 + 64

// A bitWriter appends bits to bytes, lowest first.
type bitWriter struct {
	b    []byte
	acc  uint64
	held int // bits of acc that are not in b yet, below 32 between calls
}

// put appends the low n bits of v, at most 32. The other bits must be 0.
func (w *bitWriter) put(v uint32, n int) {
	w.acc |= uint64(v) << (w.held & 63)
	if w.held += n; w.held >= 32 {
		w.b = binary.LittleEndian.AppendUint32(w.b, uint32(w.acc))
		w.acc >>= 32
		w.held -= 32
	}
}

// len is the number of bits written.
func (w *bitWriter) len() int { return 8*len(w.b) + w.held }

// flush fills up the last byte with zeros and returns all bytes.
func (w *bitWriter) flush() []byte {
	for ; w.held > 0; w.held -= 8 {
		w.b = append(w.b, byte(w.acc))
		w.acc >>= 8
	}
	w.acc, w.held = 0, 0
	return w.b
}

// rising writes the numbers between v[0] and v[n], which rise strictly. It writes each number as
// its distance from the least possible value, in as many bits as the greatest possible distance
// takes. The middle number comes first, then the middles of the halves, and so on.
func (w *bitWriter) rising(v *[BlockSize + 1]uint32, n int) {
	if n == BlockSize {
		w.risingFull(v)
		return
	}
	for step := BlockSize / 2; step > 0; step /= 2 {
		for i := step; i < n; i += 2 * step {
			behind := min(i+step, n)
			least := v[i-step] + uint32(step)
			most := v[behind] - uint32(behind-i)
			w.put(v[i]-least, bits.Len32(most-least))
		}
	}
}

// risingFull is rising for 128 numbers, whose halves all have the same size. For each number it
// writes eight bytes, and later numbers overwrite the unused bits. So no branch depends on the
// bits.
func (w *bitWriter) risingFull(v *[BlockSize + 1]uint32) {
	const most = 4*BlockSize + 8 // bytes
	b := slices.Grow(w.b, most)
	at, acc, held := len(b), w.acc, w.held
	b = b[:at+most]
	for step := BlockSize / 2; step > 0; step /= 2 {
		next := v[0]
		for i := step; i < BlockSize; i += 2 * step {
			least := next + uint32(step)
			next = v[i+step]
			acc |= uint64(v[i]-least) << (held & 63)
			held += bits.Len32(next - uint32(step) - least)
			binary.LittleEndian.PutUint64(b[at:], acc)
			at += held >> 3
			acc >>= held & 56
			held &= 7
		}
	}
	w.b, w.acc, w.held = b[:at], acc, held
}

// readRising is the reverse of rising. v[0] and v[n] are given and lie n or more apart. It reads b
// from bit at and returns the bit after the last it read. b must have blockRoom bytes from the beginning
// of the block. ok is false for bits that rising does not write.
func readRising(b []byte, at int, v *[BlockSize + 1]uint32, n int) (end int, ok bool) {
	if n == BlockSize {
		return readRisingFull(b, at, v)
	}
	bad := uint64(0)
	for step := BlockSize / 2; step > 0; step /= 2 {
		for i := step; i < n; i += 2 * step {
			behind := min(i+step, n)
			least := v[i-step] + uint32(step)
			most := v[behind] - uint32(behind-i)
			width := bits.Len32(most - least)
			x := binary.LittleEndian.Uint64(b[at>>3:]) >> (at & 7) & (1<<width - 1)
			bad |= uint64(most-least) - x // negative when x is too large
			v[i] = least + uint32(x)
			at += width
		}
	}
	return at, bad>>63 == 0
}

// readRisingPortable is readRisingFull in Go. The halves of 128 numbers all have the same size.
func readRisingPortable(b []byte, at int, v *[BlockSize + 1]uint32) (end int, ok bool) {
	bad := uint64(0)
	for step := BlockSize / 2; step > 0; step /= 2 {
		next := v[0]
		for i := step; i < BlockSize; i += 2 * step {
			least := next + uint32(step)
			next = v[i+step]
			room := next - uint32(step) - least
			width := uint(bits.Len32(room))
			x := binary.LittleEndian.Uint64(b[at>>3:]) >> (at & 7) & (1<<(width&63) - 1)
			bad |= uint64(room) - x
			v[i] = least + uint32(x)
			at += int(width)
		}
	}
	return at, bad>>63 == 0
}

// docsByRising is readDocsFull by readRisingFull.
func docsByRising(dst *[BlockSize]uint32, b []byte, at int, prev, last uint32) (end int, union uint32, ok bool) {
	v := [BlockSize + 1]uint32{0: prev, BlockSize: last}
	end, ok = readRisingFull(b, at, &v)
	copy(dst[:], v[1:])
	return end, packGapsFull(nil, &v, 0), ok
}

// freqsByRising is readFreqsFull by readRisingFull.
func freqsByRising(dst *[BlockSize]uint32, b []byte, at int, sum uint32) (end int, union uint32, ok bool) {
	v := [BlockSize + 1]uint32{BlockSize: sum}
	end, ok = readRisingFull(b, at, &v)
	for i := range dst {
		dst[i] = v[i+1] - v[i]
	}
	return end, packGapsFull(nil, &v, 0), ok
}

// appendBits writes a block that follows document prev, and returns the encoding that its rows will
// have.
func (k *block) appendBits(w *bitWriter, prev uint32) Encoding {
	var v [BlockSize + 1]uint32
	v[0] = prev
	copy(v[1:], k.docs[:k.n])
	w.rising(&v, k.n)
	width := gapsWidth(&v, k.n)
	kind := betterKind(packedRows(k.n, width), prev, v[1], v[k.n], k.n)
	switch kind {
	case Run:
		width = 0
	case Bitset:
		width = bitsetRows(v[k.n] - prev)
	}
	freqWidth := k.freqWidth()
	k.appendFreqs(w, freqWidth)
	return makeEncoding(kind, width, Packed, freqWidth)
}

// freqWidth is the number of bits of the highest frequency, minus one.
func (k *block) freqWidth() int {
	union := uint32(0)
	for _, tf := range k.tfs[:k.n] {
		union |= tf - 1
	}
	return bits.Len32(union)
}

// appendDocs writes the documents of a block that follows document prev. It omits the last
// document, which the directory states.
func (k *block) appendDocs(w *bitWriter, prev uint32) {
	var v [BlockSize + 1]uint32
	v[0] = prev
	copy(v[1:], k.docs[:k.n])
	w.rising(&v, k.n)
}

// appendFreqs writes the frequencies of a block as running sums. width is the number of bits of the
// widest, minus one.
func (k *block) appendFreqs(w *bitWriter, width int) {
	switch {
	case width == 0:
	case width > wideFreqs:
		for _, tf := range k.tfs[:k.n] {
			w.put(tf-1, width)
		}
	default:
		v := k.sums()
		w.put(v[k.n]-uint32(k.n), sumWidth(k.n, width))
		w.rising(&v, k.n)
	}
}

// sums returns the running sums of the frequencies, beginning with 0.
func (k *block) sums() (v [BlockSize + 1]uint32) {
	for i, tf := range k.tfs[:k.n] {
		v[i+1] = v[i] + tf
	}
	return v
}

// sumWidth is the number of bits of the sum of n numbers of width bits each.
func sumWidth(n, width int) int { return bits.Len32(uint32(n) * (1<<width - 1)) }

// readDocs is the reverse of appendDocs. It reads the documents of a block after prev, given the
// last, which is at least n after prev.
func (k *block) readDocs(b []byte, at int, prev, last uint32) (end int, ok bool) {
	var v [BlockSize + 1]uint32
	v[0], v[k.n] = prev, last
	end, ok = readRising(b, at, &v, k.n)
	copy(k.docs[:], v[1:])
	return end, ok
}

// readFreqs is the reverse of appendFreqs.
func (k *block) readFreqs(b []byte, at int, width int) (end int, ok bool) {
	switch {
	case width == 0:
		ones(&k.tfs)
		return at, true
	case width > wideFreqs:
		for i := range k.n {
			tf := uint32(binary.LittleEndian.Uint64(b[at>>3:])>>(at&7)&(1<<width-1)) + 1
			if tf == 0 {
				return at, false
			}
			k.tfs[i] = tf
			at += width
		}
		return at, true
	}
	sum := sumWidth(k.n, width)
	total := uint32(binary.LittleEndian.Uint64(b[at>>3:])>>(at&7)&(1<<sum-1)) + uint32(k.n)
	return k.readSums(b, at+sum, total)
}

// readSums reads frequencies whose sum is known.
func (k *block) readSums(b []byte, at int, total uint32) (end int, ok bool) {
	var v [BlockSize + 1]uint32
	v[k.n] = total
	end, ok = readRising(b, at, &v, k.n)
	for i := range k.n {
		k.tfs[i] = v[i+1] - v[i]
	}
	return end, ok
}

// copyBits appends bits [from, end) of b.
func (w *bitWriter) copyBits(b []byte, from, end int) {
	for ; end-from > 32; from += 32 {
		w.put(bitsAt(b, from), 32)
	}
	w.put(bitsAt(b, from)&(1<<(end-from)-1), end-from)
}

// room returns the bytes of b if a whole block can be read from them, else a copy padded with
// zeros.
func room(b []byte, copied *[blockRoom]byte) []byte {
	if len(b) >= len(copied) {
		return b
	}
	clear(copied[copy(copied[:], b):])
	return copied[:]
}

// decodeBits turns the bit string of a chunk into the given number of rows, for blocks [from, to).
func (l *List) decodeBits(body []byte, from, to, rows int) (dst []byte, err error) {
	dst = make([]byte, 0, RowBytes*rows+GuardBytes) // at most 64 KiB
	var copied [blockRoom]byte
	at := 0
	for b := from; b < to; b++ {
		in, e, n := room(body[at/8:], &copied), l.Enc[b], l.BlockLen(b)
		end := 0
		if dst, end, err = appendDocRows(dst, in, at%8, e, n, l.before(b), l.Last[b]); err == nil {
			dst, end, err = appendFreqRows(dst, in, end, e, n)
		}
		if at += end - at%8; err == nil && at > 8*len(body) {
			err = corrupt.New(len(body), "%d bits, %d bytes", at, len(body))
		}
		if err != nil {
			return nil, inBlock(err, b)
		}
	}
	return dst, endOfBits(body, at)
}

// endOfBits returns an error unless only zeros, less than a byte, follow the last block.
func endOfBits(body []byte, at int) error {
	if (at+7)/8 != len(body) || at%8 != 0 && body[len(body)-1]>>(at%8) != 0 {
		return corrupt.New(at/8, "%d bits, %d bytes", at, len(body))
	}
	return nil
}

// readDocsAs reads the documents of a block of n postings to v[1:]. They must match encoding e.
func readDocsAs(v *[BlockSize + 1]uint32, in []byte, at int, e Encoding, n int, prev, last uint32) (end int, err error) {
	v[0], v[n] = prev, last
	end, ok := readRising(in, at, v, n)
	if !ok {
		return end, errNoCode()
	}
	return end, docsMatch(prev, v[1], last, gapsWidth(v, n), e, n)
}

// docsMatch returns an error unless n documents, from first to last after prev, whose widest gap has
// the given width, are written in encoding e.
func docsMatch(prev, first, last uint32, width int, e Encoding, n int) error {
	kind := betterKind(packedRows(n, width), prev, first, last, n)
	if kind != e.Kind() || kind == Packed && width != e.docWidth() {
		return corrupt.New(0, "documents are %v in %d bits, the directory says %v", kind, width, e)
	}
	return nil
}

// readFreqsAs reads the frequencies of a block of n postings as running sums to v, beginning with
// 0. Sums of wide frequencies wrap around. The frequencies must match encoding e.
func readFreqsAs(v *[BlockSize + 1]uint32, in []byte, at int, e Encoding, n int) (end int, err error) {
	if end, err = readSumsAs(v, in, at, e, n); err == nil {
		err = freqsMatch(gapsWidth(v, n), e)
	}
	return end, err
}

// freqsMatch returns an error unless frequencies minus one of the given width are written in
// encoding e.
func freqsMatch(width int, e Encoding) error {
	if width != e.freqWidth() {
		return corrupt.New(0, "frequencies take %d bits, the directory says %v", width, e)
	}
	return nil
}

// readSumsAs is readFreqsAs without the check of the frequencies.
func readSumsAs(v *[BlockSize + 1]uint32, in []byte, at int, e Encoding, n int) (end int, err error) {
	width, packed := e.packedFreqs()
	if !packed {
		return at, corrupt.New(0, "frequencies are packed, the directory says %v", e)
	}
	ok := true
	if width > wideFreqs {
		k := block{n: n}
		end, ok = k.readFreqs(in, at, width)
		*v = k.sums()
	} else {
		sum := sumWidth(n, width)
		v[0], v[n] = 0, uint32(binary.LittleEndian.Uint64(in[at>>3:])>>(at&7)&(1<<sum-1))+uint32(n)
		end, ok = readRising(in, at+sum, v, n)
	}
	if !ok {
		return end, errNoCode()
	}
	return end, nil
}

// appendDocRows reads the documents of a block of n postings and appends their rows.
func appendDocRows(dst, in []byte, at int, e Encoding, n int, prev, last uint32) (rows []byte, end int, err error) {
	var v [BlockSize + 1]uint32
	v[0], v[n] = prev, last
	end, ok := readRising(in, at, &v, n)
	if !ok {
		return dst, end, errNoCode()
	}
	rows = dst[:len(dst)+RowBytes*e.docRows(n)]
	to, width := rows[len(dst):], 0
	if e.Kind() == Packed {
		width = packGaps(to, &v, n, e.docWidth())
	} else {
		width = gapsWidth(&v, n)
	}
	if err = docsMatch(prev, v[1], last, width, e, n); err == nil && e.Kind() == Bitset {
		putBitset(to, &v, n)
	}
	return rows, end, err
}

// appendFreqRows is appendDocRows for frequencies.
func appendFreqRows(dst, in []byte, at int, e Encoding, n int) (rows []byte, end int, err error) {
	if width, packed := e.packedFreqs(); packed && width == 0 {
		return dst, at, nil
	}
	var v [BlockSize + 1]uint32
	if end, err = readSumsAs(&v, in, at, e, n); err != nil {
		return dst, end, err
	}
	rows = dst[:len(dst)+RowBytes*e.freqRows(n)]
	return rows, end, freqsMatch(packGaps(rows[len(dst):], &v, n, e.freqWidth()), e)
}

func errNoCode() error { return corrupt.New(0, "the bits are no interpolative code") }

// gapsWidth is the number of bits of the widest of the n gaps in v, minus one.
func gapsWidth(v *[BlockSize + 1]uint32, n int) int {
	if n == BlockSize {
		return bits.Len32(packGapsFull(nil, v, 0))
	}
	return bits.Len32(unionOfGaps(v, n))
}

// unionOfGaps has the bits of all n gaps in v, minus one.
func unionOfGaps(v *[BlockSize + 1]uint32, n int) uint32 {
	union, before := uint32(0), v[0]
	for _, x := range v[1 : n+1] {
		union |= x - before - 1
		before = x
	}
	return union
}

// packGaps writes the n gaps in v, minus one, packed in width bits each, and returns the width that
// they need. If that is another one, the rows mean nothing.
func packGaps(to []byte, v *[BlockSize + 1]uint32, n, width int) int {
	if n == BlockSize {
		return bits.Len32(packGapsFull(to, v, width))
	}
	packGapsPortable(to, v, n, width)
	return gapsWidth(v, n)
}

// packGapsPortable is packGaps in Go, without the width.
func packGapsPortable(to []byte, v *[BlockSize + 1]uint32, n, width int) {
	if width == 0 {
		return
	}
	for i := n; i < BlockSize; i++ {
		v[i+1] = v[i] + 1
	}
	var a, b, c, d uint64 // as in appendPacked
	held := uint(0)
	for i := 0; i < n; i += 4 {
		g := v[i : i+5 : i+5]
		a |= uint64(g[1]-g[0]-1) << (held & 63)
		b |= uint64(g[2]-g[1]-1) << (held & 63)
		c |= uint64(g[3]-g[2]-1) << (held & 63)
		d |= uint64(g[4]-g[3]-1) << (held & 63)
		if held += uint(width); held >= 32 {
			to = putRow(to, a, b, c, d)
			a, b, c, d = a>>32, b>>32, c>>32, d>>32
			held -= 32
		}
	}
	if held > 0 {
		putRow(to, a, b, c, d)
	}
}

// putBitset writes the n documents in v[1:] as rows of bits. The lowest bit is document v[0] + 1.
func putBitset(to []byte, v *[BlockSize + 1]uint32, n int) {
	var words [64]uint64 // a bitset never has more rows than packed gaps: 32
	first := v[0] + 1
	set := func(d uint32) { words[(d-first)/64%64] |= 1 << ((d - first) % 64) }
	if n == BlockSize {
		for i := 1; i <= BlockSize/4; i++ { // a word is rarely changed twice in a row
			set(v[i])
			set(v[i+BlockSize/4])
			set(v[i+BlockSize/2])
			set(v[i+3*BlockSize/4])
		}
	} else {
		for _, d := range v[1 : n+1] {
			set(d)
		}
	}
	for i := range len(to) / 8 {
		binary.LittleEndian.PutUint64(to[8*i:], words[i])
	}
}

// putRow writes the low words of the four lanes and returns the bytes after them.
func putRow(to []byte, a, b, c, d uint64) []byte {
	_ = to[RowBytes-1]
	binary.LittleEndian.PutUint64(to, uint64(uint32(a))|b<<32)
	binary.LittleEndian.PutUint64(to[8:], uint64(uint32(c))|d<<32)
	return to[RowBytes:]
}
