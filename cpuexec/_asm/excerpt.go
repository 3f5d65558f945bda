package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// addExcerptAVX512 takes 16 documents at a step: it expands the next impacts to those that are held.
func addExcerptAVX512() {
	TEXT("addExcerptAVX512", NOSPLIT, "func(to *[4096]uint32, held *uint64, impacts *uint16, words int, weight uint32)")
	to, held, impacts, words := pointer("to"), pointer("held"), pointer("impacts"), pointer("words")
	weight, odd := broadcast32("weight", ZMM()), K()
	word, some, n := GP64(), GP32(), GP32()
	MOVL(U32(0xaaaa), some)
	KMOVW(some, odd)
	Label("next")
	TESTQ(words, words)
	JZ(LabelRef("done"))
	MOVQ(Mem{Base: held}, word)
	TESTQ(word, word)
	JZ(LabelRef("empty"))
	for i := range 4 {
		impact, score, high, in := ZMM(), ZMM(), ZMM(), K()
		MOVWLZX(word.As16(), some)
		KMOVW(some, in)
		POPCNTL(some, n)
		VPMOVZXWD(Mem{Base: impacts}, impact)
		VPEXPANDD_Z(impact, in, impact)
		LEAQ(Mem{Base: impacts, Index: n.As64(), Scale: 2}, impacts)
		// Products have 47 bits, so multiply every other impact at a time.
		VPMULUDQ(weight, impact, score)
		VPSRLQ(Imm(16), score, score)
		VPSRLQ(Imm(32), impact, high)
		VPMULUDQ(weight, high, high)
		VPSLLQ(Imm(16), high, high)
		VMOVDQA32(high, odd, score)
		VPADDD(Mem{Base: to, Disp: 64 * i}, score, score)
		VMOVDQU32(score, Mem{Base: to, Disp: 64 * i})
		if i < 3 {
			SHRQ(Imm(16), word)
		}
	}
	Label("empty")
	ADDQ(Imm(8), held)
	ADDQ(U32(256), to)
	DECQ(words)
	JMP(LabelRef("next"))
	Label("done")
	VZEROUPPER()
	RET()
}
