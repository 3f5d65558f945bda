package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A lane of a gather reads whole bytes from that of the first bit of its number on, and shifts the bits
// before that out.

// gatherAVX512 makes keys of the packed quotients at some places, eight at a step.
func gatherAVX512() {
	TEXT("gatherAVX512", NOSPLIT, "func(dst *uint64, b *byte, places *uint16, steps, width int, least, divisor uint64)")
	dst, b, places, steps, width := pointer("dst"), pointer("b"), pointer("places"), pointer("steps"), pointer("width")
	widths, mask, least, divisor, seven := ZMM(), ZMM(), ZMM(), ZMM(), ZMM()
	VPBROADCASTQ(width, widths)
	VPBROADCASTQ(lowBits(width), mask)
	VPBROADCASTQ(pointer("least"), least)
	VPBROADCASTQ(pointer("divisor"), divisor)
	VPBROADCASTQ(constant(7), seven)
	Label("step")
	bit, at, v, all := ZMM(), ZMM(), ZMM(), K()
	VPMOVZXWQ(Mem{Base: places}, bit)
	VPMULUDQ(widths, bit, bit)
	VPSRLQ(Imm(3), bit, at)
	VPANDQ(seven, bit, bit)
	KXNORB(all, all, all)
	VPXORQ(v, v, v)
	VPGATHERQQ(Mem{Base: b, Index: at, Scale: 1}, all, v)
	VPSRLVQ(bit, v, v)
	VPANDQ(mask, v, v)
	VPMULLQ(divisor, v, v)
	VPADDQ(least, v, v)
	VMOVDQU64(v, Mem{Base: dst})
	ADDQ(Imm(16), places)
	ADDQ(Imm(64), dst)
	DECQ(steps)
	JNZ(LabelRef("step"))
	VZEROUPPER()
	RET()
}

// gatherAVX2 is the same, four at a time.
func gatherAVX2() {
	TEXT("gatherAVX2", NOSPLIT, "func(dst *uint64, b *byte, places *uint16, steps, width int, least, divisor uint64)")
	dst, b, places, steps, width := pointer("dst"), pointer("b"), pointer("places"), pointer("steps"), pointer("width")
	widths, mask, least := everyQuad(width), everyQuad(lowBits(width)), everyQuad(pointer("least"))
	divisor, seven, high := everyQuad(pointer("divisor")), everyQuad(constant(7)), YMM()
	VPSRLQ(Imm(32), divisor, high)
	Label("step")
	for half := range 2 {
		bit, at, v, all := YMM(), YMM(), YMM(), YMM()
		VPMOVZXWQ(Mem{Base: places, Disp: 8 * half}, bit)
		VPMULUDQ(widths, bit, bit)
		VPSRLQ(Imm(3), bit, at)
		VPAND(seven, bit, bit)
		VPCMPEQQ(all, all, all)
		VPXOR(v, v, v)
		VPGATHERQQ(all, Mem{Base: b, Index: at, Scale: 1}, v)
		VPSRLVQ(bit, v, v)
		VPAND(mask, v, v)
		upper, cross, other := YMM(), YMM(), YMM() // as unpackAVX2
		VPSRLQ(Imm(32), v, upper)
		VPMULUDQ(divisor, upper, cross)
		VPMULUDQ(high, v, other)
		VPADDQ(other, cross, cross)
		VPSLLQ(Imm(32), cross, cross)
		VPMULUDQ(divisor, v, v)
		VPADDQ(cross, v, v)
		VPADDQ(least, v, v)
		VMOVDQU(v, Mem{Base: dst, Disp: 32 * half})
	}
	ADDQ(Imm(16), places)
	ADDQ(Imm(64), dst)
	DECQ(steps)
	JNZ(LabelRef("step"))
	VZEROUPPER()
	RET()
}

// gather32AVX512 unpacks the numbers at some places, 16 at a step. Places and widths are small enough to
// be multiplied as pairs of 16 bits.
func gather32AVX512() {
	TEXT("gather32AVX512", NOSPLIT, "func(dst *uint32, b *byte, places *uint16, steps, width int)")
	dst, b, places, steps, width := pointer("dst"), pointer("b"), pointer("places"), pointer("steps"), pointer("width")
	widths, mask, seven := ZMM(), ZMM(), ZMM()
	VPBROADCASTD(width.As32(), widths)
	VPBROADCASTD(lowBits(width).As32(), mask)
	VPBROADCASTD(constant(7).As32(), seven)
	Label("step")
	bit, at, v, all := ZMM(), ZMM(), ZMM(), K()
	VPMOVZXWD(Mem{Base: places}, bit)
	VPMADDWD(widths, bit, bit)
	VPSRLD(Imm(3), bit, at)
	VPANDD(seven, bit, bit)
	KXNORW(all, all, all)
	VPXORD(v, v, v)
	VPGATHERDD(Mem{Base: b, Index: at, Scale: 1}, all, v)
	VPSRLVD(bit, v, v)
	VPANDD(mask, v, v)
	VMOVDQU32(v, Mem{Base: dst})
	ADDQ(Imm(32), places)
	ADDQ(Imm(64), dst)
	DECQ(steps)
	JNZ(LabelRef("step"))
	VZEROUPPER()
	RET()
}

// gather32AVX2 does the same, eight at a time.
func gather32AVX2() {
	TEXT("gather32AVX2", NOSPLIT, "func(dst *uint32, b *byte, places *uint16, steps, width int)")
	dst, b, places, steps, width := pointer("dst"), pointer("b"), pointer("places"), pointer("steps"), pointer("width")
	every := func(from reg.GPVirtual) reg.VecVirtual {
		v := YMM()
		VMOVQ(from, v.AsX())
		VPBROADCASTD(v.AsX(), v)
		return v
	}
	widths, mask, seven := every(width), every(lowBits(width)), every(constant(7))
	Label("step")
	for half := range 2 {
		bit, at, v, all := YMM(), YMM(), YMM(), YMM()
		VPMOVZXWD(Mem{Base: places, Disp: 16 * half}, bit)
		VPMADDWD(widths, bit, bit)
		VPSRLD(Imm(3), bit, at)
		VPAND(seven, bit, bit)
		VPCMPEQD(all, all, all)
		VPXOR(v, v, v)
		VPGATHERDD(all, Mem{Base: b, Index: at, Scale: 1}, v)
		VPSRLVD(bit, v, v)
		VPAND(mask, v, v)
		VMOVDQU(v, Mem{Base: dst, Disp: 32 * half})
	}
	ADDQ(Imm(32), places)
	ADDQ(Imm(64), dst)
	DECQ(steps)
	JNZ(LabelRef("step"))
	VZEROUPPER()
	RET()
}

// everyQuad emits a register with a number in all lanes of 64 bits.
func everyQuad(from reg.GPVirtual) reg.VecVirtual {
	v := YMM()
	VMOVQ(from, v.AsX())
	VPBROADCASTQ(v.AsX(), v)
	return v
}

func constant(n uint64) reg.GPVirtual {
	v := GP64()
	MOVQ(U32(n), v)
	return v
}
