package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of a gridTable.
const (
	gridCells = 8 * iota
	gridSplit
	gridLow0
	gridLow1
	gridHigh0
	gridHigh1
	gridFirst0
	gridFirst1
	gridMask
	gridShift
)

// stepsAVX512 replaces keys by their steps, eight at a step.
func stepsAVX512() {
	TEXT("stepsAVX512", NOSPLIT, "func(keys *uint64, steps int, table *uint64, first uint64)")
	keys, steps, table := pointer("keys"), pointer("steps"), pointer("table")
	every := func(offset int) reg.VecVirtual {
		v := ZMM()
		VPBROADCASTQ(Mem{Base: table, Disp: offset}, v)
		return v
	}
	split, low0, low1, high0, high1 := every(gridSplit), every(gridLow0), every(gridLow1), every(gridHigh0), every(gridHigh1)
	first0, first1, mask, shift, from := every(gridFirst0), every(gridFirst1), every(gridMask), every(gridShift), ZMM()
	VPBROADCASTQ(pointer("first"), from)
	VPSUBQ(first0, first1, first1) // what the second piece adds to the first one's
	cells := GP64()
	MOVQ(Mem{Base: table, Disp: gridCells}, cells)
	Label("step")
	v, at, cell, above, below, all := ZMM(), ZMM(), ZMM(), K(), K(), K()
	VMOVDQU64(Mem{Base: keys}, v)
	VPCMPUQ(Imm(5), split, v, above) // not below
	KNOTB(above, below)
	VPMAXUQ(low0, v, v)
	VPMINUQ(high1, v, v)
	VPMAXUQ(low1, v, above, v)
	VPMINUQ(high0, v, below, v)
	VPADDQ(first0, v, v)
	VPADDQ(first1, v, above, v)
	VPSRLVQ(shift, v, at)
	VPANDQ(mask, v, v)
	KXNORB(all, all, all)
	VPXORQ(cell, cell, cell)
	VPGATHERQQ(Mem{Base: cells, Index: at, Scale: 8}, all, cell)
	VPADDQ(cell, v, v)
	VPSRLVQ(shift, v, v)
	VPADDQ(from, v, v)
	VMOVDQU64(v, Mem{Base: keys})
	ADDQ(Imm(64), keys)
	DECQ(steps)
	JNZ(LabelRef("step"))
	VZEROUPPER()
	RET()
}

// stepsAVX2 is the same, four at a time. Signs are flipped to compare.
func stepsAVX2() {
	TEXT("stepsAVX2", NOSPLIT, "func(keys *uint64, steps int, table *uint64, first uint64)")
	keys, steps, table := pointer("keys"), pointer("steps"), pointer("table")
	flip := YMM()
	VPCMPEQQ(flip, flip, flip)
	VPSLLQ(Imm(63), flip, flip)
	every := func(offset int) Mem { return Mem{Base: table, Disp: offset} }
	load := func(offset int, flipped bool) reg.VecVirtual {
		v := YMM()
		VPBROADCASTQ(every(offset), v)
		if flipped {
			VPXOR(flip, v, v)
		}
		return v
	}
	split := load(gridSplit, true)
	mask, shift, from := load(gridMask, false), load(gridShift, false), everyQuad(pointer("first"))
	cells := GP64()
	MOVQ(Mem{Base: table, Disp: gridCells}, cells)
	Label("step")
	for half := range 2 {
		v, below, bound, other, less := YMM(), YMM(), YMM(), YMM(), YMM()
		VPXOR(Mem{Base: keys, Disp: 32 * half}, flip, v)
		VPCMPGTQ(v, split, below)
		choose := func(offset int, flipped bool) {
			VPBROADCASTQ(every(offset), other)
			VPBROADCASTQ(every(offset+8), bound)
			VPBLENDVB(below, other, bound, bound)
			if flipped {
				VPXOR(flip, bound, bound)
			}
		}
		choose(gridLow0, true)
		VPCMPGTQ(v, bound, less)
		VPBLENDVB(less, bound, v, v)
		choose(gridHigh0, true)
		VPCMPGTQ(bound, v, less)
		VPBLENDVB(less, bound, v, v)
		choose(gridFirst0, false)
		VPXOR(flip, v, v)
		VPADDQ(bound, v, v)
		at, cell, all := YMM(), YMM(), YMM()
		VPSRLVQ(shift, v, at)
		VPAND(mask, v, v)
		VPCMPEQQ(all, all, all)
		VPXOR(cell, cell, cell)
		VPGATHERQQ(all, Mem{Base: cells, Index: at, Scale: 8}, cell)
		VPADDQ(cell, v, v)
		VPSRLVQ(shift, v, v)
		VPADDQ(from, v, v)
		VMOVDQU(v, Mem{Base: keys, Disp: 32 * half})
	}
	ADDQ(Imm(64), keys)
	DECQ(steps)
	JNZ(LabelRef("step"))
	VZEROUPPER()
	RET()
}

// Offsets of the fields of a gridTable32.
const (
	grid32Low   = 8
	grid32Span  = 12
	grid32Mask  = 16
	grid32Shift = 20
)

// steps32AVX512 replaces packed numbers by their steps, 16 at a step.
func steps32AVX512() {
	TEXT("steps32AVX512", NOSPLIT, "func(numbers *uint32, steps int, table *uint32, scale, distance, first uint32)")
	numbers, steps, table := pointer("numbers"), pointer("steps"), pointer("table")
	every := func(offset int) reg.VecVirtual {
		v := ZMM()
		VPBROADCASTD(Mem{Base: table, Disp: offset}, v)
		return v
	}
	given := func(name string) reg.VecVirtual {
		v := ZMM()
		VPBROADCASTD(Load(Param(name), GP32()), v)
		return v
	}
	low, span, mask, shift := every(grid32Low), every(grid32Span), every(grid32Mask), every(grid32Shift)
	scale, distance, first := given("scale"), given("distance"), given("first")
	cells := GP64()
	MOVQ(Mem{Base: table}, cells)
	Label("step")
	v, at, cell, all := ZMM(), ZMM(), ZMM(), K()
	VPMULLD(Mem{Base: numbers}, scale, v)
	VPADDD(distance, v, v)
	VPMAXUD(low, v, v)
	VPSUBD(low, v, v)
	VPMINUD(span, v, v)
	VPSRLVD(shift, v, at)
	VPANDD(mask, v, v)
	KXNORW(all, all, all)
	VPXORD(cell, cell, cell)
	VPGATHERDD(Mem{Base: cells, Index: at, Scale: 4}, all, cell)
	VPADDD(cell, v, v)
	VPSRLVD(shift, v, v)
	VPADDD(first, v, v)
	VMOVDQU32(v, Mem{Base: numbers})
	ADDQ(Imm(64), numbers)
	DECQ(steps)
	JNZ(LabelRef("step"))
	VZEROUPPER()
	RET()
}

// steps32AVX2 does the same, eight at a time.
func steps32AVX2() {
	TEXT("steps32AVX2", NOSPLIT, "func(numbers *uint32, steps int, table *uint32, scale, distance, first uint32)")
	numbers, steps, table := pointer("numbers"), pointer("steps"), pointer("table")
	every := func(offset int) reg.VecVirtual {
		v := YMM()
		VPBROADCASTD(Mem{Base: table, Disp: offset}, v)
		return v
	}
	given := func(name string) reg.VecVirtual {
		v := YMM()
		VMOVD(Load(Param(name), GP32()), v.AsX())
		VPBROADCASTD(v.AsX(), v)
		return v
	}
	low, span, mask, shift := every(grid32Low), every(grid32Span), every(grid32Mask), every(grid32Shift)
	scale, distance, first := given("scale"), given("distance"), given("first")
	cells := GP64()
	MOVQ(Mem{Base: table}, cells)
	Label("step")
	for half := range 2 {
		v, at, cell, all := YMM(), YMM(), YMM(), YMM()
		VPMULLD(Mem{Base: numbers, Disp: 32 * half}, scale, v)
		VPADDD(distance, v, v)
		VPMAXUD(low, v, v)
		VPSUBD(low, v, v)
		VPMINUD(span, v, v)
		VPSRLVD(shift, v, at)
		VPAND(mask, v, v)
		VPCMPEQD(all, all, all)
		VPXOR(cell, cell, cell)
		VPGATHERDD(all, Mem{Base: cells, Index: at, Scale: 4}, cell)
		VPADDD(cell, v, v)
		VPSRLVD(shift, v, v)
		VPADDD(first, v, v)
		VMOVDQU(v, Mem{Base: numbers, Disp: 32 * half})
	}
	ADDQ(Imm(64), numbers)
	DECQ(steps)
	JNZ(LabelRef("step"))
	VZEROUPPER()
	RET()
}
