package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// Offsets in struct hope of ../hope.go, and its size. A test compares them with it.
const (
	hopeBounds = 8 * iota // *[64]uint8
	hopeHeld              // *[64]uint64 or nil
	hopeAsked             // uint64
	hopeUnit              // uint64
	hopeBytes
)

// dropHopelessAVX512 drops candidates of a tile by the bounds of the lists that hold them. The
// bounds of a list are one register, from which each candidate selects that of its word.
func dropHopelessAVX512() {
	TEXT("dropHopelessAVX512", NOSPLIT, "func(docs, scores *[4112]uint32, n int, hopes *[4]uint64, lists int, need uint32) (kept int)")
	docs, scores, hopes, lists := pointer("docs"), pointer("scores"), pointer("hopes"), pointer("lists")
	need := broadcast32("need", ZMM())
	low, one, last, tile := broadcastConst(255), broadcastConst(1), broadcastConst(31), broadcastConst(4095)
	kept := GP64()
	XORQ(kept, kept)
	var l postingLoop
	l.each(func() {
		doc, score, sum, word, half, bit := ZMM(), ZMM(), ZMM(), ZMM(), ZMM(), ZMM()
		VMOVDQU32(Mem{Base: docs, Index: l.i, Scale: 4}, doc)
		VMOVDQU32(Mem{Base: scores, Index: l.i, Scale: 4}, score)
		VMOVDQA32(score, sum)
		VPANDD(last, doc, bit)
		VPSLLVD(bit, one, bit)
		VPANDD(tile, doc, word)
		VPSRLD(Imm(5), word, half)
		VPSRLD(Imm(6), word, word)

		h, left := GP64(), GP64()
		MOVQ(hopes, h)
		MOVQ(lists, left)
		Label("list")
		TESTQ(left, left)
		JZ(LabelRef("all"))
		base, some, bound, unit := GP64(), K(), ZMM(), ZMM()
		KMOVQ(Mem{Base: h, Disp: hopeAsked}, some)
		MOVQ(Mem{Base: h, Disp: hopeBounds}, base)
		VMOVDQU8_Z(Mem{Base: base}, some, bound)
		VPERMB(bound, word, bound)
		VPANDD(low, bound, bound)
		VPBROADCASTD(Mem{Base: h, Disp: hopeUnit}, unit)
		VPMULLD(unit, bound, bound)
		MOVQ(Mem{Base: h, Disp: hopeHeld}, base)
		TESTQ(base, base)
		JZ(LabelRef("held"))
		bits, there := ZMM(), K()
		KMOVW(l.in, there)
		VPXORD(bits, bits, bits)
		VPGATHERDD(Mem{Base: base, Index: half, Scale: 4}, there, bits)
		VPTESTMD(bits, bit, there)
		VMOVDQA32_Z(bound, there, bound)
		Label("held")
		VPADDD(bound, sum, sum)
		ADDQ(Imm(hopeBytes), h)
		DECQ(left)
		JMP(LabelRef("list"))

		Label("all")
		in := K()
		VPCMPUD(Imm(notBelow), need, sum, l.in, in)
		keepThose(doc, score, in, docs, scores, kept)
	})
	Store(kept, ReturnIndex(0))
	VZEROUPPER()
	RET()
}
