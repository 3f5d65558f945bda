package postings

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Positions of some postings of a block, for those who look at many candidates in turn. Which way is
// the fastest depends on how many of a block are wanted, and on whether it has rows.

// Gather appends the positions of some postings of block b to dst. Their numbers rise, and at gets where
// the positions of each begin; how many it has says Start, which is set for the block. Others may lie
// between them. NarrowPad elements more may be read within the capacity of the result.
//
// All positions have at most width bits. If that is more than 16, nothing is appended: Load and Append
// read these.
func (p *Positions) Gather(dst []uint16, b int, numbers []uint8, at []uint32) (gathered []uint16, width int, err error) {
	if err := p.Count(b); err != nil {
		return dst, 0, err
	}
	at = at[:len(numbers)]
	total := int(p.Start[BlockSize])
	dst = slices.Grow(dst, total+stepPositions*(len(numbers)+1)+NarrowPad)
	if p.b != b {
		if err := p.loadRows(b); err != nil {
			return dst, 0, err
		}
		if p.rows != nil {
			if unpacksSteps() && len(numbers)*(total/BlockSize+stepsOfOne*stepPositions) > total {
				return p.gatherAll(dst, numbers, at), p.rows.width, nil
			}
			return p.gatherRows(dst, numbers, at), p.rows.width, nil
		}
		some := 0
		for _, i := range numbers {
			some += int(p.Start[i+1] - p.Start[i])
		}
		if s, ok := p.l.positions.(*storedPositions); ok && partCost*some+postingCost*len(numbers) < total {
			gathered, width, ok, err := s.gather(p, dst, b, numbers, at)
			if ok || err != nil {
				return gathered, width, inBlock(err, b)
			}
		}
		if err := p.Load(b); err != nil {
			return dst, 0, err
		}
	}
	if p.Wide != nil {
		return dst, 32, nil
	}
	for k, i := range numbers {
		at[k] = uint32(len(dst))
		dst = append(dst, p.Narrow[p.Start[i]:p.Start[i+1]]...)
	}
	return dst, p.width, nil
}

// What it costs to take one posting out of a block: in steps of unpackPositions, besides those of its
// positions; and in positions of a code that is decoded as a whole.
const (
	stepsOfOne  = 2
	partCost    = 2
	postingCost = 24
)

// gatherAll unpacks all positions of the rows.
func (p *Positions) gatherAll(dst []uint16, numbers []uint8, at []uint32) []uint16 {
	base, n := len(dst), int(p.Start[BlockSize])
	dst = dst[:base+n]
	unpackPositions(dst[base:], p.rows.rows, p.rows.width)
	for k, i := range numbers {
		at[k] = uint32(base) + p.Start[i]
	}
	return dst
}

// gatherRows unpacks the positions of each posting.
func (p *Positions) gatherRows(dst []uint16, numbers []uint8, at []uint32) []uint16 {
	r := p.rows
	for k, i := range numbers {
		base, from, n := len(dst), int(p.Start[i]), int(p.Start[i+1]-p.Start[i])
		at[k] = uint32(base)
		if n <= unpackOnes || !unpacksSteps() {
			dst = dst[:base+n]
			unpackBits(dst[base:], r.rows, from*r.width, r.width)
			continue
		}
		n += from % stepPositions
		at[k] += uint32(from % stepPositions)
		dst = dst[:base+n]
		unpackPositions(dst[base:], r.rows[from/stepPositions*(stepPositions/8)*r.width:], r.width)
	}
	return dst
}

// partUses is how many times some positions are read from the code of a block before it gets rows.
const partUses = 4

// gather is Gather from the code of a block, of which it reads little more than what is wanted. It is
// not ok, and does nothing, if load should read the block.
func (s *storedPositions) gather(p *Positions, dst []uint16, b int, numbers []uint8, at []uint32) (gathered []uint16, width int, ok bool, err error) {
	h := s.hold()
	if h.use(b, 1) >= partUses {
		return dst, 0, false, nil
	}
	code, _, err := s.codeOf(h, b)
	if err != nil {
		return dst, 0, false, err
	}
	gathered, width, ok = p.gatherCode(dst, code, numbers, at)
	return gathered, width, ok, nil
}

// gatherCode decodes the positions of some postings, given the code of a block with codeGuard bytes
// behind it. Whatever is odd makes it not ok.
//
// The bits of the code that are set in front of its low bits count its numbers, 64 bits at a step, so what
// is not wanted is passed over fast.
func (p *Positions) gatherCode(dst []uint16, code []byte, numbers []uint8, at []uint32) (gathered []uint16, width int, ok bool) {
	total, limit := int(p.Start[BlockSize]), len(code)-codeGuard
	low := int(code[0] & (1<<lowBits - 1))
	if limit < 1 || low > 16 || total > 8*limit {
		return dst, 0, false
	}
	// The number of bits that are set before each word, and where the low bits begin.
	before, ones := p.before[:0], 0
	word := binary.LittleEndian.Uint64(code) &^ (1<<lowBits - 1)
	for w := 1; ; w++ {
		before = append(before, uint32(ones))
		n := bits.OnesCount64(word)
		if ones+n >= total {
			break
		}
		ones += n
		if 8*w+8 > len(code) {
			return dst, 0, false
		}
		word = binary.LittleEndian.Uint64(code[8*w:])
	}
	p.before = before
	begin := 64*(len(before)-1) + selectBit(word, total-ones-1) + 1
	if (begin+low*total+7)/8 > limit {
		return dst, 0, false
	}

	union, mask, base := uint64(0), uint64(1)<<low-1, len(dst)
	w := 0
	for k, i := range numbers {
		from, n := int(p.Start[i]), int(p.Start[i+1]-p.Start[i])
		last := lowBits - 1 // the bit of the number before
		if from > 0 {
			for w+1 < len(before) && int(before[w+1]) < from {
				w++
			}
			last = 64*w + selectBit(wordOfCode(code, w), from-1-int(before[w]))
		}
		at[k] = uint32(len(dst))
		sum, at := uint64(0), begin+low*from
		v, bit := (last+1)/64, (last+1)%64
		word := wordOfCode(code, v) >> bit << bit
		for range n {
			for word == 0 {
				if v++; v >= len(before) {
					return dst[:base], 0, false
				}
				word = wordOfCode(code, v)
			}
			end := 64*v + bits.TrailingZeros64(word)
			word &= word - 1
			sum += uint64(end-last-1)<<low | binary.LittleEndian.Uint64(code[at>>3:])>>(at&7)&mask
			union |= sum
			last = end
			at += low
			dst = append(dst, uint16(sum))
		}
		if union >= 1<<16 {
			return dst[:base], 0, false
		}
	}
	return dst, bits.Len64(union), true
}

// wordOfCode returns 64 bits of a code, of which those that say how many low bits there are do not count.
func wordOfCode(code []byte, w int) uint64 {
	word := binary.LittleEndian.Uint64(code[8*w:])
	if w == 0 {
		word &^= 1<<lowBits - 1
	}
	return word
}

// selectBit returns the place of the set bit with n others below it.
func selectBit(word uint64, n int) int {
	for ; n > 0; n-- {
		word &= word - 1
	}
	return bits.TrailingZeros64(word)
}
