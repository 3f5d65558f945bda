package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// bitsetAVX2 looks up, for each byte of bits, the numbers 0 to 7 whose bits are set. It stores
// eight documents, and the next store overwrites the surplus. So near the end of the block it goes
// bit by bit.
func bitsetAVX2() {
	var table []byte
	for b := range 256 {
		at := len(table)
		for bit := range 8 {
			if b>>bit&1 == 1 {
				table = append(table, byte(bit))
			}
		}
		table = append(table, make([]byte, at+8-len(table))...)
	}
	TEXT("bitsetAVX2", NOSPLIT, "func(dst *[128]uint32, rows *byte, words, n int, first uint32) (ones int)")
	dst := Load(Param("dst"), GP64()).(reg.GPVirtual)
	rows := Load(Param("rows"), GP64()).(reg.GPVirtual)
	words := Load(Param("words"), GP64()).(reg.GPVirtual)
	ones := countOnes(rows, words)
	Store(ones, ReturnIndex(0))
	n := Load(Param("n"), GP64())
	CMPQ(ones, n)
	JNE(LabelRef("done"))

	base, r := Load(Param("first"), GP32()).(reg.GPVirtual), GP32()
	docs, eight, numbers, end := YMM(), YMM(), GP64(), GP64()
	MOVL(U32(8), r)
	VMOVD(r, eight.AsX())
	VPBROADCASTD(eight.AsX(), eight)
	LEAQ(global("bitsOfByte", table), numbers)
	LEAQ(Mem{Base: dst, Disp: 4 * (128 - 8)}, end)

	Label("word")
	word, count, last := GP64(), GP64(), GP64()
	MOVQ(Mem{Base: rows}, word)
	POPCNTQ(word, count)
	LEAQ(Mem{Base: dst, Index: count, Scale: 4}, last)
	CMPQ(last, end)
	JA(LabelRef("bits"))
	VMOVD(base, docs.AsX())
	VPBROADCASTD(docs.AsX(), docs)
	for i := range 8 {
		bits, set := GP64(), YMM()
		MOVBLZX(word.As8(), bits.As32())
		VPMOVZXBD(Mem{Base: numbers, Index: bits, Scale: 8}, set)
		POPCNTL(bits.As32(), bits.As32())
		VPADDD(docs, set, set)
		VMOVDQU(set, Mem{Base: dst})
		LEAQ(Mem{Base: dst, Index: bits, Scale: 4}, dst)
		if i < 7 {
			SHRQ(Imm(8), word)
			VPADDD(eight, docs, docs)
		}
	}
	JMP(LabelRef("next"))

	Label("bits")
	TESTQ(word, word)
	JEQ(LabelRef("next"))
	TZCNTQ(word, count)
	ADDL(base, count.As32())
	MOVL(count.As32(), Mem{Base: dst})
	ADDQ(Imm(4), dst)
	BLSRQ(word, word)
	JMP(LabelRef("bits"))

	Label("next")
	ADDL(Imm(64), base)
	ADDQ(Imm(8), rows)
	DECQ(words)
	JNE(LabelRef("word"))
	VZEROUPPER()
	Label("done")
	RET()
}
