package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const addBoundsType = "func(next, sum *[64]uint32, bounds *[64]uint8, unit, need uint32) (reach, present uint64)"

// addBoundsAVX512 takes 16 words at a step.
func addBoundsAVX512() {
	TEXT("addBoundsAVX512", NOSPLIT, addBoundsType)
	next, sum, bounds := pointer("next"), pointer("sum"), pointer("bounds")
	unit, need := broadcast32("unit", ZMM()), broadcast32("need", ZMM())
	step := func(i int) (reach, present reg.OpmaskVirtual) {
		reach, present = K(), K()
		v := ZMM()
		VPMOVZXBD(Mem{Base: bounds, Disp: 16 * i}, v)
		VPTESTMD(v, v, present)
		VPMULLD(unit, v, v)
		VPADDD(Mem{Base: sum, Disp: 64 * i}, v, v)
		VMOVDQU32(v, Mem{Base: next, Disp: 64 * i})
		VPCMPUD(Imm(notBelow), need, v, present, reach)
		return reach, present
	}
	pair := func(i int) (reach, present reg.OpmaskVirtual) {
		reach, present = step(i)
		reach1, present1 := step(i + 1)
		KUNPCKWD(reach, reach1, reach)
		KUNPCKWD(present, present1, present)
		return reach, present
	}
	reach, present := pair(0)
	reach2, present2 := pair(2)
	for i, k := range [][2]reg.OpmaskVirtual{{reach, reach2}, {present, present2}} {
		KUNPCKDQ(k[0], k[1], k[0])
		mask := GP64()
		KMOVQ(k[0], mask)
		Store(mask, ReturnIndex(i))
	}
	VZEROUPPER()
	RET()
}

// addBoundsAVX2 takes 8 words at a step. AVX2 has no unsigned comparison: x is the larger of x and
// y exactly when it is not below y.
func addBoundsAVX2() {
	TEXT("addBoundsAVX2", NOSPLIT, addBoundsType)
	next, sum, bounds := pointer("next"), pointer("sum"), pointer("bounds")
	unit, need := broadcast32("unit", YMM()), broadcast32("need", YMM())
	zero := YMM()
	VPXOR(zero, zero, zero)
	reach, absent := GP64(), GP64()
	XORQ(reach, reach)
	XORQ(absent, absent)
	for i := range 8 {
		v, none, enough := YMM(), YMM(), YMM()
		VPMOVZXBD(Mem{Base: bounds, Disp: 8 * i}, v)
		VPCMPEQD(zero, v, none)
		VPMULLD(unit, v, v)
		VPADDD(Mem{Base: sum, Disp: 32 * i}, v, v)
		VMOVDQU(v, Mem{Base: next, Disp: 32 * i})
		VPMAXUD(need, v, enough)
		VPCMPEQD(v, enough, enough)
		VPANDN(enough, none, enough)
		appendMask(enough, reach, i)
		appendMask(none, absent, i)
	}
	Store(reach, ReturnIndex(0))
	NOTQ(absent)
	Store(absent, ReturnIndex(1))
	VZEROUPPER()
	RET()
}

// appendMask sets bits 8*i to 8*i+7 of a mask to the signs of a vector.
func appendMask(v reg.VecVirtual, mask reg.GPVirtual, i int) {
	m := GP32()
	VMOVMSKPS(v, m)
	if i > 0 {
		SHLQ(Imm(uint64(8*i)), m.As64())
	}
	ORQ(m.As64(), mask)
}

func pointer(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }

func broadcast32(name string, v reg.VecVirtual) reg.VecVirtual {
	if v.Size() == 64 {
		VPBROADCASTD(Load(Param(name), GP32()), v)
		return v
	}
	low := XMM()
	VMOVD(Load(Param(name), GP32()), low)
	VPBROADCASTD(low, v)
	return v
}
