package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A comparer finds lanes outside of a range. AVX2 compares signed numbers only, so both sides are
// moved by half of all numbers.
type comparer struct {
	shuffle, mask, add, limit reg.VecVirtual
}

// rangeAVX2 compares numbers where they begin in their lanes: the bounds are shifted, not the
// numbers.
func rangeAVX2() {
	TEXT("rangeAVX2", NOSPLIT, "func(set *uint64, b *byte, words, width int, lo, span uint64)")
	set, b, words, width := pointer("set"), pointer("b"), pointer("words"), pointer("width")
	lo, span := pointer("lo"), pointer("span")
	mask := lowBits(width)
	spread := func(from reg.GPVirtual) reg.VecVirtual {
		v := YMM()
		VMOVQ(from, v.AsX())
		return v
	}

	// Multiples of the width, from 0 on, as far as they are needed.
	three, five, seven := GP64(), GP64(), GP64()
	LEAQ(Mem{Base: width, Index: width, Scale: 2}, three)
	LEAQ(Mem{Base: width, Index: width, Scale: 4}, five)
	LEAQ(Mem{Base: three, Index: width, Scale: 4}, seven)
	times := func(base reg.GPVirtual) []Mem {
		return []Mem{{Base: base}, {Base: base, Index: width, Scale: 1}, {Base: base, Index: width, Scale: 2}, {Base: base, Index: three, Scale: 1},
			{Base: base, Index: width, Scale: 4}, {Base: base, Index: five, Scale: 1}, {Base: base, Index: three, Scale: 2}, {Base: base, Index: seven, Scale: 1}}
	}
	halves := func(lower, upper Mem) reg.VecVirtual {
		v := YMM()
		VMOVDQU(lower, v.AsX())
		VINSERTI128(Imm(1), upper, v, v)
		return v
	}

	CMPQ(width, Imm(narrow))
	JA(LabelRef("middle"))
	{
		at := row(rows256("narrow256", 2, narrow, true), 64, width)
		c := comparer{YMM(), spread(mask), spread(lo), spread(span)}
		VMOVDQU(Mem{Base: at}, c.shuffle)
		flip := YMM()
		VPCMPEQW(flip, flip, flip)
		VPSLLW(Imm(15), flip, flip)
		for _, v := range []reg.VecVirtual{c.mask, c.add, c.limit} {
			VPBROADCASTW(v.AsX(), v)
			VPMULLW(Mem{Base: at, Disp: 32}, v, v)
		}
		VPSUBW(c.add, flip, c.add)
		VPXOR(flip, c.limit, c.limit)
		Label("narrowWord")
		at8 := times(b)
		var bits [2]reg.GPVirtual
		for half := range bits {
			var v [2]reg.VecVirtual
			for i := range v {
				v[i] = halves(at8[4*half+2*i], at8[4*half+2*i+1])
				VPSHUFB(c.shuffle, v[i], v[i])
				VPAND(c.mask, v[i], v[i])
				VPADDW(c.add, v[i], v[i])
				VPCMPGTW(c.limit, v[i], v[i])
			}
			VPACKSSWB(v[1], v[0], v[0])
			VPERMQ(Imm(0xd8), v[0], v[0])
			bits[half] = GP64()
			VPMOVMSKB(v[0], bits[half].As32())
		}
		storeWord(set, bits[0], bits[1])
		LEAQ(Mem{Base: b, Index: width, Scale: 8}, b)
		ADDQ(Imm(8), set)
		DECQ(words)
		JNZ(LabelRef("narrowWord"))
		VZEROUPPER()
		RET()
	}
	Label("middle")
	upper := GP64()
	CMPQ(width, Imm(middle))
	JA(LabelRef("wide"))
	{
		at := row(rows256("middle256", 4, middle, false), 64, width)
		c := comparer{YMM(), spread(mask), spread(lo), spread(span)}
		VMOVDQU(Mem{Base: at}, c.shuffle)
		flip := YMM()
		VPCMPEQD(flip, flip, flip)
		VPSLLD(Imm(31), flip, flip)
		shifts := YMM()
		VMOVDQU(Mem{Base: at, Disp: 32}, shifts)
		for _, v := range []reg.VecVirtual{c.mask, c.add, c.limit} {
			VPBROADCASTD(v.AsX(), v)
			VPSLLVD(shifts, v, v)
		}
		VPSUBD(c.add, flip, c.add)
		VPXOR(flip, c.limit, c.limit)
		order := YMM()
		VMOVDQU(dwords("order", func(i int) uint32 { return uint32(i%2*4 + i/2%4) }), order)
		MOVQ(width, upper)
		SHRQ(Imm(1), upper)
		ADDQ(b, upper)
		Label("middleWord")
		low, high := times(b), times(upper)
		var bits [2]reg.GPVirtual
		for half := range bits {
			var v [4]reg.VecVirtual
			for i := range v {
				v[i] = halves(low[4*half+i], high[4*half+i])
				VPSHUFB(c.shuffle, v[i], v[i])
				VPAND(c.mask, v[i], v[i])
				VPADDD(c.add, v[i], v[i])
				VPCMPGTD(c.limit, v[i], v[i])
			}
			VPACKSSDW(v[1], v[0], v[0])
			VPACKSSDW(v[3], v[2], v[2])
			VPACKSSWB(v[2], v[0], v[0])
			VPERMD(v[0], order, v[0])
			bits[half] = GP64()
			VPMOVMSKB(v[0], bits[half].As32())
		}
		storeWord(set, bits[0], bits[1])
		LEAQ(Mem{Base: b, Index: width, Scale: 8}, b)
		LEAQ(Mem{Base: upper, Index: width, Scale: 8}, upper)
		ADDQ(Imm(8), set)
		DECQ(words)
		JNZ(LabelRef("middleWord"))
		VZEROUPPER()
		RET()
	}
	Label("wide")
	{
		at := row(rowsWide256(), 128, width)
		flip := YMM()
		VPCMPEQQ(flip, flip, flip)
		VPSLLQ(Imm(63), flip, flip)
		var c [2]comparer
		for i := range c {
			c[i] = comparer{YMM(), spread(mask), spread(lo), spread(span)}
			VMOVDQU(Mem{Base: at, Disp: 32 * i}, c[i].shuffle)
			shifts := YMM()
			VMOVDQU(Mem{Base: at, Disp: 64 + 32*i}, shifts)
			for _, v := range []reg.VecVirtual{c[i].mask, c[i].add, c[i].limit} {
				VPBROADCASTQ(v.AsX(), v)
				VPSLLVQ(shifts, v, v)
			}
			VPSUBQ(c[i].add, flip, c[i].add)
			VPXOR(flip, c[i].limit, c[i].limit)
		}
		pairs := pairOffsets(width, three)
		SHLQ(Imm(3), words)
		Label("wideByte")
		var v [2]reg.VecVirtual
		for i := range v {
			v[i] = halves(pairs.at(b, i), pairs.at(b, i+2))
			VPSHUFB(c[i].shuffle, v[i], v[i])
			VPAND(c[i].mask, v[i], v[i])
			VPADDQ(c[i].add, v[i], v[i])
			VPCMPGTQ(c[i].limit, v[i], v[i])
		}
		VSHUFPS(Imm(0x88), v[1], v[0], v[0])
		bits := GP64()
		VMOVMSKPS(v[0], bits.As32())
		NOTL(bits.As32())
		MOVB(bits.As8(), Mem{Base: set})
		ADDQ(width, b)
		INCQ(set)
		DECQ(words)
		JNZ(LabelRef("wideByte"))
		VZEROUPPER()
		RET()
	}
}

// storeWord stores the complement of two halves of a word.
func storeWord(set, low, high reg.GPVirtual) {
	SHLQ(Imm(32), high)
	ORQ(high, low)
	NOTQ(low)
	MOVQ(low, Mem{Base: set})
}

// A pairs has the first bytes of four pairs of numbers.
type pairs [3]reg.GPVirtual

func pairOffsets(width, three reg.GPVirtual) (p pairs) {
	for i := range p {
		p[i] = GP64()
	}
	MOVQ(width, p[0])
	SHRQ(Imm(2), p[0])
	MOVQ(width, p[1])
	SHRQ(Imm(1), p[1])
	MOVQ(three, p[2])
	SHRQ(Imm(2), p[2])
	return p
}

func (p pairs) at(b reg.GPVirtual, i int) Mem {
	if i == 0 {
		return Mem{Base: b}
	}
	return Mem{Base: b, Index: p[i-1], Scale: 1}
}

// dwords writes eight constants of 32 bits.
func dwords(name string, at func(i int) uint32) Mem {
	var table []byte
	for i := range 8 {
		v := at(i)
		table = append(table, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	return global(name, table)
}
