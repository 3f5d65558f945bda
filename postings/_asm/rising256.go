package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Interpolative codes of 128 numbers have seven levels: the middle number, then 2, 4, 8, 16, 32 and
// 64 numbers, each between two that are known. Within a level, widths depend on earlier levels
// only. So eight widths are found at once and summed up to positions, and eight numbers are cut out
// of two quadwords. Three levels are too small for that.
//
// A quadword that begins at the right byte has 57 bits or more of the code. Four ranges that
// together have at most 1<<15 numbers take at most 56.
type rising256 struct {
	v, b, at reg.GPVirtual
	first    reg.GPVirtual  // the first number
	bad      reg.GPVirtual  // negative after a number above its range
	good     reg.VecVirtual // all ones while no number is above its range
	last     reg.VecVirtual // the last number, in all lanes
	ones     reg.VecVirtual
}

// risingAVX2 replaces a number above its range by the end of the range, so that all ranges stay
// valid and reads stay within bounds.
func risingAVX2() {
	TEXT("risingAVX2", NOSPLIT, "func(v *[129]uint32, b *byte, at int) (end, bad int)")
	r := &rising256{
		v:    Load(Param("v"), GP64()).(reg.GPVirtual),
		b:    Load(Param("b"), GP64()).(reg.GPVirtual),
		at:   Load(Param("at"), GP64()).(reg.GPVirtual),
		bad:  GP64(),
		good: YMM(),
		last: YMM(),
		ones: YMM(),
	}
	between := AllocLocal(4*64 + 8)
	r.first = GP32()
	MOVL(Mem{Base: r.v}, r.first)
	XORQ(r.bad, r.bad)
	VPCMPEQD(r.good, r.good, r.good)
	VPCMPEQD(r.ones, r.ones, r.ones)
	end := GP32()
	MOVL(Mem{Base: r.v, Disp: 4 * 128}, end)
	VPBROADCASTD(Mem{Base: r.v, Disp: 4 * 128}, r.last)

	a := []reg.VecVirtual{r.firstLevels(end)}
	for step := 8; step >= 4; step /= 2 {
		var next []reg.VecVirtual
		for i, x := range a {
			behind := r.last
			if i+1 < len(a) {
				behind = a[i+1]
			}
			low, high := r.eight(x, behind, step)
			next = append(next, low, high)
		}
		a = next
	}
	for i, x := range a {
		VMOVDQU(x, Mem{Base: r.v, Disp: 32 * i})
	}
	MOVL(end, Mem{Base: r.v, Disp: 4 * 32})
	r.level(Mem{Base: r.v}, between, 2, 4)
	MOVL(end, between.Offset(4*64))
	r.level(between, Mem{Base: r.v}, 1, 8)

	all := GP64()
	VPMOVMSKB(r.good, all.As32())
	NOTL(all.As32())
	NEGQ(all)
	ORQ(all, r.bad)
	Store(r.at, ReturnIndex(0))
	Store(r.bad, ReturnIndex(1))
	VZEROUPPER()
	RET()
}

// firstLevels returns every 16th number.
func (r *rising256) firstLevels(end reg.GPVirtual) reg.VecVirtual {
	var v [9]reg.GPVirtual
	v[0], v[8] = r.first, end
	middle := func(i, step int) { v[i] = r.one(v[i-step], v[i+step], 16*step) }
	middle(4, 4)
	middle(2, 2)
	middle(6, 2)
	var halves [2]reg.VecVirtual
	for h := range halves { // frees registers of the first before it reads the second
		middle(4*h+1, 1)
		middle(4*h+3, 1)
		halves[h] = XMM()
		VMOVD(v[4*h], halves[h])
		for i := 1; i < 4; i++ {
			VPINSRD(Imm(uint64(i)), v[4*h+i], halves[h], halves[h])
		}
	}
	a := YMM()
	VINSERTI128(Imm(1), halves[1], halves[0].AsY(), a)
	return a
}

// one reads the number in the middle between two others, step away from both.
func (r *rising256) one(before, behind reg.GPVirtual, step int) reg.GPVirtual {
	room, width, x, skip := GP64(), GP64(), GP64(), GP64()
	LEAL(Mem{Base: behind.As64(), Disp: -2 * step}, room.As32())
	SUBL(before, room.As32())
	LZCNTL(room.As32(), width.As32())
	NEGL(width.As32())
	ADDL(Imm(32), width.As32())
	r.load(r.at, x, skip)
	BZHIQ(width, x, x)
	ADDQ(width, r.at)
	MOVQ(room, skip)
	SUBQ(x, skip)
	CMOVQCS(room, x)
	ORQ(skip, r.bad)
	middle := GP32()
	LEAL(Mem{Base: before.As64(), Index: x, Scale: 1, Disp: step}, middle)
	return middle
}

// load reads 57 bits or more from a position. Higher bits are 0.
func (r *rising256) load(at, x, skip reg.GPVirtual) {
	MOVQ(at, skip)
	SHRQ(Imm(3), skip)
	MOVQ(Mem{Base: r.b, Index: skip, Scale: 1}, x)
	MOVQ(at, skip)
	ANDQ(Imm(7), skip)
	SHRXQ(skip, x, x)
}

// eight reads the numbers in the middle between those in a, and between the last of a and the first
// of behind. It returns all sixteen.
func (r *rising256) eight(a, behind reg.VecVirtual, step int) (low, high reg.VecVirtual) {
	room, x, width, place := YMM(), YMM(), YMM(), YMM()
	VPERM2I128(Imm(0x21), behind, a, room)
	VPALIGNR(Imm(4), a, room, room)
	VPSUBD(a, room, room)
	VPSUBD(dwords(fmt.Sprintf("twice%d", step), func(int) uint32 { return uint32(2 * step) }), room, room)

	// The exponent of a float counts bits. Clearing the second bit keeps it from being rounded up.
	VPSRLD(Imm(1), room, width)
	VPANDN(room, width, width)
	VCVTDQ2PS(width, width)
	VPSRLD(Imm(23), width, width)
	VPSUBUSW(dwords("bias", func(int) uint32 { return 126 }), width, width)

	VPSLLDQ(Imm(4), width, place)
	VPADDD(width, place, place)
	VPSLLDQ(Imm(8), place, x)
	VPADDD(x, place, place) // positions behind the numbers, within each half

	upper, bits, lowerBits, skip := XMM(), GP64(), GP64(), GP64()
	VPEXTRD(Imm(3), place.AsX(), lowerBits.As32())
	VEXTRACTI128(Imm(1), place, upper)
	VPSUBD(width, place, place)
	quads := [2]reg.VecVirtual{XMM(), XMM()}
	r.load(r.at, bits, skip)
	VMOVQ(bits, quads[0])
	ADDQ(lowerBits, r.at)
	VPEXTRD(Imm(3), upper, lowerBits.As32())
	r.load(r.at, bits, skip)
	VMOVQ(bits, quads[1])
	ADDQ(lowerBits, r.at)

	quad, odd := YMM(), YMM()
	VINSERTI128(Imm(1), quads[1], quads[0].AsY(), quad)
	VPUNPCKLQDQ(quad, quad, quad)
	VPSRLQ(Imm(32), place, odd)
	VPSRLVQ(odd, quad, odd)
	VPSLLQ(Imm(32), odd, odd)
	VPSLLQ(Imm(32), place, place)
	VPSRLQ(Imm(32), place, place)
	VPSRLVQ(place, quad, x)
	VPBLENDD(Imm(0xaa), odd, x, x)
	VPSLLVD(width, r.ones, width)
	VPANDN(x, width, x)

	VPMINUD(x, room, room)
	VPCMPEQD(x, room, x)
	VPAND(x, r.good, r.good)
	VPADDD(a, room, room)
	VPADDD(dwords(fmt.Sprintf("step%d", step), func(int) uint32 { return uint32(step) }), room, room)

	low, high = YMM(), YMM()
	VPUNPCKLDQ(room, a, x)
	VPUNPCKHDQ(room, a, width)
	VPERM2I128(Imm(0x20), width, x, low)
	VPERM2I128(Imm(0x31), width, x, high)
	return low, high
}

// level reads the numbers between those in from, n vectors and the number behind them, and writes
// all to to.
func (r *rising256) level(from, to Mem, step, n int) {
	i := GP64()
	XORQ(i, i)
	loop := fmt.Sprintf("level%d", step)
	Label(loop)
	a, behind := YMM(), YMM()
	VMOVDQU(from.Idx(i, 1), a)
	VPBROADCASTD(from.Offset(32).Idx(i, 1), behind)
	low, high := r.eight(a, behind, step)
	VMOVDQU(low, to.Idx(i, 2))
	VMOVDQU(high, to.Offset(32).Idx(i, 2))
	ADDQ(Imm(32), i)
	CMPQ(i, U32(32*n))
	JNE(LabelRef(loop))
}
