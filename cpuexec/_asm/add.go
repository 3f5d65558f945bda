package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// addPostings adds the contributions of postings to the scores of their documents, one at a time:
// on Zen, gathering length codes and impacts takes longer than loading them.
func addPostings() {
	TEXT("addPostingsBMI2", NOSPLIT, "func(to *[4096]uint32, docs, freqs *uint32, n int, norms *uint8, impacts *[16][256]uint16, k *[256]float32, weight uint64)")
	to, docs, freqs, norms := pointer("to"), pointer("docs"), pointer("freqs"), pointer("norms")
	impacts, k, weight, n := pointer("impacts"), pointer("k"), pointer("weight"), pointer("n")
	LEAQ(Mem{Base: docs, Index: n, Scale: 4}, docs)
	LEAQ(Mem{Base: freqs, Index: n, Scale: 4}, freqs)
	NEGQ(n) // counts up to 0
	JZ(LabelRef("done"))
	doc, tf, code := GP64(), GP64(), GP64()
	MOVL(U32(1), code.As32())

	Label("next")
	MOVL(Mem{Base: docs, Index: n, Scale: 4}, doc.As32())
	MOVL(Mem{Base: freqs, Index: n, Scale: 4}, tf.As32())
	TESTQ(norms, norms)
	JZ(LabelRef("coded"))
	MOVBLZX(Mem{Base: norms, Index: doc, Scale: 1}, code.As32())
	Label("coded")
	CMPQ(tf, Imm(16))
	JAE(LabelRef("often"))
	SHLL(Imm(8), tf.As32())
	ADDL(code.As32(), tf.As32())
	MOVWLZX(Mem{Base: impacts, Index: tf, Scale: 2}, tf.As32())
	Label("weigh")
	IMULQ(weight, tf)
	SHRQ(Imm(16), tf)
	ANDL(U32(4095), doc.As32())
	ADDL(tf.As32(), Mem{Base: to, Index: doc, Scale: 4})
	INCQ(n)
	JNZ(LabelRef("next"))
	Label("done")
	RET()

	Label("often")
	computeImpact(tf, code, k)
	JMP(LabelRef("weigh"))
}

// computeImpact replaces a frequency by its impact, as blockmax.Table computes it.
func computeImpact(tf, code, k reg.GPVirtual) {
	x, f := XMM(), XMM()
	limit := GP32()
	VXORPS(f, f, f)
	VCVTSI2SSQ(tf, f, f)
	VMOVSS(Mem{Base: k, Index: code, Scale: 4}, x)
	VDIVSS(f, x, x)
	MOVL(U32(0x3f800000), limit) // 1
	VMOVD(limit, f)
	VADDSS(f, x, x)
	MOVL(U32(0x47800000), limit) // 65536
	VMOVD(limit, f)
	VDIVSS(x, f, f)
	VCVTSS2SI(f, tf.As32())
	MOVL(U32(65535), limit)
	CMPL(tf.As32(), limit)
	CMOVLHI(limit, tf.As32())
}
