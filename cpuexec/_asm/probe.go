package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in struct probe of ../probe.go. A test compares them with it.
const (
	probeDocs     = 8 * iota // *uint32, candidates
	probeScores              // *uint32
	probeAt                  // uint64
	probeEnd                 // uint64
	probeKept                // uint64
	probeWords               // uint64
	probeRest                // *[64]uint32
	probeNeed                // uint64
	probeOptional            // uint64
	probeFirst               // uint64
	probeLast                // uint64
	probeBits                // *byte
	probeSorted              // *[128]uint32
	probePostings            // uint64
	probeFreqs               // *byte
	probeWidth               // uint64
	probeNorms               // *uint8 or nil
	probeImpacts             // *[16][256]uint16
	probeK                   // *[256]float32
	probeWeight              // uint64
	probeBefore              // uint64
)

// A prober emits the loop over the candidates of a block.
type prober struct {
	p            reg.GPVirtual // *probe
	docs, scores reg.GPVirtual
	at, kept     reg.GPVirtual
	doc          reg.GPVirtual // the current candidate
	hit          reg.GPVirtual // whether it is looked up and the block holds it
}

func (b *prober) field(offset int) Mem { return Mem{Base: b.p, Disp: offset} }

func newProber() *prober {
	b := &prober{p: pointer("p"), docs: GP64(), scores: GP64(), at: GP64(), kept: GP64()}
	MOVQ(b.field(probeDocs), b.docs)
	MOVQ(b.field(probeScores), b.scores)
	MOVQ(b.field(probeAt), b.at)
	MOVQ(b.field(probeKept), b.kept)
	return b
}

// each emits the loop. rank finds the number that the posting has or would have, and ands to hit
// whether it exists.
func (b *prober) each(rank func() reg.GPVirtual) {
	Label("next")
	CMPQ(b.at, b.field(probeEnd))
	JAE(LabelRef("done"))
	b.doc, b.hit = GP64(), GP64()
	MOVL(Mem{Base: b.docs, Index: b.at, Scale: 4}, b.doc.As32())
	CMPQ(b.doc, b.field(probeLast))
	JA(LabelRef("done"))
	word := GP64()
	MOVL(b.doc.As32(), word.As32())
	SHRL(Imm(6), word.As32())
	ANDL(Imm(63), word.As32())
	SHRXQ(word, b.field(probeWords), b.hit)
	ANDL(Imm(1), b.hit.As32())

	// This is a branch, though often mispredicted: most candidates are not in the block, and the
	// branch saves loading lines for them that are seldom cached.
	at, score, keep := rank(), GP64(), GP64()
	MOVL(Mem{Base: b.scores, Index: b.at, Scale: 4}, score.As32())
	MOVQ(b.field(probeOptional), keep)
	ORQ(b.hit, keep)
	TESTL(b.hit.As32(), b.hit.As32())
	JZ(LabelRef("absent"))
	impact := b.impact(b.frequency(at))
	IMULQ(b.field(probeWeight), impact)
	SHRQ(Imm(16), impact)
	ADDL(impact.As32(), score.As32())
	Label("absent")
	INCQ(b.at)

	// Keep it if further contributions can lift it to need.
	MOVL(b.doc.As32(), Mem{Base: b.docs, Index: b.kept, Scale: 4})
	MOVL(score.As32(), Mem{Base: b.scores, Index: b.kept, Scale: 4})
	rest := GP64()
	MOVQ(b.field(probeRest), rest)
	ADDL(Mem{Base: rest, Index: word, Scale: 4}, score.As32())
	CMPL(score.As32(), b.field(probeNeed))
	SBBQ(rest, rest) // all ones if below
	ANDNQ(keep, rest, keep)
	ADDQ(keep, b.kept)
	JMP(LabelRef("next"))

	Label("done")
	MOVQ(b.at, b.field(probeAt))
	MOVQ(b.kept, b.field(probeKept))
}

// frequency loads the frequency of a posting: values are in four lanes of 32 bits.
func (b *prober) frequency(rank reg.GPVirtual) reg.GPVirtual {
	bit, row, tf, behind := GP64(), GP64(), GP64(), GP64()
	MOVL(rank.As32(), bit.As32())
	SHRL(Imm(2), bit.As32())
	IMULL(b.field(probeWidth), bit.As32())
	MOVL(bit.As32(), row.As32())
	SHRL(Imm(5), row.As32())
	ANDL(Imm(3), rank.As32())
	LEAL(Mem{Base: rank, Index: row, Scale: 4}, row.As32())
	SHLL(Imm(2), row.As32())
	ADDQ(b.field(probeFreqs), row)
	MOVL(Mem{Base: row}, tf.As32())
	MOVL(Mem{Base: row, Disp: 16}, behind.As32())
	SHLQ(Imm(32), behind)
	ORQ(behind, tf)
	ANDL(Imm(31), bit.As32())
	SHRXQ(bit, tf, tf)
	MOVQ(b.field(probeWidth), bit)
	BZHIQ(bit, tf, tf)
	INCQ(tf)
	return tf
}

// impact computes the impact of a frequency in the current document.
func (b *prober) impact(tf reg.GPVirtual) reg.GPVirtual {
	code, base := GP64(), GP64()
	MOVQ(b.field(probeNorms), base)
	MOVL(U32(1), code.As32())
	TESTQ(base, base)
	JZ(LabelRef("coded"))
	MOVBLZX(Mem{Base: base, Index: b.doc, Scale: 1}, code.As32())
	Label("coded")
	CMPQ(tf, Imm(16))
	JAE(LabelRef("often"))
	MOVQ(b.field(probeImpacts), base)
	SHLL(Imm(8), tf.As32())
	ADDL(code.As32(), tf.As32())
	MOVWLZX(Mem{Base: base, Index: tf, Scale: 2}, tf.As32())
	JMP(LabelRef("weigh"))

	Label("often")
	MOVQ(b.field(probeK), base)
	computeImpact(tf, code, base)
	Label("weigh")
	return tf
}

// probeBitset looks candidates up in a bitset: the rank of a bit is the number of bits below it,
// without those before the block. It returns false and does nothing unless the bits are those of
// the expected number of postings and the last of them ends the block.
func probeBitset() {
	TEXT("probeBitsetBMI2", NOSPLIT, "func(p *[21]uint64) (ok bool)")
	b := newProber()
	bits, words, below := GP64(), GP64(), AllocLocal(4*64)
	ok := GP64()
	MOVQ(b.field(probeBits), bits)
	MOVQ(b.field(probeLast), words)
	SUBQ(b.field(probeFirst), words)
	sum, i, n := GP64(), GP64(), GP64()
	MOVQ(words, i)
	SHRQ(Imm(6), i)
	MOVQ(Mem{Base: bits, Index: i, Scale: 8}, n)
	BTQ(words, n)
	SETCS(ok.As8())
	MOVQ(i, words) // the last word
	MOVQ(b.field(probeBefore), sum)
	NEGQ(sum)
	XORQ(i, i)
	JMP(LabelRef("counted"))
	Label("count")
	POPCNTQ(Mem{Base: bits, Index: i, Scale: 8}, n)
	ADDQ(n, sum)
	INCQ(i)
	Label("counted")
	MOVL(sum.As32(), below.Idx(i, 4))
	CMPQ(i, words)
	JB(LabelRef("count"))
	// Bits after the last posting may belong to the next block.
	end := GP64()
	MOVQ(b.field(probeLast), end)
	SUBQ(b.field(probeFirst), end)
	ANDL(Imm(63), end.As32())
	INCQ(end)
	BZHIQ(end, Mem{Base: bits, Index: i, Scale: 8}, n)
	POPCNTQ(n, n)
	ADDQ(n, sum)
	CMPQ(sum, b.field(probePostings))
	SETEQ(n.As8())
	ANDB(n.As8(), ok.As8())
	Store(ok.As8(), ReturnIndex(0))
	JZ(LabelRef("return"))

	b.each(func() reg.GPVirtual {
		at, word, set := GP64(), GP64(), GP64()
		MOVQ(b.doc, at)
		SUBQ(b.field(probeFirst), at)
		MOVQ(at, word)
		SHRQ(Imm(6), word)
		MOVQ(Mem{Base: bits, Index: word, Scale: 8}, set)
		MOVL(below.Idx(word, 4), word.As32())
		ANDL(Imm(63), at.As32())
		rank := GP64()
		BZHIQ(at, set, rank)
		POPCNTQ(rank, rank)
		ADDL(word.As32(), rank.As32())
		SHRXQ(at, set, set)
		ANDL(set.As32(), b.hit.As32())
		return rank
	})
	Label("return")
	RET()
}

// probeSortedDocs looks candidates up in the documents of a block by binary search, without
// branches.
func probeSortedDocs() {
	TEXT("probeSortedBMI2", NOSPLIT, "func(p *[21]uint64)")
	b := newProber()
	sorted := GP64()
	MOVQ(b.field(probeSorted), sorted)
	b.each(func() reg.GPVirtual {
		rank, next, same := GP64(), GP64(), GP64()
		XORL(rank.As32(), rank.As32())
		for step := 64; step > 0; step /= 2 {
			LEAQ(Mem{Base: rank, Disp: step}, next)
			CMPL(b.doc.As32(), Mem{Base: sorted, Index: rank, Scale: 4, Disp: 4 * (step - 1)})
			CMOVQHI(next, rank)
		}
		XORL(same.As32(), same.As32())
		CMPL(b.doc.As32(), Mem{Base: sorted, Index: rank, Scale: 4})
		SETEQ(same.As8())
		ANDL(same.As32(), b.hit.As32())
		return rank
	})
	RET()
}

// probeSortedAVX512 compares a candidate with all documents of a block at once, which is three
// times as fast as the search.
func probeSortedAVX512() {
	TEXT("probeSortedAVX512", NOSPLIT, "func(p *[21]uint64)")
	b := newProber()
	sorted := GP64()
	MOVQ(b.field(probeSorted), sorted)
	b.each(func() reg.GPVirtual {
		all := ZMM()
		VPBROADCASTD(b.doc.As32(), all)
		var halves [2]reg.GPVirtual
		for h := range halves {
			var k [4]reg.OpmaskVirtual
			for i := range k {
				k[i] = K()
				VPCMPEQD(Mem{Base: sorted, Disp: 256*h + 64*i}, all, k[i])
			}
			KUNPCKWD(k[0], k[1], k[0])
			KUNPCKWD(k[2], k[3], k[2])
			KUNPCKDQ(k[0], k[2], k[0])
			halves[h] = GP64()
			KMOVQ(k[0], halves[h])
		}
		rank, high, found := GP64(), GP64(), GP64()
		MOVQ(halves[0], found)
		ORQ(halves[1], found)
		SETNE(found.As8())
		ANDL(found.As32(), b.hit.As32())
		TZCNTQ(halves[1], high)
		ADDQ(Imm(64), high)
		TZCNTQ(halves[0], rank)
		CMOVQCS(high, rank) // carry means that there is no bit
		return rank
	})
	VZEROUPPER()
	RET()
}
