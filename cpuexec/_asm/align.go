package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in struct alignment of ../align.go. A test compares them with it.
const (
	alignLive = 8 * iota
	alignN
	alignBeforeFrom
	alignBeforeCount
	alignBefore
	alignAfterFrom
	alignAfterCount
	alignAfter
	alignToFrom
	alignToCount
	alignTo
	alignKept
	alignShift                   // [2][16]uint16
	alignAdd   = alignShift + 64 // [2][8]uint32
)

// alignAVX2 compares the shorter list of a candidate with the longer one, 16 positions of that at a time,
// which are shifted by the distance. The first eight positions of the shorter one are in one register; if
// there are fewer, the first comes several times, so that no branch depends on their number.
func alignAVX2() {
	var short []byte // bytes of 0 to 8 positions
	for n := range 9 {
		for i := range 8 {
			at := byte(0)
			if i < n {
				at = byte(2 * i)
			}
			short = append(short, at, at+1)
		}
	}
	TEXT("alignAVX2", NOSPLIT, "func(a *[28]uint64)")
	a := pointer("a")
	var copies [8]reg.VecVirtual
	for k := range copies {
		copies[k] = YMM()
		low := byte(2 * k)
		var bytes []byte
		for range 16 {
			bytes = append(bytes, low, low+1)
		}
		VMOVDQU(constBytes("copies"+string(rune('0'+k)), bytes), copies[k])
	}
	i, kept, to := GP64(), GP64(), GP64()
	XORQ(i, i)
	XORQ(kept, kept)
	MOVQ(Mem{Base: a, Disp: alignTo}, to)
	ADDQ(Imm(2), to) // the first is of no candidate
	t := GP64()

	Label("candidate")
	slot, few, many, fewAt, manyAt, swapped := GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	MOVQ(Mem{Base: a, Disp: alignLive}, t)
	MOVBLZX(Mem{Base: t, Index: i, Scale: 1}, slot.As32())
	word := func(disp int, dst reg.GPVirtual) {
		MOVQ(Mem{Base: a, Disp: disp}, t)
		MOVL(Mem{Base: t, Index: slot, Scale: 4}, dst.As32())
	}
	place := func(from, all int, dst reg.GPVirtual) {
		word(from, dst)
		MOVQ(Mem{Base: a, Disp: all}, t)
		LEAQ(Mem{Base: t, Index: dst, Scale: 2}, dst)
	}
	word(alignBeforeCount, few)
	place(alignBeforeFrom, alignBefore, fewAt)
	word(alignAfterCount, many)
	place(alignAfterFrom, alignAfter, manyAt)
	XORL(swapped.As32(), swapped.As32())
	CMPQ(few, many)
	SETHI(swapped.As8())
	for _, pair := range [][2]reg.GPVirtual{{few, many}, {fewAt, manyAt}} {
		MOVQ(pair[0], t)
		CMOVQHI(pair[1], pair[0])
		CMOVQHI(t, pair[1])
	}
	SHLQ(Imm(5), swapped)
	shift := YMM()
	VMOVDQU(Mem{Base: a, Index: swapped, Scale: 1, Disp: alignShift}, shift)

	count, hide, m := GP64(), GP64(), GP64()
	firsts := YMM()
	MOVQ(few, t)
	MOVL(U32(8), m.As32())
	CMPQ(t, m)
	CMOVQHI(m, t)
	SHLQ(Imm(4), t)
	LEAQ(constBytes("shortLists", short), m)
	VMOVDQU(Mem{Base: fewAt}, firsts.AsX())
	VPSHUFB(Mem{Base: m, Index: t, Scale: 1}, firsts.AsX(), firsts.AsX())
	VINSERTI128(Imm(1), firsts.AsX(), firsts, firsts)
	XORL(count.As32(), count.As32())
	MOVL(I32(-4), hide.As32()) // the first has none before it

	Label("chunk")
	some, again, found, one := YMM(), YMM(), YMM(), YMM()
	VMOVDQU(Mem{Base: manyAt}, some)
	VPCMPEQW(Mem{Base: manyAt, Disp: -2}, some, again)
	VPSUBW(shift, some, some)
	for k, copy := range copies {
		to := one
		if k == 0 {
			to = found
		}
		VPSHUFB(copy, firsts, to)
		VPCMPEQW(some, to, to)
		if k > 0 {
			VPOR(one, found, found)
		}
	}
	CMPQ(few, Imm(8))
	JHI(LabelRef("more"))

	Label("found")
	VPMOVMSKB(again, t.As32())
	ANDL(hide.As32(), t.As32())
	VPMOVMSKB(found, m.As32())
	ANDNL(m.As32(), t.As32(), m.As32())
	MOVL(U32(16), t.As32())
	CMPQ(many, t)
	CMOVQLT(many, t)
	ADDL(t.As32(), t.As32())
	BZHIL(t.As32(), m.As32(), m.As32())
	POPCNTL(m.As32(), t.As32())
	ADDQ(t, count)
	CMPQ(Mem{Base: a, Disp: alignTo}, Imm(0))
	JEQ(LabelRef("next"))
	ANDL(U32(0x55555555), m.As32())
	JZ(LabelRef("next"))
	Label("emit")
	TZCNTL(m.As32(), t.As32())
	MOVWLZX(Mem{Base: manyAt, Index: t, Scale: 1}, t.As32())
	ADDL(Mem{Base: a, Index: swapped, Scale: 1, Disp: alignAdd}, t.As32())
	MOVW(t.As16(), Mem{Base: to})
	ADDQ(Imm(2), to)
	BLSRL(m.As32(), m.As32())
	JNE(LabelRef("emit"))

	Label("next")
	ADDQ(Imm(32), manyAt)
	MOVL(I32(-1), hide.As32())
	SUBQ(Imm(16), many)
	JGT(LabelRef("chunk"))

	SHRQ(Imm(1), count)
	MOVQ(Mem{Base: a, Disp: alignToCount}, t)
	MOVL(count.As32(), Mem{Base: t, Index: slot, Scale: 4})
	CMPQ(Mem{Base: a, Disp: alignTo}, Imm(0))
	JEQ(LabelRef("placed"))
	MOVQ(to, m)
	SUBQ(Mem{Base: a, Disp: alignTo}, m)
	SHRQ(Imm(1), m)
	SUBQ(count, m)
	MOVQ(Mem{Base: a, Disp: alignToFrom}, t)
	MOVL(m.As32(), Mem{Base: t, Index: slot, Scale: 4})
	Label("placed")
	MOVQ(Mem{Base: a, Disp: alignLive}, t)
	MOVB(slot.As8(), Mem{Base: t, Index: kept, Scale: 1})
	CMPQ(count, Imm(1))
	SBBQ(I8(-1), kept)
	INCQ(i)
	CMPQ(i, Mem{Base: a, Disp: alignN})
	JLT(LabelRef("candidate"))
	MOVQ(kept, Mem{Base: a, Disp: alignKept})
	VZEROUPPER()
	RET()

	Label("more") // positions of the shorter list behind the first eight
	q := GP64()
	MOVQ(few, q)
	Label("another")
	VPBROADCASTW(Mem{Base: fewAt, Index: q, Scale: 2, Disp: -2}, one)
	VPCMPEQW(some, one, one)
	VPOR(one, found, found)
	DECQ(q)
	CMPQ(q, Imm(8))
	JHI(LabelRef("another"))
	JMP(LabelRef("found"))
}

// constBytes is constant data.
func constBytes(name string, bytes []byte) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i, b := range bytes {
		DATA(i, U8(b))
	}
	return m
}
