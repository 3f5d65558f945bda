package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// depositBMI2 goes from the last word to the first, so that bits which are still to be moved are not
// overwritten.
func depositBMI2() {
	TEXT("depositBMI2", NOSPLIT, "func(set, has *[64]uint64, docs int)")
	set, has, at := pointer("set"), pointer("has"), pointer("docs")
	i, last := GP64(), GP64()
	MOVQ(U32(63), i)
	MOVQ(U32(63), last)
	Label("word")
	mask, n, word, next, shift, low, high := GP64(), GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	MOVQ(Mem{Base: has, Index: i, Scale: 8}, mask)
	POPCNTQ(mask, n)
	SUBQ(n, at)
	MOVQ(at, word)
	SHRQ(Imm(6), word)
	CMPQ(word, last) // a word without bits, behind the last bit of a full tile
	CMOVQHI(last, word)
	LEAQ(Mem{Base: word, Disp: 1}, next)
	CMPQ(next, last)
	CMOVQHI(last, next)
	MOVQ(Mem{Base: set, Index: word, Scale: 8}, low)
	MOVQ(Mem{Base: set, Index: next, Scale: 8}, high)
	MOVQ(at, shift)
	ANDQ(Imm(63), shift)
	SHRXQ(shift, low, low)
	XORQ(last, shift) // 63 - shift
	ADDQ(high, high)
	SHLXQ(shift, high, high)
	ORQ(high, low)
	PDEPQ(mask, low, low)
	MOVQ(low, Mem{Base: set, Index: i, Scale: 8})
	DECQ(i)
	JNS(LabelRef("word"))
	RET()
}

// anyBMI2 adds the values found to all values that are not the last of their document. A value found
// thus carries into the bit of the last one.
func anyBMI2() {
	TEXT("anyBMI2", NOSPLIT, "func(set, found, ends *uint64, words int)")
	set, found, ends, words := pointer("set"), pointer("found"), pointer("ends"), pointer("words")
	carry, all, held := GP64(), GP64(), GP64()
	XORQ(carry, carry)
	XORQ(all, all)
	XORQ(held, held) // bits in all
	Label("word")
	f, end, not, sum, n := GP64(), GP64(), GP64(), GP64(), GP64()
	MOVQ(Mem{Base: found}, f)
	MOVQ(Mem{Base: ends}, end)
	MOVQ(end, not)
	NOTQ(not)
	ANDNQ(f, end, sum)
	ADDQ(I32(-1), carry) // sets the carry flag
	ADCQ(not, sum)
	SBBQ(carry, carry)
	NEGQ(carry)
	ORQ(f, sum)
	PEXTQ(end, sum, sum)
	POPCNTQ(end, n)
	shifted := GP64()
	SHLXQ(held, sum, shifted)
	ORQ(shifted, all)
	ADDQ(n, held)
	CMPQ(held, Imm(64))
	JB(LabelRef("next"))
	MOVQ(all, Mem{Base: set})
	ADDQ(Imm(8), set)
	SUBQ(Imm(64), held)
	SUBQ(held, n)
	DECQ(n)
	SHRQ(Imm(1), sum)
	SHRXQ(n, sum, all)
	Label("next")
	ADDQ(Imm(8), found)
	ADDQ(Imm(8), ends)
	DECQ(words)
	JNZ(LabelRef("word"))
	TESTQ(held, held)
	JZ(LabelRef("done"))
	MOVQ(all, Mem{Base: set})
	Label("done")
	RET()
}
