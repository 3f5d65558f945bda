package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// sumAVX2 adds numbers and their squares, eight at a step, in lanes of 64 bits: those at even places and
// those at odd ones.
func sumAVX2() {
	TEXT("sumAVX2", NOSPLIT, "func(into *uint64, numbers *uint32, steps int)")
	into, numbers, steps := pointer("into"), pointer("numbers"), pointer("steps")
	sum, squares, least, greatest, low := YMM(), YMM(), YMM(), YMM(), YMM()
	VPXOR(sum, sum, sum)
	VPXOR(squares, squares, squares)
	VPXOR(greatest, greatest, greatest)
	VPCMPEQD(least, least, least)
	VPSRLQ(Imm(32), least, low)
	Label("step")
	v, odd, square := YMM(), YMM(), YMM()
	VMOVDQU(Mem{Base: numbers}, v)
	VPMINUD(v, least, least)
	VPMAXUD(v, greatest, greatest)
	VPSRLQ(Imm(32), v, odd)
	VPADDQ(odd, sum, sum)
	VPMULUDQ(v, v, square)
	VPADDQ(square, squares, squares)
	VPMULUDQ(odd, odd, square)
	VPADDQ(square, squares, squares)
	VPAND(low, v, v)
	VPADDQ(v, sum, sum)
	ADDQ(Imm(32), numbers)
	DECQ(steps)
	JNZ(LabelRef("step"))
	VMOVDQU(sum, Mem{Base: into})
	VMOVDQU(squares, Mem{Base: into, Disp: 32})
	VMOVDQU(least, Mem{Base: into, Disp: 64})
	VMOVDQU(greatest, Mem{Base: into, Disp: 96})
	VZEROUPPER()
	RET()
}
