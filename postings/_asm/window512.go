package main

import (
	"encoding/binary"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Four values, one in each lane, are a group. The values of a lane follow one another in a stream
// of bits, of which a row has 32. Both ways of unpacking load windows of four rows and extract
// bytes of streams from them.

const (
	narrowest, narrow, wide = 1, 8, 25 // bits: up to narrow the first way, up to wide the second
	windowBytes             = 64
)

// streamByte is the place in a window of byte at of the stream of a lane.
func streamByte(lane, at int) uint8 { return uint8(at/4*16+lane*4+at%4) % windowBytes }

// A narrow value has at most 8 bits, so a block is two windows of 16 groups, and 8 values of a lane
// are b bytes that begin at a byte. A VPERMB moves those into a quadword for each lane and half of
// the window, and a VPMULTISHIFTQB cuts them into 8 bytes.
type narrowTables struct {
	pick  Mem // [width-1][half][64]byte: from the window to quadwords, (octet, lane) by (octet, lane)
	cut   Mem // [width-1]{bit of each value in its quadword, mask of a value}
	order Mem // from (octet, lane, group of octet) to (group, lane)
}

func makeNarrowTables() narrowTables {
	var pick, cut []byte
	for width := narrowest; width <= narrow; width++ {
		for half := range 2 {
			skip := 2 * width * half % 4 // the window begins with a row, the half perhaps within it
			for i := range 64 {
				octet, lane, b := i/32, i/8%4, i%8
				pick = append(pick, streamByte(lane, skip+octet*width+b))
			}
		}
		cut = binary.LittleEndian.AppendUint64(cut, uint64(width)*0x0706050403020100)
		cut = binary.LittleEndian.AppendUint64(cut, (1<<width-1)*0x0101010101010101)
	}
	return narrowTables{
		pick:  global("narrowPick", pick),
		cut:   global("narrowCut", cut),
		order: vector("narrowOrder", narrowPlace),
	}
}

// narrowPlace is the place, before ordering, of value i of a half.
func narrowPlace(i int) uint8 {
	group, lane := i/4, i%4
	return uint8(32*(group/8) + 8*lane + group%8)
}

// load emits the unpacking of both halves of a block to bytes, in the order of octets.
func (t narrowTables) load(rows, width reg.GPVirtual) [2]reg.VecVirtual {
	at, cut, second := GP64(), GP64(), GP64()
	LEAQ(t.pick.Offset(-128*narrowest), at)
	MOVQ(width, second)
	SHLQ(Imm(7), second)
	ADDQ(second, at)
	LEAQ(t.cut.Offset(-16*narrowest), cut)
	MOVQ(width, second)
	SHLQ(Imm(4), second)
	ADDQ(second, cut)
	MOVQ(width, second)
	SHRQ(Imm(1), second)
	SHLQ(Imm(4), second)

	bits, mask := ZMM(), ZMM()
	VPBROADCASTQ(Mem{Base: cut}, bits)
	VPBROADCASTQ(Mem{Base: cut, Disp: 8}, mask)
	v := [2]reg.VecVirtual{ZMM(), ZMM()}
	VMOVDQU64(Mem{Base: at}, v[0])
	VMOVDQU64(Mem{Base: at, Disp: 64}, v[1])
	VPERMB(Mem{Base: rows}, v[0], v[0])
	VPERMB(Mem{Base: rows, Index: second, Scale: 1}, v[1], v[1])
	for _, v := range v {
		VPMULTISHIFTQB(v, bits, v)
		VPANDQ(mask, v, v)
	}
	return v
}

// A wide value has at most 25 bits, so that it fits in 4 bytes of its stream at any first bit, and
// the 16 values of a step fit in a window. A VPERMB fetches the bytes, and a VPSRLVD moves the
// value down.
type wideTables struct {
	pick  Mem // [width-narrow-1][8][64]byte: from the window to 16 values
	start Mem // [width-narrow-1][8]{4 x byte: first bit of a group in its bytes, uint32: first byte of the window}
	bits  Mem // spreads the first four bytes of a quadword over the lanes of four groups
}

func makeWideTables() wideTables {
	var pick, start []byte
	for width := narrow + 1; width <= wide; width++ {
		for step := range 8 {
			bit := 4 * step * width // of the stream, where the step begins
			window := bit / 32 * 16
			firsts := uint64(window) << 32
			for group := range 4 {
				firsts |= uint64((bit+group*width)%8) << (8 * group)
			}
			start = binary.LittleEndian.AppendUint64(start, firsts)
			for i := range 64 {
				group, lane, b := i/16, i/4%4, i%4
				pick = append(pick, streamByte(lane, (bit%32+group*width)/8+b))
			}
		}
	}
	return wideTables{
		pick:  global("widePick", pick),
		start: global("wideStart", start),
		bits: vector("wideBits", func(i int) uint8 {
			if i%4 != 0 {
				return 56 // a byte of zeros
			}
			return uint8(i / 16 * 8)
		}),
	}
}

// load emits the load of all 8 x 16 values of a block, each with bits of its neighbors above it.
func (t wideTables) load(rows, width reg.GPVirtual) (v [8]reg.VecVirtual) {
	pick, start, at := GP64(), GP64(), GP64()
	LEAQ(t.pick.Offset(-512*(narrow+1)), pick)
	MOVQ(width, at)
	SHLQ(Imm(9), at)
	ADDQ(at, pick)
	LEAQ(t.start.Offset(-64*(narrow+1)), start)
	MOVQ(width, at)
	SHLQ(Imm(6), at)
	ADDQ(at, start)

	spread := ZMM()
	VMOVDQU64(t.bits, spread)
	for i := range v {
		v[i] = ZMM()
		VMOVDQU64(Mem{Base: pick, Disp: 64 * i}, v[i])
	}
	for i := range v {
		at := GP64()
		MOVL(Mem{Base: start, Disp: 8*i + 4}, at.As32())
		VPERMB(Mem{Base: rows, Index: at, Scale: 1}, v[i], v[i])
	}
	for i := range v {
		shift := ZMM()
		VPMULTISHIFTQB_BCST(Mem{Base: start, Disp: 8 * i}, spread, shift)
		VPSRLVD(shift, v[i], v[i])
	}
	return v
}
