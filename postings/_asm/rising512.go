package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rising512 reads levels of 8 numbers and more, 16 numbers at a time, as rising256 does 8. A window
// of 64 bytes has the code of all 16, and a VPERMB fetches the four bytes in which each begins. So a
// number has at most 25 bits.
type rising512 struct {
	*rising256
	sums   *sums
	bits32 reg.VecVirtual // 32 in all lanes
	seven  reg.VecVirtual // 7 in all lanes
	spread reg.VecVirtual // VPSHUFB: the low byte of each lane to its four bytes
	bytes  reg.VecVirtual // 0, 1, 2, 3 in each lane
	above  reg.VecVirtual // negative in a lane that has had a number above its range
}

// newRising512 emits the beginning of a function that reads the code of 128 numbers at bit at of b.
func newRising512() *rising512 {
	constant := func(name string, at func(i int) uint32) reg.VecVirtual {
		v := ZMM()
		VMOVDQU32(dwords(name, at), v)
		return v
	}
	r := &rising512{
		rising256: &rising256{
			b:    Load(Param("b"), GP64()).(reg.GPVirtual),
			at:   Load(Param("at"), GP64()).(reg.GPVirtual),
			bad:  GP64(),
			last: ZMM(),
			ones: ZMM(),
		},
		sums:   makeSums(),
		bits32: constant("bits32", func(int) uint32 { return 32 }),
		seven:  constant("seven", func(int) uint32 { return 7 }),
		spread: constant("spreadLow", func(i int) uint32 { return uint32(i%4*4) * 0x01010101 }),
		bytes:  constant("bytesOfLane", func(int) uint32 { return 0x03020100 }),
		above:  ZMM(),
	}
	XORQ(r.bad, r.bad)
	VPXORD(r.above, r.above, r.above)
	VPTERNLOGD(Imm(0xff), r.ones, r.ones, r.ones)
	return r
}

// risingAVX512 reads the numbers between v[0] and v[128].
func risingAVX512() {
	TEXT("risingAVX512", NOSPLIT, "func(v *[129]uint32, b *byte, at int) (end, bad int)")
	r := newRising512()
	r.v = Load(Param("v"), GP64()).(reg.GPVirtual)
	r.first = GP32()
	last := GP32()
	MOVL(Mem{Base: r.v}, r.first)
	MOVL(Mem{Base: r.v, Disp: 4 * 128}, last)
	for i, a := range r.all(last) {
		VMOVDQU32(a, Mem{Base: r.v, Disp: 64 * i})
	}
	r.finish()
}

// blockDocsAVX512 reads the documents of a block between prev and last. It returns the union of the
// gaps between them, minus one.
func blockDocsAVX512() {
	TEXT("blockDocsAVX512", NOSPLIT, "func(dst *[128]uint32, b *byte, at int, prev, last uint32) (end, bad int, union uint32)")
	r := newRising512()
	dst := Load(Param("dst"), GP64()).(reg.GPVirtual)
	r.first = Load(Param("prev"), GP32()).(reg.GPVirtual)
	last := Load(Param("last"), GP32()).(reg.GPVirtual)
	r.gaps(r.all(last), func(i int, next, gaps reg.VecVirtual) {
		VMOVDQU32(next, Mem{Base: dst, Disp: 64 * i})
	})
	r.finish()
}

// blockFreqsAVX512 reads the frequencies of a block, whose sum is given. It returns the union of
// all, minus one.
func blockFreqsAVX512() {
	TEXT("blockFreqsAVX512", NOSPLIT, "func(dst *[128]uint32, b *byte, at int, sum uint32) (end, bad int, union uint32)")
	r := newRising512()
	dst := Load(Param("dst"), GP64()).(reg.GPVirtual)
	last := Load(Param("sum"), GP32()).(reg.GPVirtual)
	r.first = GP32()
	XORL(r.first, r.first)
	r.gaps(r.all(last), func(i int, next, gaps reg.VecVirtual) {
		VMOVDQU32(gaps, Mem{Base: dst, Disp: 64 * i})
	})
	r.finish()
}

// all reads the numbers between the first and the last, and returns all but the last.
func (r *rising512) all(last reg.GPVirtual) (a []reg.VecVirtual) {
	VPBROADCASTD(last, r.last)
	first := r.firstLevels(last).AsZ().(reg.VecVirtual)
	VINSERTI64X4(Imm(1), r.last.AsY(), first, first)
	low, _ := r.sixteen(first, r.last, 8)
	a = []reg.VecVirtual{low}
	for step := 4; step >= 1; step /= 2 {
		var next []reg.VecVirtual
		for i, x := range a {
			low, high := r.sixteen(x, r.behind(a, i), step)
			next = append(next, low, high)
		}
		a = next
	}
	return a
}

// behind has the number after those in a[i].
func (r *rising512) behind(a []reg.VecVirtual, i int) reg.VecVirtual {
	if i+1 < len(a) {
		return a[i+1]
	}
	return r.last
}

// gaps calls store with the numbers after those in each of a, and their distances. It returns the
// union of the distances, minus one.
func (r *rising512) gaps(a []reg.VecVirtual, store func(i int, next, gaps reg.VecVirtual)) {
	union := ZMM()
	VPXORD(union, union, union)
	for i, x := range a {
		next, gaps := ZMM(), ZMM()
		VALIGND(Imm(1), x, r.behind(a, i), next)
		VPSUBD(x, next, gaps)
		store(i, next, gaps)
		VPADDD(r.ones, gaps, gaps)
		VPORD(gaps, union, union)
	}
	half := YMM()
	VEXTRACTI64X4(Imm(1), union, half)
	VPORD(union.AsY(), half, half)
	quarter := XMM()
	VEXTRACTI32X4(Imm(1), half, quarter)
	VPORD(half.AsX(), quarter, quarter)
	for _, imm := range []uint64{0x4e, 0xb1} {
		other := XMM()
		VPSHUFD(Imm(imm), quarter, other)
		VPORD(other, quarter, quarter)
	}
	result := GP32()
	VMOVD(quarter, result)
	Store(result, ReturnIndex(2))
}

// finish emits the end of the function.
func (r *rising512) finish() {
	k, bad := K(), GP64()
	VPMOVD2M(r.above, k)
	KMOVW(k, bad.As32())
	NEGQ(bad)
	ORQ(r.bad, bad)
	Store(r.at, ReturnIndex(0))
	Store(bad, ReturnIndex(1))
	VZEROUPPER()
	RET()
}

// sixteen reads the numbers in the middle between those in a, and between the last of a and the
// first of behind. It returns all 32. With a step of 8, only the first 8 numbers in a count.
func (r *rising512) sixteen(a, behind reg.VecVirtual, step int) (low, high reg.VecVirtual) {
	room, width, place := ZMM(), ZMM(), ZMM()
	VALIGND(Imm(1), a, behind, room)
	VPSUBD(a, room, room)
	twice := dwords(fmt.Sprintf("twice%d", step), func(int) uint32 { return uint32(2 * step) })
	if step == 8 {
		first8, mask := K(), GP32()
		MOVL(U32(0xff), mask)
		KMOVW(mask, first8)
		VPSUBD_Z(twice, room, first8, room)
	} else {
		VPSUBD(twice, room, room)
	}
	VPLZCNTD(room, width)
	VPSUBD(width, r.bits32, width)
	VMOVDQA32(width, place)
	r.sums.prefix([]reg.VecVirtual{place})

	upper, size, begin, skip := XMM(), GP64(), GP64(), GP64()
	VEXTRACTI32X4(Imm(3), place, upper)
	VPEXTRD(Imm(3), upper, size.As32())
	MOVQ(r.at, begin)
	SHRQ(Imm(3), begin)
	MOVQ(r.at, skip)
	ANDQ(Imm(7), skip)
	ADDQ(size, r.at)
	start := ZMM()
	VPBROADCASTD(skip.As32(), start)
	VPSUBD(width, start, start)
	VPADDD(start, place, place)

	x := ZMM()
	VPSRLD(Imm(3), place, x)
	VPSHUFB(r.spread, x, x)
	VPADDB(r.bytes, x, x)
	VPERMB(Mem{Base: r.b, Index: begin, Scale: 1}, x, x)
	VPANDD(r.seven, place, place)
	VPSRLVD(place, x, x)
	VPSLLVD(width, r.ones, width)
	VPANDND(x, width, x)

	VPSUBD(x, room, room)
	VPORD(room, r.above, r.above)
	VPADDD(a, x, x)
	VPADDD(dwords(fmt.Sprintf("step%d", step), func(int) uint32 { return uint32(step) }), x, x)
	low = interleave(a, x, "lowPairs", 0)
	if step < 8 {
		high = interleave(a, x, "highPairs", 8)
	}
	return low, high
}

// interleave returns eight lanes of a and of b in turn, beginning with lane from.
func interleave(a, b reg.VecVirtual, name string, from int) reg.VecVirtual {
	v := ZMM()
	VMOVDQU32(dwords(name, func(i int) uint32 { return uint32(i%2*16 + from + i/2) }), v)
	VPERMI2D(b, a, v)
	return v
}
