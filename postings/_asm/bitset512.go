package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// bitsetAVX512 compresses, for each quadword of bits, the numbers 0 to 63 to those whose
// bits are set, as bytes, and widens them by 16. Stores are masked: those of the last
// words would else reach past the block.
func bitsetAVX512() {
	TEXT("bitsetAVX512", NOSPLIT, "func(dst *[128]uint32, rows *byte, words, n int, first uint32) (ones int)")
	dst := Load(Param("dst"), GP64()).(reg.GPVirtual)
	rows := Load(Param("rows"), GP64()).(reg.GPVirtual)
	words := Load(Param("words"), GP64()).(reg.GPVirtual)
	ones := countOnes(rows, words)
	Store(ones, ReturnIndex(0))
	n := Load(Param("n"), GP64())
	CMPQ(ones, n)
	JNE(LabelRef("done"))

	base, numbers, sixtyFour, r := ZMM(), ZMM(), ZMM(), GP64()
	first := Load(Param("first"), GP32())
	VPBROADCASTD(first, base)
	VMOVDQU64(vector("numbers", func(i int) uint8 { return uint8(i) }), numbers)
	MOVL(U32(64), r.As32())
	VPBROADCASTD(r.As32(), sixtyFour)
	low, all := K(), GP64()
	MOVQ(U64(0x1111111111111111), r)
	KMOVQ(r, low)
	MOVQ(I64(-1), all)
	var place [4]reg.VecVirtual
	for i := range place {
		place[i] = ZMM()
		VMOVDQU64(vector(fmt.Sprintf("widen%d", i), func(b int) uint8 { return uint8(16*i + b/4) }), place[i])
	}

	Label("word")
	bits, lanes, count, set := K(), K(), GP64(), ZMM()
	KMOVQ(Mem{Base: rows}, bits)
	POPCNTQ(Mem{Base: rows}, count)
	VPCOMPRESSB_Z(numbers, bits, set)
	BZHIQ(count, all, r)
	KMOVQ(r, lanes)
	put := func(i int) {
		docs := ZMM()
		VPERMB_Z(set, place[i], low, docs)
		VPADDD(base, docs, docs)
		VMOVDQU32(docs, lanes, Mem{Base: dst, Disp: 64 * i})
	}
	put(0)
	KSHIFTRQ(Imm(16), lanes, lanes)
	put(1)
	CMPQ(count, Imm(32))
	JLE(LabelRef("next"))
	KSHIFTRQ(Imm(16), lanes, lanes)
	put(2)
	KSHIFTRQ(Imm(16), lanes, lanes)
	put(3)
	Label("next")
	VPADDD(sixtyFour, base, base)
	LEAQ(Mem{Base: dst, Index: count, Scale: 4}, dst)
	ADDQ(Imm(8), rows)
	DECQ(words)
	JNE(LabelRef("word"))
	VZEROUPPER()
	Label("done")
	RET()
}

// countOnes counts the set bits of an even number of words, at least two.
func countOnes(rows, words reg.GPVirtual) reg.GPVirtual {
	ones, more, at, c := GP64(), GP64(), GP64(), GP64()
	XORL(ones.As32(), ones.As32())
	XORL(more.As32(), more.As32())
	MOVQ(words, at)
	Label("count")
	POPCNTQ(Mem{Base: rows, Index: at, Scale: 8, Disp: -8}, c)
	ADDQ(c, ones)
	POPCNTQ(Mem{Base: rows, Index: at, Scale: 8, Disp: -16}, c)
	ADDQ(c, more)
	SUBQ(Imm(2), at)
	JNE(LabelRef("count"))
	ADDQ(more, ones)
	return ones
}
