package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A cutter takes eight numbers of a few bits, which lie one after the other, out of two groups of 16
// bytes: four of each. Eight numbers take as many bytes as one takes bits, so the next eight lie in
// the same bits of their bytes.
type cutter struct {
	bytes, shifts, mask reg.VecVirtual
	upper               reg.GPVirtual // where the second group begins
}

// makeCutter emits what is the same for all groups: numbers of width bits (0 to 25), of which the
// first begins at bit begin of its byte.
func makeCutter(width, begin reg.GPVirtual) cutter {
	c := cutter{YMM(), YMM(), YMM(), GP64()}
	second := GP64() // the bit at which the fifth begins
	LEAQ(Mem{Base: begin, Index: width, Scale: 4}, second)
	MOVQ(second, c.upper)
	SHRQ(Imm(3), c.upper)
	ANDL(Imm(7), second.As32())

	at, begins, seconds := YMM(), YMM(), YMM()
	VMOVD(width.As32(), at.AsX())
	VPBROADCASTD(at.AsX(), at)
	VPMULLD(dwords("numbers4", func(i int) uint32 { return uint32(i % 4) }), at, at)
	VMOVD(begin.As32(), begins.AsX())
	VPBROADCASTD(begins.AsX(), begins)
	VMOVD(second.As32(), seconds.AsX())
	VPBROADCASTD(seconds.AsX(), seconds)
	VPBLENDD(Imm(0xf0), seconds, begins, begins)
	VPADDD(begins, at, at)

	VPAND(dwords("sevens", func(int) uint32 { return 7 }), at, c.shifts)
	VPSRLD(Imm(3), at, at)
	VPMULLD(dwords("byteOnes", func(int) uint32 { return 0x01010101 }), at, at)
	VPADDD(dwords("byteNumbers", func(int) uint32 { return 0x03020100 }), at, c.bytes)

	mask := GP32()
	MOVL(I32(-1), mask)
	BZHIL(width.As32(), mask, mask)
	VMOVD(mask, c.mask.AsX())
	VPBROADCASTD(c.mask.AsX(), c.mask)
	return c
}

// cut emits the cutting of eight numbers. It reads 16 bytes at from, and 16 from upper on.
func (c cutter) cut(from reg.GPVirtual) reg.VecVirtual {
	v := YMM()
	VMOVDQU(Mem{Base: from}, v.AsX())
	VINSERTI128(Imm(1), Mem{Base: from, Index: c.upper, Scale: 1}, v, v)
	VPSHUFB(c.bytes, v, v)
	VPSRLVD(c.shifts, v, v)
	VPAND(c.mask, v, v)
	return v
}

// positionsAVX2 reads no more than the rows have at any width: from 8 bits on, the second group of a
// cutter begins four bytes earlier.
func positionsAVX2() {
	TEXT("positionsAVX2", NOSPLIT, "func(dst *uint16, rows *byte, steps, width int)")
	dst := Load(Param("dst"), GP64()).(reg.GPVirtual)
	rows := Load(Param("rows"), GP64()).(reg.GPVirtual)
	steps := Load(Param("steps"), GP64())
	width := Load(Param("width"), GP64()).(reg.GPVirtual)
	begin := GP64()
	XORQ(begin, begin)
	c := makeCutter(width, begin)
	CMPQ(width, Imm(8))
	JL(LabelRef("step"))
	SUBQ(Imm(4), c.upper)
	later := YMM()
	VPADDD(dwords("byteFours", func(int) uint32 { return 0x04040404 }), c.bytes, later)
	VPBLENDD(Imm(0xf0), later, c.bytes, c.bytes)

	Label("step")
	for half := range 2 {
		a := c.cut(rows)
		ADDQ(width, rows)
		b := c.cut(rows)
		ADDQ(width, rows)
		VPACKUSDW(b, a, a)
		VPERMQ(Imm(0xd8), a, a)
		VMOVDQU(a, Mem{Base: dst, Disp: 32 * half})
	}
	ADDQ(Imm(64), dst)
	DECQ(steps)
	JNE(LabelRef("step"))
	VZEROUPPER()
	RET()
}

// unaryEndsAVX2 writes the set bits of a word eight at a time, so that few branches depend on how
// many there are.
func unaryEndsAVX2() {
	TEXT("unaryEndsAVX2", NOSPLIT, "func(dst *uint32, code *byte, words, n int) (found int)")
	dst := Load(Param("dst"), GP64()).(reg.GPVirtual)
	code := Load(Param("code"), GP64()).(reg.GPVirtual)
	words := Load(Param("words"), GP64())
	n := Load(Param("n"), GP64())
	word, at, found, left, to := GP64(), GP32(), GP64(), GP64(), GP64()
	XORL(at, at)
	XORQ(found, found)
	MOVQ(Mem{Base: code}, word)
	ANDQ(I8(-32), word) // the low bits of the first byte have another meaning
	JMP(LabelRef("word"))

	Label("next")
	ADDQ(Imm(8), code)
	ADDL(Imm(64), at)
	MOVQ(Mem{Base: code}, word)

	Label("word")
	LEAQ(Mem{Base: dst, Index: found, Scale: 4}, to)
	POPCNTQ(word, left)
	ADDQ(left, found)

	Label("bits")
	for i := range 8 {
		bit := GP64()
		TZCNTQ(word, bit)
		ADDL(at, bit.As32())
		MOVL(bit.As32(), Mem{Base: to, Disp: 4 * i})
		BLSRQ(word, word)
	}
	ADDQ(Imm(32), to)
	SUBQ(Imm(8), left)
	JG(LabelRef("bits"))

	CMPQ(found, n)
	JGE(LabelRef("done"))
	DECQ(words)
	JNE(LabelRef("next"))

	Label("done")
	Store(found, ReturnIndex(0))
	RET()
}

// unaryDeltasAVX2 makes the distances of ends, minus one, the high bits of numbers.
func unaryDeltasAVX2() {
	TEXT("unaryDeltasAVX2", NOSPLIT, "func(ends *uint32, lows *byte, steps, low, begin int) (union uint32)")
	ends := Load(Param("ends"), GP64()).(reg.GPVirtual)
	lows := Load(Param("lows"), GP64()).(reg.GPVirtual)
	steps := Load(Param("steps"), GP64())
	low := Load(Param("low"), GP64()).(reg.GPVirtual)
	begin := Load(Param("begin"), GP64()).(reg.GPVirtual)
	c := makeCutter(low, begin)
	shift, minus1, union, last := XMM(), allOnes256(), YMM(), YMM()
	VMOVD(low.As32(), shift)
	VPXOR(union, union, union)
	VPBROADCASTD(dwords("endBefore", func(int) uint32 { return 4 }), last) // of the bits with another meaning

	Label("eight")
	end, before := YMM(), YMM()
	VMOVDQU(Mem{Base: ends}, end)
	VPERM2I128(Imm(0x21), end, last, before)
	VPALIGNR(Imm(12), before, end, before)
	VMOVDQA(end, last)
	VPSUBD(before, end, end)
	VPADDD(minus1, end, end)
	VPOR(end, union, union)
	VPSLLD(shift, end, end)
	v := c.cut(lows)
	VPOR(v, end, end)
	VMOVDQU(end, Mem{Base: ends})
	ADDQ(Imm(32), ends)
	ADDQ(low, lows)
	DECQ(steps)
	JNE(LabelRef("eight"))

	half := XMM()
	VEXTRACTI128(Imm(1), union, half)
	VPOR(half, union.AsX(), half)
	other := XMM()
	VPSHUFD(Imm(0x4e), half, other)
	VPOR(other, half, half)
	VPSHUFD(Imm(0xb1), half, other)
	VPOR(other, half, half)
	result := GP32()
	VMOVD(half, result)
	VZEROUPPER()
	Store(result, ReturnIndex(0))
	RET()
}
