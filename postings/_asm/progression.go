package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// progressionAVX2 stores 128 numbers, each step more than the previous one.
func progressionAVX2() {
	TEXT("progressionAVX2", NOSPLIT, "func(dst *[128]uint32, first, step uint32)")
	dst := Load(Param("dst"), GP64()).(reg.GPVirtual)
	first, step := Load(Param("first"), GP32()), Load(Param("step"), GP32())
	v, firsts, eightSteps := YMM(), YMM(), YMM()
	VMOVD(first, firsts.AsX())
	VPBROADCASTD(firsts.AsX(), firsts)
	VMOVD(step, eightSteps.AsX())
	VPBROADCASTD(eightSteps.AsX(), eightSteps)
	VPMULLD(dwords("numbers32", func(i int) uint32 { return uint32(i) }), eightSteps, v)
	VPADDD(firsts, v, v)
	VPSLLD(Imm(3), eightSteps, eightSteps)
	for i := range 16 {
		VMOVDQU(v, Mem{Base: dst, Disp: 32 * i})
		if i < 15 {
			VPADDD(eightSteps, v, v)
		}
	}
	VZEROUPPER()
	RET()
}
