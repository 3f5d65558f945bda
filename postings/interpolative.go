package postings

import (
	"encoding/binary"
	"math/bits"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// wideFreqs is the most bits of a frequency minus one with which 128 frequencies sum up to
// less than 1<<32. Wider ones, which no text has, are not coded by their sums.
const wideFreqs = 24

// maxBlockBits is the most that a block can take as a bit string, and be it damaged: its
// numbers have 32 bits each, and the sum of its frequencies too.
const maxBlockBits = 32 * (2*BlockSize + 1)

// A bitWriter appends bits to bytes, lowest first.
type bitWriter struct {
	b    []byte
	acc  uint64
	held int // bits of acc that are not in b yet, below 32 between calls
}

// put appends the low n bits of v, at most 32; the others must be 0.
func (w *bitWriter) put(v uint32, n int) {
	w.acc |= uint64(v) << (w.held & 63)
	if w.held += n; w.held >= 32 {
		w.b = binary.LittleEndian.AppendUint32(w.b, uint32(w.acc))
		w.acc >>= 32
		w.held -= 32
	}
}

// flush fills the last byte up with zeros and returns all bytes.
func (w *bitWriter) flush() []byte {
	for ; w.held > 0; w.held -= 8 {
		w.b = append(w.b, byte(w.acc))
		w.acc >>= 8
	}
	w.acc, w.held = 0, 0
	return w.b
}

// rising writes what lies between v[0] and v[n], numbers that rise strictly: for each the
// number of values that lie between it and the least it can be, in as many bits as the most
// it can be takes. The middle one comes first, then those in the middle of the
// halves, and so on.
func (w *bitWriter) rising(v *[BlockSize + 1]uint32, n int) {
	for step := BlockSize / 2; step > 0; step /= 2 {
		for i := step; i < n; i += 2 * step {
			behind := min(i+step, n)
			least := v[i-step] + uint32(step)
			most := v[behind] - uint32(behind-i)
			w.put(v[i]-least, bits.Len32(most-least))
		}
	}
}

// readRising is the reverse of rising: v[0] and v[n] are given and lie n or more apart. It
// reads b from bit at on and returns where it ended. There must be room for maxBlockBits. ok
// is false when the bits say what rising does not write.
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
			bad |= uint64(most-least) - x // below zero when x is too large
			v[i] = least + uint32(x)
			at += width
		}
	}
	return at, bad>>63 == 0
}

// readRisingFull is readRising for 128 numbers, whose halves are all of one size.
func readRisingFull(b []byte, at int, v *[BlockSize + 1]uint32) (end int, ok bool) {
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

// appendDocs writes the documents of a block behind prev; the last is known otherwise.
func (k *block) appendDocs(w *bitWriter, prev uint32) {
	var v [BlockSize + 1]uint32
	v[0] = prev
	copy(v[1:], k.docs[:k.n])
	w.rising(&v, k.n)
}

// appendFreqs writes the frequencies of a block, of which the widest has so many bits, minus
// one. They are coded by their running sums.
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

// sums are the running sums of the frequencies, from 0 on.
func (k *block) sums() (v [BlockSize + 1]uint32) {
	for i, tf := range k.tfs[:k.n] {
		v[i+1] = v[i] + tf
	}
	return v
}

// sumWidth is the number of bits of the sum of n numbers of width bits each.
func sumWidth(n, width int) int { return bits.Len32(uint32(n) * (1<<width - 1)) }

// readDocs is the reverse of appendDocs: n documents behind prev of which the last is given,
// n or more behind it.
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

// room returns the bytes of b if a block can be read there, else a copy that zeros follow.
func room(b []byte, copied *[maxBlockBits/8 + 8]byte) []byte {
	if len(b) >= len(copied) {
		return b
	}
	clear(copied[copy(copied[:], b):])
	return copied[:]
}

// encodeBits writes blocks from to to-1 as one bit string.
func (l *List) encodeBits(from, to int) []byte {
	var w bitWriter
	var k block
	for b := from; b < to; b++ {
		var err error
		if k.n, err = l.Docs(b, &k.docs); err == nil {
			_, err = l.Freqs(b, &k.tfs)
		}
		if err != nil {
			panic("BUG: block in memory: " + err.Error())
		}
		k.appendDocs(&w, l.before(b))
		k.appendFreqs(&w, l.Enc[b].FreqWidth())
	}
	return w.flush()
}

// decodeBits makes rows of what encodeBits wrote: of blocks from to to-1, so many rows in
// all. It also says how many bytes of body are documents.
func (l *List) decodeBits(body []byte, from, to, rows int) (dst []byte, docs int, err error) {
	dst = make([]byte, 0, RowBytes*rows+GuardBytes) // at most 64 KiB
	var k block
	var copied [maxBlockBits/8 + 8]byte
	at := 0
	for b := from; b < to; b++ {
		k.n = l.BlockLen(b)
		in := room(body[at/8:], &copied)
		mid, ok := k.readDocs(in, at%8, l.before(b), l.Last[b])
		end, ok2 := k.readFreqs(in, mid, l.Enc[b].FreqWidth())
		docs += mid - at%8
		if at += end - at%8; !ok || !ok2 || at > 8*len(body) {
			return nil, 0, inBlock(corrupt.New(at/8, "the postings are no interpolative code"), b)
		}
		var e Encoding
		if dst, e = k.appendRows(dst, l.before(b), Packed); e != l.Enc[b] {
			return nil, 0, inBlock(corrupt.New(at/8, "the postings make %v, the directory says %v", e, l.Enc[b]), b)
		}
	}
	if (at+7)/8 != len(body) || at%8 != 0 && body[len(body)-1]>>(at%8) != 0 {
		return nil, 0, corrupt.New(at/8, "%d bits, %d bytes", at, len(body))
	}
	return dst, docs / 8, nil
}
