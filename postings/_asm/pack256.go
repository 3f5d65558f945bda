package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packGapsAVX2 packs the 128 gaps between 129 numbers, minus one, a group of four at a time, and
// returns the union of their bits. Gaps of more than width bits make wrong rows, but never more.
func packGapsAVX2() {
	TEXT("packGapsAVX2", NOSPLIT, "func(to *byte, v *[129]uint32, width int) (union uint32)")
	to := Load(Param("to"), GP64()).(reg.GPVirtual)
	v := Load(Param("v"), GP64()).(reg.GPVirtual)
	width := Load(Param("width"), GP64()).(reg.GPVirtual)
	minus1, union, row, gaps, shifted, count := XMM(), XMM(), XMM(), XMM(), XMM(), XMM()
	held, end, rest := GP64(), GP64(), GP64()
	VPCMPEQD(minus1, minus1, minus1)
	VPXOR(union, union, union)
	VPXOR(row, row, row)
	XORQ(held, held)
	LEAQ(Mem{Base: v, Disp: 4 * 128}, end)

	Label("group")
	VMOVDQU(Mem{Base: v, Disp: 4}, gaps)
	VPSUBD(Mem{Base: v}, gaps, gaps)
	VPADDD(minus1, gaps, gaps)
	VPOR(gaps, union, union)
	VMOVQ(held, count)
	VPSLLD(count, gaps, shifted)
	VPOR(shifted, row, row)
	ADDQ(width, held)
	CMPQ(held, Imm(32))
	JB(LabelRef("next"))
	VMOVDQU(row, Mem{Base: to})
	ADDQ(Imm(16), to)
	SUBQ(Imm(32), held)
	MOVQ(width, rest)
	SUBQ(held, rest)
	VMOVQ(rest, count)
	VPSRLD(count, gaps, row)
	Label("next")
	ADDQ(Imm(16), v)
	CMPQ(v, end)
	JB(LabelRef("group"))

	VPSHUFD(Imm(0x4e), union, shifted)
	VPOR(shifted, union, union)
	VPSHUFD(Imm(0xb1), union, shifted)
	VPOR(shifted, union, union)
	all := GP32()
	VMOVD(union, all)
	Store(all, ReturnIndex(0))
	RET()
}
