package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// markBytes sets the bytes of documents of a tile. Bits would be slower: each would wait for the
// store of its neighbor in the same word.
func markBytes() {
	TEXT("markBytesBMI2", NOSPLIT, "func(marks *[4096]uint8, docs *uint32, n int)")
	marks, docs, n := pointer("marks"), pointer("docs"), pointer("n")
	const unroll = 8
	mark := func(at int) {
		doc := GP64()
		MOVL(Mem{Base: docs, Disp: 4 * at}, doc.As32())
		ANDL(U32(4095), doc.As32())
		MOVB(U8(255), Mem{Base: marks, Index: doc, Scale: 1})
	}
	Label("many")
	CMPQ(n, Imm(unroll))
	JB(LabelRef("one"))
	for i := range unroll {
		mark(i)
	}
	ADDQ(Imm(4*unroll), docs)
	SUBQ(Imm(unroll), n)
	JMP(LabelRef("many"))
	Label("one")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	mark(0)
	ADDQ(Imm(4), docs)
	DECQ(n)
	JMP(LabelRef("one"))
	Label("done")
	RET()
}

const flushMarksType = "func(set *[64]uint64, marks *[4096]uint8)"

// flushMarksAVX512 turns bytes into bits, 64 at a step.
func flushMarksAVX512() {
	TEXT("flushMarksAVX512", NOSPLIT, flushMarksType)
	set, marks := pointer("set"), pointer("marks")
	zero := ZMM()
	VPXORD(zero, zero, zero)
	words := GP64()
	MOVQ(U32(16), words)
	Label("next")
	for i := range 4 {
		v, k, bits := ZMM(), K(), GP64()
		VMOVDQU8(Mem{Base: marks, Disp: 64 * i}, v)
		VPMOVB2M(v, k)
		VMOVDQU8(zero, Mem{Base: marks, Disp: 64 * i})
		KMOVQ(k, bits)
		ORQ(bits, Mem{Base: set, Disp: 8 * i})
	}
	ADDQ(U32(256), marks)
	ADDQ(Imm(32), set)
	DECQ(words)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}

// flushMarksAVX2 is flushMarksAVX512 with 32 at a step.
func flushMarksAVX2() {
	TEXT("flushMarksAVX2", NOSPLIT, flushMarksType)
	set, marks := pointer("set"), pointer("marks")
	zero := YMM()
	VPXOR(zero, zero, zero)
	words := GP64()
	MOVQ(U32(32), words)
	Label("next")
	for i := range 4 {
		v, bits := YMM(), GP32()
		VMOVDQU(Mem{Base: marks, Disp: 32 * i}, v)
		VPMOVMSKB(v, bits)
		VMOVDQU(zero, Mem{Base: marks, Disp: 32 * i})
		ORL(bits, Mem{Base: set, Disp: 4 * i})
	}
	ADDQ(U32(128), marks)
	ADDQ(Imm(16), set)
	DECQ(words)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}
