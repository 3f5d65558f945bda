package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// seekAVX512 compares a whole sorted array with x and returns the index of the first number that is
// x or more, or the length of the array. No branch depends on the index.
func seekAVX512(name string, length int) {
	TEXT(name, NOSPLIT, fmt.Sprintf("func(sorted *[%d]uint32, x uint32) int", length))
	sorted := Load(Param("sorted"), GP64()).(reg.GPVirtual)
	x, all := Load(Param("x"), GP32()), ZMM()
	VPBROADCASTD(x, all)
	const notAbove = 2 // x <= number
	var masks []reg.GPVirtual
	for at := 0; at < length; at += 64 {
		var k []reg.OpmaskVirtual
		for i := at; i < min(at+64, length); i += 16 {
			k = append(k, K())
			VPCMPUD(Imm(notAbove), Mem{Base: sorted, Disp: 4 * i}, all, k[len(k)-1])
		}
		KUNPCKWD(k[0], k[1], k[0])
		if len(k) == 4 {
			KUNPCKWD(k[2], k[3], k[2])
			KUNPCKDQ(k[0], k[2], k[0])
		}
		mask := GP64()
		KMOVQ(k[0], mask)
		masks = append(masks, mask)
	}
	returnFirst(masks, length)
}

// seekAVX2 is seekAVX512 for AVX2, which has no unsigned comparison: x is the smaller of x and a
// number exactly when it is not above the number.
func seekAVX2(name string, length int) {
	TEXT(name, NOSPLIT, fmt.Sprintf("func(sorted *[%d]uint32, x uint32) int", length))
	sorted := Load(Param("sorted"), GP64()).(reg.GPVirtual)
	x, low, all, order := Load(Param("x"), GP32()), XMM(), YMM(), YMM()
	VMOVD(x, low)
	VPBROADCASTD(low, all)
	VMOVDQU(dwords("unpacked", func(i int) uint32 { return uint32(i%2*4 + i/2%4) }), order)
	var masks []reg.GPVirtual
	for at := 0; at < length; at += 32 {
		var v [4]reg.VecVirtual
		for i := range v {
			v[i] = YMM()
			VPMINUD(Mem{Base: sorted, Disp: 4 * (at + 8*i)}, all, v[i])
			VPCMPEQD(all, v[i], v[i])
		}
		VPACKSSDW(v[1], v[0], v[0])
		VPACKSSDW(v[3], v[2], v[2])
		VPACKSSWB(v[2], v[0], v[0])
		VPERMD(v[0], order, v[0])
		mask := GP64()
		VPMOVMSKB(v[0], mask.As32())
		if at%64 == 0 {
			masks = append(masks, mask)
			continue
		}
		SHLQ(Imm(32), mask)
		ORQ(mask, masks[at/64])
	}
	returnFirst(masks, length)
}

// returnFirst returns the position of the first set bit in the words, or length.
func returnFirst(masks []reg.GPVirtual, length int) {
	first, second := GP64(), GP64()
	if length < 64 {
		BTSQ(Imm(uint64(length)), masks[0])
	}
	TZCNTQ(masks[0], first) // 64 when there is none
	if length == 128 {
		TZCNTQ(masks[1], second)
		ADDQ(Imm(64), second)
		TESTQ(masks[0], masks[0])
		CMOVQEQ(second, first)
	}
	Store(first, ReturnIndex(0))
	VZEROUPPER()
	RET()
}
