package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// positionsAVX512 unpacks 32 positions at a step. A quadword of the result is four of them, which lie
// in eight bytes of the rows at any width up to 15. VPERMB moves these bytes to their quadword, and
// VPMULTISHIFTQB takes 16 bits from where each position begins.
func positionsAVX512() {
	var table []byte
	for width := 1; width <= 15; width++ {
		for i := range 64 {
			table = append(table, byte(i/8*4*width/8+i%8))
		}
		for i := range 64 {
			begin := i / 8 * 4 * width % 8
			table = append(table, byte((begin+i%8/2*width+i%2*8)%64))
		}
	}
	TEXT("positionsAVX512", NOSPLIT, "func(dst *uint16, rows *byte, steps, width int)")
	dst := Load(Param("dst"), GP64()).(reg.GPVirtual)
	rows := Load(Param("rows"), GP64()).(reg.GPVirtual)
	steps := Load(Param("steps"), GP64())
	width := Load(Param("width"), GP64()).(reg.GPVirtual)

	at, bits := GP64(), GP32()
	LEAQ(global("positionBytes", table), at)
	offset := GP64()
	MOVQ(width, offset)
	SHLQ(Imm(7), offset)
	ADDQ(offset, at)
	bytes, begins, mask := ZMM(), ZMM(), ZMM()
	VMOVDQU64(Mem{Base: at, Disp: -128}, bytes)
	VMOVDQU64(Mem{Base: at, Disp: -64}, begins)
	MOVL(I32(-1), bits)
	BZHIL(width.As32(), bits, bits)
	VPBROADCASTW(bits, mask)
	SHLQ(Imm(2), width) // bytes of a step

	Label("step")
	v := ZMM()
	VPERMB(Mem{Base: rows}, bytes, v)
	VPMULTISHIFTQB(v, begins, v)
	VPANDD(mask, v, v)
	VMOVDQU64(v, Mem{Base: dst})
	ADDQ(width, rows)
	ADDQ(Imm(64), dst)
	DECQ(steps)
	JNE(LabelRef("step"))
	VZEROUPPER()
	RET()
}
