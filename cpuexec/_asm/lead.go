package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A postingLoop goes over n postings or candidates, 16 at a step.
type postingLoop struct {
	i, n reg.GPVirtual
	in   reg.OpmaskVirtual // which of the 16 exist
}

// each emits the loop around the code that body emits for a step.
func (l *postingLoop) each(body func()) {
	l.i, l.n, l.in = GP64(), Load(Param("n"), GP64()).(reg.GPVirtual), K()
	XORQ(l.i, l.i)
	Label("next")
	CMPQ(l.i, l.n)
	JGE(LabelRef("done"))
	left, limit, mask := GP64(), GP64(), GP32()
	MOVQ(l.n, left)
	SUBQ(l.i, left)
	MOVQ(U32(16), limit)
	CMPQ(left, limit)
	CMOVQGT(limit, left)
	MOVL(I32(-1), mask)
	BZHIL(left.As32(), mask, mask)
	KMOVW(mask, l.in)
	body()
	ADDQ(Imm(16), l.i)
	JMP(LabelRef("next"))
	Label("done")
}

func broadcastConst(v uint32) reg.VecVirtual {
	r, z := GP32(), ZMM()
	MOVL(U32(v), r)
	VPBROADCASTD(r, z)
	return z
}

// impactsAVX512 computes impacts as blockmax.Table.compute does, for any frequency: two divisions
// of 16 numbers take no longer than loading 16 from a table.
func impactsAVX512() {
	TEXT("impactsAVX512", NOSPLIT, "func(dst *[128]uint16, docs, freqs *[128]uint32, n int, norms *uint8, k *[256]float32)")
	dst, docs, freqs, norms, k := pointer("dst"), pointer("docs"), pointer("freqs"), pointer("norms"), pointer("k")
	one, scale, most, low := broadcastConst(0x3f800000), broadcastConst(0x47800000), broadcastConst(65535), broadcastConst(255)
	ordinary := broadcastConst(1) // the code of all documents without norms
	var l postingLoop
	l.each(func() {
		code, at, some := ZMM(), ZMM(), K()
		VMOVDQA32(ordinary, code)
		TESTQ(norms, norms)
		JZ(LabelRef("coded"))
		VMOVDQU32(Mem{Base: docs, Index: l.i, Scale: 4}, at)
		KMOVW(l.in, some)
		VPGATHERDD(Mem{Base: norms, Index: at, Scale: 1}, some, code)
		VPANDD(low, code, code)
		Label("coded")
		ratio, tf, all := ZMM(), ZMM(), K()
		VPXORD(ratio, ratio, ratio)
		KXNORW(all, all, all)
		VGATHERDPS(Mem{Base: k, Index: code, Scale: 4}, all, ratio)
		VCVTUDQ2PS(Mem{Base: freqs, Index: l.i, Scale: 4}, tf)
		VDIVPS(tf, ratio, ratio)
		VADDPS(one, ratio, ratio)
		VDIVPS(ratio, scale, ratio)
		VCVTPS2UDQ(ratio, ratio)
		VPMINUD(most, ratio, ratio)
		half := YMM()
		VPMOVDW(ratio, half)
		VMOVDQU(half, Mem{Base: dst, Index: l.i, Scale: 2})
	})
	VZEROUPPER()
	RET()
}

// keepThose compresses 16 documents and scores to position kept, and adds the number of those in
// the mask to kept.
func keepThose(docs, scores reg.VecVirtual, mask reg.OpmaskVirtual, toDocs, toScores, kept reg.GPVirtual) {
	packed := ZMM()
	VPCOMPRESSD_Z(docs, mask, packed)
	VMOVDQU32(packed, Mem{Base: toDocs, Index: kept, Scale: 4})
	VPCOMPRESSD_Z(scores, mask, packed)
	VMOVDQU32(packed, Mem{Base: toScores, Index: kept, Scale: 4})
	count(mask, kept)
}

// leadAVX512 makes candidates of postings.
func leadAVX512() {
	TEXT("leadAVX512", NOSPLIT, "func(toDocs, toScores *[4112]uint32, docs *[128]uint32, impacts *[128]uint16, n int, weight, floor, from, to uint32) (kept int)")
	toDocs, toScores, docs, impacts := pointer("toDocs"), pointer("toScores"), pointer("docs"), pointer("impacts")
	weight, floor, from, to := broadcast32("weight", ZMM()), broadcast32("floor", ZMM()), broadcast32("from", ZMM()), broadcast32("to", ZMM())
	kept, odd := GP64(), K()
	XORQ(kept, kept)
	mask := GP32()
	MOVL(U32(0xaaaa), mask)
	KMOVW(mask, odd)
	var l postingLoop
	l.each(func() {
		doc, impact, score, high := ZMM(), ZMM(), ZMM(), ZMM()
		VMOVDQU32(Mem{Base: docs, Index: l.i, Scale: 4}, doc)
		VPMOVZXWD(Mem{Base: impacts, Index: l.i, Scale: 2}, impact)
		// Products have 47 bits, so multiply every other impact at a time.
		VPMULUDQ(weight, impact, score)
		VPSRLQ(Imm(16), score, score)
		VPSRLQ(Imm(32), impact, high)
		VPMULUDQ(weight, high, high)
		VPSLLQ(Imm(16), high, high)
		VMOVDQA32(high, odd, score)
		enough := K()
		VPCMPUD(Imm(notBelow), floor, score, l.in, enough)
		VPCMPUD(Imm(notBelow), from, doc, enough, enough)
		VPCMPUD(Imm(below), to, doc, enough, enough)
		keepThose(doc, score, enough, toDocs, toScores, kept)
	})
	Store(kept, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// Offsets in struct wordFilter of ../filter.go, and its size. A test compares them with it.
const (
	filterWords  = 0  // []uint8
	filterCount  = 8  // its length
	filterBitmap = 24 // []uint64
	filterUnit   = 48 // uint64
	filterBytes  = 56
)

// filterAVX512 drops candidates by the lists' bounds of their words, and by their bitmaps.
func filterAVX512() {
	TEXT("filterAVX512", NOSPLIT, "func(docs, scores *[4112]uint32, n int, filters *[7]uint64, lists int, rest, need uint32) (kept int)")
	docs, scores, filters, lists := pointer("docs"), pointer("scores"), pointer("filters"), pointer("lists")
	rest, need := broadcast32("rest", ZMM()), broadcast32("need", ZMM())
	low, three, one, last := broadcastConst(255), broadcastConst(3), broadcastConst(1), broadcastConst(31)
	kept := GP64()
	XORQ(kept, kept)
	var l postingLoop
	l.each(func() {
		doc, score, sum, word, at, shift, bit := ZMM(), ZMM(), ZMM(), ZMM(), ZMM(), ZMM(), ZMM()
		in := K()
		KMOVW(l.in, in)
		VMOVDQU32(Mem{Base: docs, Index: l.i, Scale: 4}, doc)
		VMOVDQU32(Mem{Base: scores, Index: l.i, Scale: 4}, score)
		VPADDD(rest, score, sum)
		VPSRLD(Imm(6), doc, word)
		VPSRLD(Imm(2), word, at)
		VPANDD(three, word, shift)
		VPSLLD(Imm(3), shift, shift)
		VPANDD(last, doc, bit)
		VPSLLVD(bit, one, bit)

		f, left := GP64(), GP64()
		MOVQ(filters, f)
		MOVQ(lists, left)
		Label("list")
		TESTQ(left, left)
		JZ(LabelRef("all"))
		base, some, got := GP64(), K(), ZMM()
		MOVQ(Mem{Base: f, Disp: filterWords}, base)
		TESTQ(base, base)
		JZ(LabelRef("bitmap"))
		limit := ZMM()
		VPBROADCASTD(Mem{Base: f, Disp: filterCount}, limit)
		VPCMPUD(Imm(below), limit, word, in, in)
		KMOVW(in, some)
		VPXORD(got, got, got)
		VPGATHERDD(Mem{Base: base, Index: at, Scale: 4}, some, got)
		VPSRLVD(shift, got, got)
		VPANDD(low, got, got)
		VPTESTMD(got, got, in, in)
		VPBROADCASTD(Mem{Base: f, Disp: filterUnit}, limit)
		VPMULLD(limit, got, got)
		VPADDD(got, sum, sum)
		Label("bitmap")
		MOVQ(Mem{Base: f, Disp: filterBitmap}, base)
		TESTQ(base, base)
		JZ(LabelRef("listed"))
		half := ZMM()
		VPSRLD(Imm(5), doc, half)
		KMOVW(in, some)
		VPXORD(got, got, got)
		VPGATHERDD(Mem{Base: base, Index: half, Scale: 4}, some, got)
		VPTESTMD(got, bit, in, in)
		Label("listed")
		KTESTW(in, in)
		JZ(LabelRef("none"))
		ADDQ(Imm(filterBytes), f)
		DECQ(left)
		JMP(LabelRef("list"))

		Label("all")
		VPCMPUD(Imm(notBelow), need, sum, in, in)
		keepThose(doc, score, in, docs, scores, kept)
		Label("none")
	})
	Store(kept, ReturnIndex(0))
	VZEROUPPER()
	RET()
}
