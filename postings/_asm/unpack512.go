package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// unpackAVX512 writes docsAVX512 and freqsAVX512. The code is straight, without a loop: stages work
// on independent registers, so that few instructions wait. (A loop of the same instructions, 16
// values at a step, took a third more: its chain of some 60 cycles per step fills the schedulers.)
func unpackAVX512() {
	n, w := makeNarrowTables(), makeWideTables()
	docsAVX512(n, w)
	freqsAVX512(n, w)
}

func docsAVX512(nt narrowTables, wt wideTables) {
	TEXT("docsAVX512", NOSPLIT, "func(dst *[128]uint32, rows *byte, width int, prev uint32)")
	dst := Load(Param("dst"), GP64()).(reg.GPVirtual)
	rows := Load(Param("rows"), GP64()).(reg.GPVirtual)
	width := Load(Param("width"), GP64()).(reg.GPVirtual)
	prev := Load(Param("prev"), GP32())
	carry := ZMM()
	VPBROADCASTD(prev, carry)
	s := makeSums()
	CMPQ(width, Imm(narrow))
	JA(LabelRef("wide"))

	s.docsNarrow(nt.load(rows, width), nt.order, carry, dst)
	VZEROUPPER()
	RET()

	Label("wide")
	v := wt.load(rows, width)
	s.docsWide(v[:], lowBits(width), carry, dst)
	VZEROUPPER()
	RET()
}

// sums has the constants of prefix sums over 16 lanes.
type sums struct {
	steps []sumStep
	last  reg.VecVirtual // VPERMD: lane 15 to all lanes
}

// A sumStep adds to some lanes the value of an earlier lane, so that runs of sums of n lanes become
// runs of 2n.
type sumStep struct {
	to   reg.OpmaskVirtual // lanes to which it adds
	from reg.VecVirtual    // VPERMD: the lanes that are added, or
	imm  uint64            // VPSHUFD: the same within four lanes, at twice the rate
}

func makeSums() *sums {
	mask := func(bits uint32) reg.OpmaskVirtual {
		k, r := K(), GP32()
		MOVL(U32(bits), r)
		KMOVW(r, k)
		return k
	}
	load := func(m Mem) reg.VecVirtual {
		v := ZMM()
		VMOVDQU32(m, v)
		return v
	}
	return &sums{
		steps: []sumStep{
			{to: mask(0xaaaa), imm: 0xa0},
			{to: mask(0xcccc), imm: 0x50},
			{to: mask(0xf0f0), from: load(dwords("lanes4", func(i int) uint32 { return uint32(i&8 | 3) }))},
			{to: mask(0xff00), from: load(dwords("lanes8", func(int) uint32 { return 7 }))},
		},
		last: load(dwords("lanes16", func(int) uint32 { return 15 })),
	}
}

// prefix replaces every lane of each register by the sum of the lanes up to it.
func (s *sums) prefix(v []reg.VecVirtual) {
	for _, step := range s.steps {
		for _, v := range v {
			add := ZMM()
			if step.from == nil {
				VPSHUFD_Z(Imm(step.imm), v, step.to, add)
			} else {
				VPERMD_Z(v, step.from, step.to, add)
			}
			VPADDD(add, v, v)
		}
	}
}

// docsWide masks the values of a block, sums them up from carry and stores them. Not (x and mask)
// is -(gap), so one instruction both masks and adds one. The sums are therefore negative until the
// end.
func (s *sums) docsWide(v []reg.VecVirtual, mask, carry reg.VecVirtual, dst reg.GPVirtual) {
	for _, v := range v {
		VPTERNLOGD(Imm(0x77), mask, v, v)
	}
	s.prefix(v)
	for i, v := range v {
		total := ZMM()
		VPERMD(v, s.last, total)
		VPSUBD(v, carry, v)
		VPSUBD(total, carry, carry)
		VMOVDQU32(v, Mem{Base: dst, Disp: 64 * i})
	}
}

// docsNarrow sums up the bytes of a block from carry and stores the sums. The bytes of a group are
// a lane of 32 bits, so a dot product with ones sums up the group, and one with (1, 0, 0, 0), (1,
// 1, 0, 0), ... makes the sums within it. Only the sums of groups remain to be summed up in steps:
// one register of them for four of documents.
func (s *sums) docsNarrow(v [2]reg.VecVirtual, order Mem, carry reg.VecVirtual, dst reg.GPVirtual) {
	natural, ones, four := ZMM(), ZMM(), ZMM()
	VMOVDQU64(order, natural)
	VMOVDQU64(dwords("ones", func(int) uint32 { return 0x01010101 }), ones)
	VMOVDQU64(dwords("four", func(int) uint32 { return 4 }), four)
	sum, before := []reg.VecVirtual{ZMM(), ZMM()}, []reg.VecVirtual{ZMM(), ZMM()}
	for i, v := range v {
		VPERMB(v, natural, v)
		VMOVDQA64(four, sum[i]) // a gap is one more than the stored value
		VPDPBUSD(ones, v, sum[i])
		VPSUBD(sum[i], carry, before[i])
	}
	s.prefix(sum)
	for i := range v {
		VPADDD(sum[i], before[i], before[i])
	}
	VPERMD(sum[0], s.last, sum[0])
	VPADDD(sum[0], before[1], before[1])

	within, steps := ZMM(), ZMM()
	VMOVDQU64(dwords("within", func(i int) uint32 { return 0x01010101 >> (24 - 8*(i%4)) }), within)
	VMOVDQU64(dwords("stepsOfGap", func(i int) uint32 { return uint32(i%4 + 1) }), steps)
	for part := range 4 {
		group := ZMM()
		VMOVDQU64(dwords(fmt.Sprintf("groups%d", part), func(i int) uint32 { return uint32(4*part + i/4) }), group)
		for i, v := range v {
			gaps, docs := ZMM(), ZMM()
			VPERMD(v, group, gaps)
			VPERMD(before[i], group, docs)
			VPADDD(steps, docs, docs)
			VPDPBUSD(within, gaps, docs)
			VMOVDQU32(docs, Mem{Base: dst, Disp: 256*i + 64*part})
		}
	}
}

// freqsAVX512 unpacks values and adds one to each.
func freqsAVX512(nt narrowTables, wt wideTables) {
	TEXT("freqsAVX512", NOSPLIT, "func(dst *[128]uint32, rows *byte, width int)")
	dst := Load(Param("dst"), GP64()).(reg.GPVirtual)
	rows := Load(Param("rows"), GP64()).(reg.GPVirtual)
	width := Load(Param("width"), GP64()).(reg.GPVirtual)
	minus1 := ZMM()
	VPTERNLOGD(Imm(0xff), minus1, minus1, minus1)
	CMPQ(width, Imm(narrow))
	JA(LabelRef("wide"))

	low, r := K(), GP64() // the low bytes of lanes
	MOVQ(U64(0x1111111111111111), r)
	KMOVQ(r, low)
	v := nt.load(rows, width)
	for part := range 4 {
		place := ZMM()
		VMOVDQU64(vector(fmt.Sprintf("narrowPlace%d", part), func(i int) uint8 { return narrowPlace(16*part + i/4) }), place)
		for i, v := range v {
			freqs := ZMM()
			VPERMB_Z(v, place, low, freqs)
			VPSUBD(minus1, freqs, freqs)
			VMOVDQU32(freqs, Mem{Base: dst, Disp: 256*i + 64*part})
		}
	}
	VZEROUPPER()
	RET()

	Label("wide")
	mask := lowBits(width)
	for i, v := range wt.load(rows, width) {
		VPANDD(mask, v, v)
		VPSUBD(minus1, v, v)
		VMOVDQU32(v, Mem{Base: dst, Disp: 64 * i})
	}
	VZEROUPPER()
	RET()
}

// lowBits emits the mask of the low bits of each lane.
func lowBits(width reg.GPVirtual) reg.VecVirtual {
	mask, ones := ZMM(), GP32()
	MOVL(I32(-1), ones)
	BZHIL(width.As32(), ones, ones)
	VPBROADCASTD(ones, mask)
	return mask
}
