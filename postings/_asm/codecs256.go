package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sumUpAVX2 replaces every gap by the sum of prev and the gaps up to it. Only one addition waits
// for the previous eight.
func sumUpAVX2() {
	TEXT("sumUpAVX2", NOSPLIT, "func(gaps *[128]uint32, prev uint32)")
	gaps := Load(Param("gaps"), GP64()).(reg.GPVirtual)
	prev, carry, last := Load(Param("prev"), GP32()), YMM(), YMM()
	VMOVD(prev, carry.AsX())
	VPBROADCASTD(carry.AsX(), carry)
	VMOVDQU(dwords("lane7", func(int) uint32 { return 7 }), last)
	for i := range 16 {
		v, add := YMM(), YMM()
		VMOVDQU(Mem{Base: gaps, Disp: 32 * i}, v)
		VPSLLDQ(Imm(4), v, add) // sums of two lanes,
		VPADDD(add, v, v)
		VPSLLDQ(Imm(8), v, add) // of up to four,
		VPADDD(add, v, v)
		VPERM2I128(Imm(0x08), v, v, add) // and the sum of the lower four, for the upper
		VPSHUFD(Imm(0xff), add, add)
		VPADDD(add, v, v)
		VPERMD(v, last, add)
		VPADDD(carry, v, v)
		VPADDD(add, carry, carry)
		VMOVDQU(v, Mem{Base: gaps, Disp: 32 * i})
	}
	VZEROUPPER()
	RET()
}

// addQuotientsAVX2 adds to every value its shifted quotient: ends[i]-ends[i-1]-1.
func addQuotientsAVX2() {
	TEXT("addQuotientsAVX2", NOSPLIT, "func(values *[128]uint32, ends *[129]uint32, low int)")
	values := Load(Param("values"), GP64()).(reg.GPVirtual)
	ends := Load(Param("ends"), GP64()).(reg.GPVirtual)
	low, minusOne := XMM(), YMM()
	VMOVQ(Load(Param("low"), GP64()), low)
	VPCMPEQD(minusOne, minusOne, minusOne)
	for i := range 16 {
		q := YMM()
		VMOVDQU(Mem{Base: ends, Disp: 32*i + 4}, q)
		VPSUBD(Mem{Base: ends, Disp: 32 * i}, q, q)
		VPADDD(minusOne, q, q)
		addShifted(q, low, Mem{Base: values, Disp: 32 * i})
	}
	VZEROUPPER()
	RET()
}

// addQuotientSumsAVX2 adds to every value the shifted sum of the quotients up to it: ends[i]-i.
func addQuotientSumsAVX2() {
	TEXT("addQuotientSumsAVX2", NOSPLIT, "func(values *[128]uint32, ends *[129]uint32, low int)")
	values := Load(Param("values"), GP64()).(reg.GPVirtual)
	ends := Load(Param("ends"), GP64()).(reg.GPVirtual)
	low, number, eight := XMM(), YMM(), YMM()
	VMOVQ(Load(Param("low"), GP64()), low)
	VMOVDQU(dwords("numbers32", func(i int) uint32 { return uint32(i) }), number)
	VMOVDQU(dwords("eights", func(int) uint32 { return 8 }), eight)
	for i := range 16 {
		q := YMM()
		VMOVDQU(Mem{Base: ends, Disp: 32*i + 4}, q)
		VPSUBD(number, q, q)
		VPADDD(eight, number, number)
		addShifted(q, low, Mem{Base: values, Disp: 32 * i})
	}
	VZEROUPPER()
	RET()
}

// addShifted adds q<<low to eight values in memory.
func addShifted(q, low reg.VecVirtual, values Mem) {
	VPSLLD(low, q, q)
	VPADDD(values, q, q)
	VMOVDQU(q, values)
}
