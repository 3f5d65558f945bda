package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// unpackAVX512 makes keys of packed quotients, eight at a step.
func unpackAVX512() {
	TEXT("unpackAVX512", NOSPLIT, "func(dst *uint64, b *byte, steps, width int, least, divisor uint64)")
	dst, b, steps, width := pointer("dst"), pointer("b"), pointer("steps"), pointer("width")
	at := row(rows512("wide512", 8, wide), 128, width)
	shuffle, shifts, mask, least, divisor := ZMM(), ZMM(), ZMM(), ZMM(), ZMM()
	VMOVDQU64(Mem{Base: at}, shuffle)
	VMOVDQU64(Mem{Base: at, Disp: 64}, shifts)
	VPBROADCASTQ(lowBits(width), mask)
	VPBROADCASTQ(pointer("least"), least)
	d := pointer("divisor")
	VPBROADCASTQ(d, divisor)
	for _, scaled := range []bool{false, true} {
		label := "step"
		if scaled {
			label = "scaled"
			Label("divided")
		} else {
			CMPQ(d, Imm(1))
			JNE(LabelRef("divided"))
		}
		Label(label)
		v := ZMM()
		VPERMB(Mem{Base: b}, shuffle, v)
		VPSRLVQ(shifts, v, v)
		VPANDQ(mask, v, v)
		if scaled {
			VPMULLQ(divisor, v, v)
		}
		VPADDQ(least, v, v)
		VMOVDQU64(v, Mem{Base: dst})
		ADDQ(width, b)
		ADDQ(Imm(64), dst)
		DECQ(steps)
		JNZ(LabelRef(label))
		VZEROUPPER()
		RET()
	}
}

// unpackAVX2 is the same. A product of 64 bits takes three of 32.
func unpackAVX2() {
	TEXT("unpackAVX2", NOSPLIT, "func(dst *uint64, b *byte, steps, width int, least, divisor uint64)")
	dst, b, steps, width := pointer("dst"), pointer("b"), pointer("steps"), pointer("width")
	at := row(rowsWide256(), 128, width)
	mask, least, divisor, high := YMM(), YMM(), YMM(), YMM()
	broadcast := func(from reg.GPVirtual, to reg.VecVirtual) {
		VMOVQ(from, to.AsX())
		VPBROADCASTQ(to.AsX(), to)
	}
	broadcast(lowBits(width), mask)
	broadcast(pointer("least"), least)
	d := pointer("divisor")
	broadcast(d, divisor)
	VPSRLQ(Imm(32), divisor, high)
	var shuffle, shifts [2]reg.VecVirtual
	for i := range shuffle {
		shuffle[i], shifts[i] = YMM(), YMM()
		VMOVDQU(Mem{Base: at, Disp: 32 * i}, shuffle[i])
		VMOVDQU(Mem{Base: at, Disp: 64 + 32*i}, shifts[i])
	}
	three := GP64()
	LEAQ(Mem{Base: width, Index: width, Scale: 2}, three)
	pairs := pairOffsets(width, three)
	for _, scaled := range []bool{false, true} {
		label := "step"
		if scaled {
			label = "scaled"
			Label("divided")
		} else {
			CMPQ(d, Imm(1))
			JNE(LabelRef("divided"))
		}
		Label(label)
		for i := range shuffle {
			v := YMM()
			VMOVDQU(pairs.at(b, i), v.AsX())
			VINSERTI128(Imm(1), pairs.at(b, i+2), v, v)
			VPSHUFB(shuffle[i], v, v)
			VPSRLVQ(shifts[i], v, v)
			VPAND(mask, v, v)
			if scaled {
				upper, cross, other := YMM(), YMM(), YMM()
				VPSRLQ(Imm(32), v, upper)
				VPMULUDQ(divisor, upper, cross)
				VPMULUDQ(high, v, other)
				VPADDQ(other, cross, cross)
				VPSLLQ(Imm(32), cross, cross)
				VPMULUDQ(divisor, v, v)
				VPADDQ(cross, v, v)
			}
			VPADDQ(least, v, v)
			VMOVDQU(v.AsX(), Mem{Base: dst, Disp: 16 * i})
			VEXTRACTI128(Imm(1), v, Mem{Base: dst, Disp: 32 + 16*i})
		}
		ADDQ(width, b)
		ADDQ(Imm(64), dst)
		DECQ(steps)
		JNZ(LabelRef(label))
		VZEROUPPER()
		RET()
	}
}

// unpack32AVX512 unpacks 16 numbers at a step.
func unpack32AVX512() {
	TEXT("unpack32AVX512", NOSPLIT, "func(dst *uint32, b *byte, steps, width int)")
	dst, b, steps, width := pointer("dst"), pointer("b"), pointer("steps"), pointer("width")
	at := row(rows512("middle512", 4, middle), 128, width)
	shuffle, shifts, mask := ZMM(), ZMM(), ZMM()
	VMOVDQU64(Mem{Base: at}, shuffle)
	VMOVDQU64(Mem{Base: at, Disp: 64}, shifts)
	VPBROADCASTD(lowBits(width).As32(), mask)
	Label("step")
	v := ZMM()
	VPERMB(Mem{Base: b}, shuffle, v)
	VPSRLVD(shifts, v, v)
	VPANDD(mask, v, v)
	VMOVDQU32(v, Mem{Base: dst})
	LEAQ(Mem{Base: b, Index: width, Scale: 2}, b)
	ADDQ(Imm(64), dst)
	DECQ(steps)
	JNZ(LabelRef("step"))
	VZEROUPPER()
	RET()
}

// unpack32AVX2 does the same, eight at a time.
func unpack32AVX2() {
	TEXT("unpack32AVX2", NOSPLIT, "func(dst *uint32, b *byte, steps, width int)")
	dst, b, steps, width := pointer("dst"), pointer("b"), pointer("steps"), pointer("width")
	at := row(rows256("middle256", 4, middle, false), 64, width)
	shuffle, shifts, mask := YMM(), YMM(), YMM()
	VMOVDQU(Mem{Base: at}, shuffle)
	VMOVDQU(Mem{Base: at, Disp: 32}, shifts)
	VMOVQ(lowBits(width), mask.AsX())
	VPBROADCASTD(mask.AsX(), mask)
	upper := GP64()
	MOVQ(width, upper)
	SHRQ(Imm(1), upper)
	Label("step")
	for half := range 2 {
		v := YMM()
		VMOVDQU(Mem{Base: b}, v.AsX())
		VINSERTI128(Imm(1), Mem{Base: b, Index: upper, Scale: 1}, v, v)
		VPSHUFB(shuffle, v, v)
		VPSRLVD(shifts, v, v)
		VPAND(mask, v, v)
		VMOVDQU(v, Mem{Base: dst, Disp: 32 * half})
		ADDQ(width, b)
	}
	ADDQ(Imm(64), dst)
	DECQ(steps)
	JNZ(LabelRef("step"))
	VZEROUPPER()
	RET()
}
