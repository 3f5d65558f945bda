package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// bitsetAVX512 compresses, for each quadword of bits, the numbers 0 to 63 to those whose bits are
// set, as bytes, and widens them by 16.
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

	end, enough := GP64(), GP64()
	LEAQ(Mem{Base: dst, Disp: 4 * 128}, end)
	// Two stores suffice for a word unless it has more than 32 bits. Where half of all bits are
	// set, that is unpredictable, and the code always makes four.
	XORL(enough.As32(), enough.As32())
	MOVL(U32(32), r.As32())
	CMPQ(words, Imm(4))
	CMOVQHI(r, enough)

	Label("word")
	bits, count, set := K(), GP64(), ZMM()
	KMOVQ(Mem{Base: rows}, bits)
	POPCNTQ(Mem{Base: rows}, count)
	VPCOMPRESSB_Z(numbers, bits, set)
	room := GP64() // bytes left in dst
	MOVQ(end, room)
	SUBQ(dst, room)
	for i, place := range place {
		switch i {
		case 0:
			CMPQ(room, U32(128))
			JL(LabelRef("end"))
		case 2:
			CMPQ(count, enough)
			JLE(LabelRef("next"))
			CMPQ(room, U32(256))
			JL(LabelRef("endOfWord"))
		}
		docs := ZMM()
		VPERMB_Z(set, place, low, docs)
		VPADDD(base, docs, docs)
		VMOVDQU32(docs, Mem{Base: dst, Disp: 64 * i}) // the next store overwrites the surplus
	}
	Label("next")
	VPADDD(sixtyFour, base, base)
	LEAQ(Mem{Base: dst, Index: count, Scale: 4}, dst)
	ADDQ(Imm(8), rows)
	DECQ(words)
	JNE(LabelRef("word"))
	VZEROUPPER()
	Label("done")
	RET()

	// Near the end of the block a store ends at the block's end. Lanes move up by the number that
	// would go beyond it, and a mask protects the documents below. (Masking the lanes beyond the
	// end would work, too, but then the caller's reads soon after would wait for the store.)
	left, over, zero := GP64(), GP64(), GP64() // remaining lanes of the word; bytes, and then lanes, to move up by
	Label("endOfWord")
	BZHIQ(count, all, left)
	SHRQ(Imm(32), left)
	SUBQ(U32(128), room)
	JMP(LabelRef("end2"))
	Label("end")
	BZHIQ(count, all, left)
	for i, place := range place {
		Label(fmt.Sprintf("end%d", i))
		to, docs, lanes := GP64(), ZMM(), K()
		MOVL(U32(64), over.As32())
		XORL(zero.As32(), zero.As32())
		SUBQ(room, over)
		CMOVQLT(zero, over)
		MOVQ(dst, to)
		SUBQ(over, to)
		SHRQ(Imm(2), over)
		VPBROADCASTD(over.As32(), docs)
		VPSUBD(docs, place, docs)
		VPERMB_Z(set, docs, low, docs)
		VPADDD(base, docs, docs)
		SHLXL(over.As32(), left.As32(), over.As32())
		KMOVW(over.As32(), lanes)
		VMOVDQU32(docs, lanes, Mem{Base: to, Disp: 64 * i})
		if i < 3 {
			SUBQ(Imm(64), room)
			SHRQ(Imm(16), left)
			JNE(LabelRef(fmt.Sprintf("end%d", i+1)))
		}
		JMP(LabelRef("next"))
	}
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
