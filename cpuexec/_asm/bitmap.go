package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sliceBytes is the size of a slice's header, which begins with the pointer to its first
// element.
const sliceBytes = 24

const (
	uniteType     = "func(dst *uint64, maps *[]uint64, n, words int)"
	intersectType = "func(maps *[]uint64, n, words int) (ones int)"
)

// A vectorSet is the common interface of AVX-512 and AVX2.
type vectorSet struct {
	register func() reg.VecVirtual
	move     func(from, to Op)
	or, and  func(x, y, to Op)
}

var (
	avx512 = vectorSet{
		func() reg.VecVirtual { return ZMM() }, func(from, to Op) { VMOVDQU64(from, to) },
		func(x, y, to Op) { VPORQ(x, y, to) }, func(x, y, to Op) { VPANDQ(x, y, to) },
	}
	avx2 = vectorSet{func() reg.VecVirtual { return YMM() }, VMOVDQU, VPOR, VPAND}
)

// unite writes the union of n maps.
func unite(name string, set vectorSet) {
	TEXT(name, NOSPLIT, uniteType)
	dst, at := pointer("dst"), GP64()
	XORQ(at, at)
	m := loadMaps()
	m.eachVectors(at, set, set.or, func(i int, v reg.VecVirtual) {
		set.move(v, Mem{Base: dst, Index: at, Scale: 1, Disp: int(v.Size()) * i})
	})
	m.eachWord(at, ORQ, func(w reg.GPVirtual) { MOVQ(w, Mem{Base: dst, Index: at, Scale: 1}) })
	VZEROUPPER()
	RET()
}

// intersectAVX512 counts the bits set in all of n maps.
func intersectAVX512() {
	TEXT("intersectAVX512", NOSPLIT, intersectType)
	at, ones, sum := GP64(), GP64(), ZMM()
	XORQ(at, at)
	XORQ(ones, ones)
	VPXORQ(sum, sum, sum)
	m := loadMaps()
	m.eachVectors(at, avx512, avx512.and, func(_ int, v reg.VecVirtual) {
		VPOPCNTQ(v, v)
		VPADDQ(v, sum, sum)
	})
	m.eachWord(at, ANDQ, func(w reg.GPVirtual) { addOnes(w, ones) })
	half := YMM()
	VEXTRACTI64X4(Imm(1), sum, half)
	VPADDQ(half, sum.AsY(), half)
	storeSum(half, ones)
}

// intersectAVX2 counts bits by looking up the count of each half of a byte (Muła, Kurz and Lemire,
// Faster Population Counts Using AVX2 Instructions, 2018).
func intersectAVX2() {
	TEXT("intersectAVX2", NOSPLIT, intersectType)
	at, ones, sum, zero := GP64(), GP64(), YMM(), YMM()
	XORQ(at, at)
	XORQ(ones, ones)
	VPXOR(sum, sum, sum)
	VPXOR(zero, zero, zero)
	counts, low := YMM(), YMM()
	VMOVDQU(halfByteOnes(), counts)
	VMOVDQU(lowHalves(), low)
	m := loadMaps()
	m.eachVectors(at, avx2, avx2.and, func(_ int, v reg.VecVirtual) {
		high := YMM()
		VPSRLW(Imm(4), v, high)
		for _, half := range []reg.VecVirtual{v, high} {
			VPAND(low, half, half)
			VPSHUFB(half, counts, half)
		}
		VPADDB(high, v, v)
		VPSADBW(zero, v, v)
		VPADDQ(v, sum, sum)
	})
	m.eachWord(at, ANDQ, func(w reg.GPVirtual) { addOnes(w, ones) })
	storeSum(sum, ones)
}

func halfByteOnes() Mem {
	m := GLOBL("halfByteOnes", RODATA|NOPTR)
	for i := range 4 {
		DATA(8*i, U64([2]uint64{0x0302020102010100, 0x0403030203020201}[i%2]))
	}
	return m
}

func lowHalves() Mem {
	m := GLOBL("lowHalves", RODATA|NOPTR)
	for i := range 4 {
		DATA(8*i, U64(0x0f0f0f0f0f0f0f0f))
	}
	return m
}

// addOnes adds the number of set bits in w.
func addOnes(w, ones reg.GPVirtual) {
	POPCNTQ(w, w)
	ADDQ(w, ones)
}

// storeSum returns ones and the four sums of a vector.
func storeSum(sum reg.VecVirtual, ones reg.GPVirtual) {
	half, part := XMM(), GP64()
	VEXTRACTI128(Imm(1), sum, half)
	VPADDQ(half, sum.AsX(), half)
	VMOVQ(half, part)
	ADDQ(part, ones)
	VPEXTRQ(Imm(1), half, part)
	ADDQ(part, ones)
	Store(ones, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// bitmaps are the arguments of a kernel: the addresses of the first of the maps' headers and of
// their end, and how many bytes of each map are left.
type bitmaps struct{ first, end, left reg.GPVirtual }

func loadMaps() bitmaps {
	m := bitmaps{pointer("maps"), GP64(), pointer("words")}
	IMUL3Q(Imm(sliceBytes), pointer("n"), m.end)
	ADDQ(m.first, m.end)
	SHLQ(Imm(3), m.left)
	return m
}

// eachVectors combines the maps by op, four registers at a step, and calls use for each result.
func (m bitmaps) eachVectors(at reg.GPVirtual, set vectorSet, op func(x, y, to Op), use func(i int, v reg.VecVirtual)) {
	v := [4]reg.VecVirtual{}
	for i := range v {
		v[i] = set.register()
	}
	size := int(v[0].Size())
	m.each("Vectors", at, len(v)*size, func(from reg.GPVirtual, first bool) {
		for i := range v {
			if in := (Mem{Base: from, Index: at, Scale: 1, Disp: size * i}); first {
				set.move(in, v[i])
			} else {
				op(in, v[i], v[i])
			}
		}
	}, func() {
		for i := range v {
			use(i, v[i])
		}
	})
}

// eachWord does the same with the remaining words.
func (m bitmaps) eachWord(at reg.GPVirtual, op func(from, to Op), use func(w reg.GPVirtual)) {
	w := GP64()
	m.each("Word", at, 8, func(from reg.GPVirtual, first bool) {
		if in := (Mem{Base: from, Index: at, Scale: 1}); first {
			MOVQ(in, w)
		} else {
			op(in, w)
		}
	}, func() { use(w) })
}

// each calls take for all maps, for the bytes of one step, then taken, and repeats while enough
// bytes are left.
func (m bitmaps) each(label string, at reg.GPVirtual, step int, take func(from reg.GPVirtual, first bool), taken func()) {
	header, from := GP64(), GP64()
	Label("next" + label)
	CMPQ(m.left, U32(uint32(step)))
	JB(LabelRef("end" + label))
	MOVQ(Mem{Base: m.first}, from)
	take(from, true)
	LEAQ(Mem{Base: m.first, Disp: sliceBytes}, header)
	Label("map" + label)
	CMPQ(header, m.end)
	JAE(LabelRef("taken" + label))
	MOVQ(Mem{Base: header}, from)
	take(from, false)
	ADDQ(Imm(sliceBytes), header)
	JMP(LabelRef("map" + label))
	Label("taken" + label)
	taken()
	ADDQ(U32(uint32(step)), at)
	SUBQ(U32(uint32(step)), m.left)
	JMP(LabelRef("next" + label))
	Label("end" + label)
}
