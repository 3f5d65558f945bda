package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// depositBMI2 goes from the last word to the first, so that bits which are still to be moved are not
// overwritten.
func depositBMI2() {
	TEXT("depositBMI2", NOSPLIT, "func(set, has *[64]uint64, docs int)")
	set, has, at := pointer("set"), pointer("has"), pointer("docs")
	i, last := GP64(), GP64()
	MOVQ(U32(63), i)
	MOVQ(U32(63), last)
	Label("word")
	mask, n, word, next, shift, low, high := GP64(), GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	MOVQ(Mem{Base: has, Index: i, Scale: 8}, mask)
	POPCNTQ(mask, n)
	SUBQ(n, at)
	MOVQ(at, word)
	SHRQ(Imm(6), word)
	CMPQ(word, last) // a word without bits, behind the last bit of a full tile
	CMOVQHI(last, word)
	LEAQ(Mem{Base: word, Disp: 1}, next)
	CMPQ(next, last)
	CMOVQHI(last, next)
	MOVQ(Mem{Base: set, Index: word, Scale: 8}, low)
	MOVQ(Mem{Base: set, Index: next, Scale: 8}, high)
	MOVQ(at, shift)
	ANDQ(Imm(63), shift)
	SHRXQ(shift, low, low)
	XORQ(last, shift) // 63 - shift
	ADDQ(high, high)
	SHLXQ(shift, high, high)
	ORQ(high, low)
	PDEPQ(mask, low, low)
	MOVQ(low, Mem{Base: set, Index: i, Scale: 8})
	DECQ(i)
	JNS(LabelRef("word"))
	RET()
}

// anyBMI2 adds the values found to all values that are not the last of their document. A value found
// thus carries into the bit of the last one.
func anyBMI2() {
	TEXT("anyBMI2", NOSPLIT, "func(set, found, ends *uint64, words int)")
	set, found, ends, words := pointer("set"), pointer("found"), pointer("ends"), pointer("words")
	carry, all, held := GP64(), GP64(), GP64()
	XORQ(carry, carry)
	XORQ(all, all)
	XORQ(held, held) // bits in all
	Label("word")
	f, end, not, sum, n := GP64(), GP64(), GP64(), GP64(), GP64()
	MOVQ(Mem{Base: found}, f)
	MOVQ(Mem{Base: ends}, end)
	MOVQ(end, not)
	NOTQ(not)
	ANDNQ(f, end, sum)
	ADDQ(I32(-1), carry) // sets the carry flag
	ADCQ(not, sum)
	SBBQ(carry, carry)
	NEGQ(carry)
	ORQ(f, sum)
	PEXTQ(end, sum, sum)
	POPCNTQ(end, n)
	shifted := GP64()
	SHLXQ(held, sum, shifted)
	ORQ(shifted, all)
	ADDQ(n, held)
	CMPQ(held, Imm(64))
	JB(LabelRef("next"))
	MOVQ(all, Mem{Base: set})
	ADDQ(Imm(8), set)
	SUBQ(Imm(64), held)
	SUBQ(held, n)
	DECQ(n)
	SHRQ(Imm(1), sum)
	SHRXQ(n, sum, all)
	Label("next")
	ADDQ(Imm(8), found)
	ADDQ(Imm(8), ends)
	DECQ(words)
	JNZ(LabelRef("word"))
	TESTQ(held, held)
	JZ(LabelRef("done"))
	MOVQ(all, Mem{Base: set})
	Label("done")
	RET()
}

// docsAVX512 compresses the numbers 0 to 63 by a word of the set, and stores 32 documents, or 64; the next
// store overwrites the surplus. So it never stores behind document 64*i+63 for word i.
func docsAVX512() {
	numbers := make([]byte, 64)
	for i := range numbers {
		numbers[i] = byte(i)
	}
	TEXT("docsAVX512", NOSPLIT, "func(dst *[4096]uint16, set *[64]uint64) (n int)")
	dst, set := pointer("dst"), pointer("set")
	all, base, many, first, words := ZMM(), ZMM(), ZMM(), GP64(), GP64()
	VMOVDQU64(global("numbers", numbers), all)
	VPXORQ(base, base, base)
	VPBROADCASTW(constant(64).As32(), many)
	MOVQ(dst, first)
	MOVQ(U32(64), words)
	Label("word")
	word, of, few, found, n := GP64(), K(), ZMM(), ZMM(), GP64()
	MOVQ(Mem{Base: set}, word)
	KMOVQ(word, of)
	POPCNTQ(word, n)
	VPCOMPRESSB(all, of, few)
	VPMOVZXBW(few.AsY(), found)
	VPADDW(base, found, found)
	VMOVDQU64(found, Mem{Base: dst})
	CMPQ(n, Imm(32))
	JBE(LabelRef("next"))
	VEXTRACTI64X4(Imm(1), few, few.AsY())
	VPMOVZXBW(few.AsY(), found)
	VPADDW(base, found, found)
	VMOVDQU64(found, Mem{Base: dst, Disp: 64})
	Label("next")
	LEAQ(Mem{Base: dst, Index: n, Scale: 2}, dst)
	VPADDW(many, base, base)
	ADDQ(Imm(8), set)
	DECQ(words)
	JNZ(LabelRef("word"))
	SUBQ(first, dst)
	SHRQ(Imm(1), dst)
	VZEROUPPER()
	Store(dst, ReturnIndex(0))
	RET()
}

// docsAVX2 looks up, for each byte of the set, the numbers 0 to 7 whose bits are set. It stores eight
// documents, and the next store overwrites the surplus. So it never stores behind document 8*i+7 for
// byte i.
func docsAVX2() {
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
	TEXT("docsAVX2", NOSPLIT, "func(dst *[4096]uint16, set *[64]uint64) (n int)")
	dst, set := pointer("dst"), pointer("set")
	base, eight, many, numbers, first, words, r := XMM(), XMM(), XMM(), GP64(), GP64(), GP64(), GP32()
	VPXOR(base, base, base)
	for _, c := range []struct {
		n uint32
		v reg.VecVirtual
	}{{8, eight}, {64, many}} {
		MOVL(U32(c.n), r)
		VMOVD(r, c.v)
		VPBROADCASTW(c.v, c.v)
	}
	LEAQ(global("bitsOfByte", table), numbers)
	MOVQ(dst, first)
	MOVQ(U32(64), words)

	Label("word")
	word := GP64()
	MOVQ(Mem{Base: set}, word)
	TESTQ(word, word)
	JZ(LabelRef("none"))
	docs := XMM()
	VMOVDQA(base, docs)
	for i := range 8 {
		bits, found := GP64(), XMM()
		MOVBLZX(word.As8(), bits.As32())
		VPMOVZXBW(Mem{Base: numbers, Index: bits, Scale: 8}, found)
		POPCNTL(bits.As32(), bits.As32())
		VPADDW(docs, found, found)
		VMOVDQU(found, Mem{Base: dst})
		LEAQ(Mem{Base: dst, Index: bits, Scale: 2}, dst)
		if i < 7 {
			SHRQ(Imm(8), word)
			VPADDW(eight, docs, docs)
		}
	}
	Label("none")
	VPADDW(many, base, base)
	ADDQ(Imm(8), set)
	DECQ(words)
	JNZ(LabelRef("word"))
	SUBQ(first, dst)
	SHRQ(Imm(1), dst)
	Store(dst, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// onesPOPCNT counts in four sums, as each addition waits for the one before.
func onesPOPCNT() {
	TEXT("onesPOPCNT", NOSPLIT, "func(set *[64]uint64) (n int)")
	set := pointer("set")
	var sums [4]reg.GPVirtual
	for i := range 64 {
		if i < 4 {
			sums[i] = GP64()
			POPCNTQ(Mem{Base: set, Disp: 8 * i}, sums[i])
			continue
		}
		n := GP64()
		POPCNTQ(Mem{Base: set, Disp: 8 * i}, n)
		ADDQ(n, sums[i%4])
	}
	ADDQ(sums[1], sums[0])
	ADDQ(sums[3], sums[2])
	ADDQ(sums[2], sums[0])
	Store(sums[0], ReturnIndex(0))
	RET()
}
