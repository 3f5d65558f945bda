package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// countAMD64 adds 1 to the count of each of some numbers, eight at a step. It needs no extension: the work
// is one store for each number.
func countAMD64() {
	TEXT("countAMD64", NOSPLIT, "func(counts, numbers *uint32, steps int)")
	counts, numbers, steps := pointer("counts"), pointer("numbers"), pointer("steps")
	Label("step")
	for i := range 8 {
		at := GP64()
		MOVL(Mem{Base: numbers, Disp: 4 * i}, at.As32())
		INCL(Mem{Base: counts, Index: at, Scale: 4})
	}
	ADDQ(Imm(32), numbers)
	DECQ(steps)
	JNZ(LabelRef("step"))
	RET()
}

// lanesAMD64 does the same in four tables in turn, which begin stride bytes apart: so equal numbers that
// follow each other closely do not wait for each other.
func lanesAMD64() {
	TEXT("lanesAMD64", NOSPLIT, "func(lanes *uint32, stride int, numbers *uint32, steps int)")
	first, stride, numbers, steps := pointer("lanes"), pointer("stride"), pointer("numbers"), pointer("steps")
	second, third, fourth := GP64(), GP64(), GP64()
	LEAQ(Mem{Base: first, Index: stride, Scale: 1}, second)
	LEAQ(Mem{Base: first, Index: stride, Scale: 2}, third)
	LEAQ(Mem{Base: second, Index: stride, Scale: 2}, fourth)
	Label("step")
	for i := range 8 {
		at := GP64()
		MOVL(Mem{Base: numbers, Disp: 4 * i}, at.As32())
		INCL(Mem{Base: [...]reg.Register{first, second, third, fourth}[i%4], Index: at, Scale: 4})
	}
	ADDQ(Imm(32), numbers)
	DECQ(steps)
	JNZ(LabelRef("step"))
	RET()
}

// foldAVX2 adds the counts of four tables to others and clears the tables, eight counts at a step.
func foldAVX2() {
	TEXT("foldAVX2", NOSPLIT, "func(counts, lanes *uint32, stride, steps int)")
	counts, first, stride, steps := pointer("counts"), pointer("lanes"), pointer("stride"), pointer("steps")
	third, none := GP64(), YMM()
	LEAQ(Mem{Base: first, Index: stride, Scale: 2}, third)
	VPXOR(none, none, none)
	Label("step")
	a, b := YMM(), YMM()
	VMOVDQU(Mem{Base: first}, a)
	VMOVDQU(Mem{Base: third}, b)
	VPADDD(Mem{Base: first, Index: stride, Scale: 1}, a, a)
	VPADDD(Mem{Base: third, Index: stride, Scale: 1}, b, b)
	VPADDD(a, b, a)
	VPADDD(Mem{Base: counts}, a, a)
	VMOVDQU(a, Mem{Base: counts})
	VMOVDQU(none, Mem{Base: first})
	VMOVDQU(none, Mem{Base: third})
	VMOVDQU(none, Mem{Base: first, Index: stride, Scale: 1})
	VMOVDQU(none, Mem{Base: third, Index: stride, Scale: 1})
	ADDQ(Imm(32), counts)
	ADDQ(Imm(32), first)
	ADDQ(Imm(32), third)
	DECQ(steps)
	JNZ(LabelRef("step"))
	VZEROUPPER()
	RET()
}

// severalBMI2 reads all values of a document at once, and adds 1 to the count of each that is not the one
// before.
func severalBMI2() {
	TEXT("severalBMI2", NOSPLIT, "func(counts *uint32, b *byte, ranks *uint16, n, width, every int)")
	counts, b, ranks, n, width, every := pointer("counts"), pointer("b"), pointer("ranks"), pointer("n"), pointer("width"), pointer("every")
	together, seven := GP64(), GP64()
	MOVQ(width, together)
	IMULQ(every, together)
	MOVQ(U32(7), seven)
	DECQ(every)
	Label("document")
	bit, x, before, left := GP64(), GP64(), GP64(), GP64()
	MOVWLZX(Mem{Base: ranks}, bit.As32())
	IMULQ(together, bit)
	MOVQ(bit, x)
	SHRQ(Imm(3), x)
	ANDQ(seven, bit)
	MOVQ(Mem{Base: b, Index: x, Scale: 1}, x)
	SHRXQ(bit, x, x)
	BZHIQ(width, x, before)
	INCL(Mem{Base: counts, Index: before, Scale: 4})
	MOVQ(every, left)
	Label("value")
	v, other := GP64(), GP64()
	SHRXQ(width, x, x)
	BZHIQ(width, x, v)
	XORL(other.As32(), other.As32())
	CMPQ(v, before)
	SETNE(other.As8())
	ADDL(other.As32(), Mem{Base: counts, Index: v, Scale: 4})
	MOVQ(v, before)
	DECQ(left)
	JNZ(LabelRef("value"))
	ADDQ(Imm(2), ranks)
	DECQ(n)
	JNZ(LabelRef("document"))
	RET()
}
