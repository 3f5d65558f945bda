package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const siftType = "func(docs, scores *[4112]uint32, from *[4096]uint32, base uint32, words uint64, rest *[64]uint32, need uint32) (n, scored int)"

// A siftLoop goes over the words of a tile.
type siftLoop struct {
	docs, scores, from, rest reg.GPVirtual
	base, need               reg.GPVirtual // 32 bits
	words, n, scored         reg.GPVirtual
	word                     reg.GPVirtual // the current word
	floor                    reg.GPVirtual // 32 bits; the least score that its documents need
	at                       reg.GPVirtual // where its scores are
}

func newSiftLoop() *siftLoop {
	l := &siftLoop{docs: pointer("docs"), scores: pointer("scores"), from: pointer("from"), rest: pointer("rest"),
		words: pointer("words"), n: GP64(), scored: GP64(), word: GP64(), floor: GP32(), at: GP64()}
	l.base = Load(Param("base"), GP32()).(reg.GPVirtual)
	l.need = Load(Param("need"), GP32()).(reg.GPVirtual)
	XORQ(l.n, l.n)
	XORQ(l.scored, l.scored)
	return l
}

// each emits the loop around the code that body emits for a word.
func (l *siftLoop) each(body func()) {
	Label("next")
	TESTQ(l.words, l.words)
	JZ(LabelRef("done"))
	TZCNTQ(l.words, l.word)
	BLSRQ(l.words, l.words)
	MOVL(l.need, l.floor)
	SUBL(Mem{Base: l.rest, Index: l.word, Scale: 4}, l.floor)
	MOVQ(l.word, l.at)
	SHLQ(Imm(8), l.at)
	ADDQ(l.from, l.at)
	body()
	JMP(LabelRef("next"))
	Label("done")
	Store(l.n, ReturnIndex(0))
	Store(l.scored, ReturnIndex(1))
	VZEROUPPER()
	RET()
}

// siftAVX512 compresses 16 documents at a step. It compresses in registers and stores
// all 16: compressing to memory is slow on Zen.
func siftAVX512() {
	TEXT("siftAVX512", NOSPLIT, siftType)
	l := newSiftLoop()
	zero, ascending := ZMM(), ZMM()
	VPXORD(zero, zero, zero)
	VMOVDQU32(dwords("ascending", func(i int) uint32 { return uint32(i) }), ascending)
	l.each(func() {
		floor, docs, first := ZMM(), ZMM(), GP32()
		VPBROADCASTD(l.floor, floor)
		MOVL(l.word.As32(), first)
		SHLL(Imm(6), first)
		ADDL(l.base, first)
		for i := range 4 {
			scores, packed, nonzero, enough := ZMM(), ZMM(), K(), K()
			VMOVDQU32(Mem{Base: l.at, Disp: 64 * i}, scores)
			VPTESTMD(scores, scores, nonzero)
			VPCMPUD(Imm(notBelow), floor, scores, enough)
			VMOVDQU32(zero, Mem{Base: l.at, Disp: 64 * i})
			count(nonzero, l.scored)

			VPBROADCASTD(first, docs)
			VPADDD(ascending, docs, docs)
			VPCOMPRESSD_Z(docs, enough, packed)
			VMOVDQU32(packed, Mem{Base: l.docs, Index: l.n, Scale: 4})
			VPCOMPRESSD_Z(scores, enough, packed)
			VMOVDQU32(packed, Mem{Base: l.scores, Index: l.n, Scale: 4})
			count(enough, l.n)
			if i < 3 {
				ADDL(Imm(16), first)
			}
		}
	})
}

// count adds the number of bits of a mask to sum.
func count(k reg.OpmaskVirtual, sum reg.GPVirtual) {
	bits := GP32()
	KMOVW(k, bits)
	POPCNTL(bits, bits)
	ADDQ(bits.As64(), sum)
}

// siftAVX2 tests 8 documents at a step and extracts those that reach the floor one by one, because
// there are few.
func siftAVX2() {
	TEXT("siftAVX2", NOSPLIT, siftType)
	l := newSiftLoop()
	zero := YMM()
	VPXOR(zero, zero, zero)
	mask, at := GP32(), GP64()
	l.each(func() {
		low, floor, nonzero := XMM(), YMM(), GP32()
		VMOVD(l.floor, low)
		VPBROADCASTD(low, floor)
		take := GP64() // a bit for each document that reaches the floor
		XORQ(take, take)
		for i := range 8 {
			scores, m := YMM(), YMM()
			VMOVDQU(Mem{Base: l.at, Disp: 32 * i}, scores)
			VPCMPEQD(zero, scores, m)
			VMOVMSKPS(m, nonzero)
			XORL(Imm(255), nonzero)
			POPCNTL(nonzero, nonzero)
			ADDQ(nonzero.As64(), l.scored)
			VPMAXUD(floor, scores, m)
			VPCMPEQD(scores, m, m)
			VMOVMSKPS(m, mask)
			if i > 0 {
				SHLQ(Imm(uint64(8*i)), mask.As64())
			}
			ORQ(mask.As64(), take)
		}
		SHLQ(Imm(6), l.word)
		ADDL(l.base, l.word.As32())
		Label("take")
		TESTQ(take, take)
		JZ(LabelRef("clear"))
		TZCNTQ(take, at)
		BLSRQ(take, take)
		MOVL(Mem{Base: l.at, Index: at, Scale: 4}, mask)
		MOVL(mask, Mem{Base: l.scores, Index: l.n, Scale: 4})
		ADDL(l.word.As32(), at.As32())
		MOVL(at.As32(), Mem{Base: l.docs, Index: l.n, Scale: 4})
		INCQ(l.n)
		JMP(LabelRef("take"))
		Label("clear")
		for i := range 8 {
			VMOVDQU(zero, Mem{Base: l.at, Disp: 32 * i})
		}
	})
}

// dwords writes 16 numbers of 32 bits.
func dwords(name string, at func(i int) uint32) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 16 {
		DATA(4*i, U32(at(i)))
	}
	return m
}
