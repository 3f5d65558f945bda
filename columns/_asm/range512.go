package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const notAbove = 2 // predicate of VPCMPU

// rangeAVX512 compares numbers where they begin in their lanes: the bounds are shifted, not the
// numbers.
func rangeAVX512() {
	TEXT("rangeAVX512", NOSPLIT, "func(set *uint64, b *byte, words, width int, lo, span uint64)")
	set, b, words, width := pointer("set"), pointer("b"), pointer("words"), pointer("width")
	lo, span := pointer("lo"), pointer("span")
	mask := lowBits(width)
	begin := func(table Mem) (shuffle, masks, los, spans reg.VecVirtual, shifts Mem) {
		at := row(table, 128, width)
		shuffle = ZMM()
		VMOVDQU64(Mem{Base: at}, shuffle)
		return shuffle, ZMM(), ZMM(), ZMM(), Mem{Base: at, Disp: 64}
	}
	CMPQ(width, Imm(narrow))
	JA(LabelRef("middle"))
	{
		shuffle, masks, los, spans, shifts := begin(rows512("narrow512", 2, narrow))
		count := ZMM()
		VMOVDQU64(shifts, count)
		for _, p := range []struct {
			from reg.GPVirtual
			to   reg.VecVirtual
		}{{mask, masks}, {lo, los}, {span, spans}} {
			from, to := p.from, p.to
			VPBROADCASTW(from.As32(), to)
			VPSLLVW(count, to, to)
		}
		step := GP64()
		LEAQ(Mem{Base: width, Index: width, Scale: 1}, step)
		Label("narrowWord")
		for half := range 2 {
			v, k := ZMM(), K()
			if half == 0 {
				VPERMB(Mem{Base: b}, shuffle, v)
			} else {
				VPERMB(Mem{Base: b, Index: step, Scale: 2}, shuffle, v)
			}
			VPANDQ(masks, v, v)
			VPSUBW(los, v, v)
			VPCMPUW(Imm(notAbove), spans, v, k)
			KMOVD(k, Mem{Base: set, Disp: 4 * half})
		}
		LEAQ(Mem{Base: b, Index: step, Scale: 4}, b)
		ADDQ(Imm(8), set)
		DECQ(words)
		JNZ(LabelRef("narrowWord"))
		VZEROUPPER()
		RET()
	}
	Label("middle")
	CMPQ(width, Imm(middle))
	JA(LabelRef("wide"))
	{
		shuffle, masks, los, spans, shifts := begin(rows512("middle512", 4, middle))
		count := ZMM()
		VMOVDQU64(shifts, count)
		for _, p := range []struct {
			from reg.GPVirtual
			to   reg.VecVirtual
		}{{mask, masks}, {lo, los}, {span, spans}} {
			from, to := p.from, p.to
			VPBROADCASTD(from.As32(), to)
			VPSLLVD(count, to, to)
		}
		step, three := GP64(), GP64()
		LEAQ(Mem{Base: width, Index: width, Scale: 1}, step)
		LEAQ(Mem{Base: step, Index: step, Scale: 2}, three)
		Label("middleWord")
		for i, at := range []Mem{{Base: b}, {Base: b, Index: step, Scale: 1}, {Base: b, Index: step, Scale: 2}, {Base: b, Index: three, Scale: 1}} {
			v, k := ZMM(), K()
			VPERMB(at, shuffle, v)
			VPANDD(masks, v, v)
			VPSUBD(los, v, v)
			VPCMPUD(Imm(notAbove), spans, v, k)
			KMOVW(k, Mem{Base: set, Disp: 2 * i})
		}
		LEAQ(Mem{Base: b, Index: step, Scale: 4}, b)
		ADDQ(Imm(8), set)
		DECQ(words)
		JNZ(LabelRef("middleWord"))
		VZEROUPPER()
		RET()
	}
	Label("wide")
	{
		shuffle, masks, los, spans, shifts := begin(rows512("wide512", 8, wide))
		count := ZMM()
		VMOVDQU64(shifts, count)
		for _, p := range []struct {
			from reg.GPVirtual
			to   reg.VecVirtual
		}{{mask, masks}, {lo, los}, {span, spans}} {
			from, to := p.from, p.to
			VPBROADCASTQ(from, to)
			VPSLLVQ(count, to, to)
		}
		SHLQ(Imm(3), words)
		Label("wideByte")
		v, k := ZMM(), K()
		VPERMB(Mem{Base: b}, shuffle, v)
		VPANDQ(masks, v, v)
		VPSUBQ(los, v, v)
		VPCMPUQ(Imm(notAbove), spans, v, k)
		KMOVB(k, Mem{Base: set})
		ADDQ(width, b)
		INCQ(set)
		DECQ(words)
		JNZ(LabelRef("wideByte"))
		VZEROUPPER()
		RET()
	}
}
