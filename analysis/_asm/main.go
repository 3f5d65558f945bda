// Command asm writes the assembly of package analysis, masks_amd64.s. It is a separate module so
// that users of riffle do not download avo. Run it with go generate in the parent folder.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!purego")
	masksAVX2()
	Generate()
}

// masksAVX2 classifies 64 characters a round, in two halves. A character's low four bits select a
// byte of its class's table, and its high four bits a bit of that byte. The bit is set if the
// character is in the class. For bytes of longer runes the high bits select no bit. An empty set of
// bits is a subset of any byte, so these bytes are in every class.
func masksAVX2() {
	TEXT("masksAVX2", NOSPLIT, "func(dst *uint64, text *byte, blocks int, c *byte)")
	dst := Load(Param("dst"), GP64()).(reg.GPVirtual)
	text := Load(Param("text"), GP64()).(reg.GPVirtual)
	blocks := Load(Param("blocks"), GP64()).(reg.GPVirtual)
	c := Load(Param("c"), GP64()).(reg.GPVirtual)
	var classes [3]reg.VecVirtual
	for i := range classes {
		classes[i] = YMM()
		VBROADCASTI128(Mem{Base: c, Disp: 16 * i}, classes[i])
	}
	bits, low, r := YMM(), YMM(), GP32()
	m := GLOBL("bitOfHigh", RODATA|NOPTR)
	DATA(0, U64(0x8040201008040201))
	DATA(8, U64(0))
	VBROADCASTI128(m, bits)
	MOVL(U32(0x0f0f0f0f), r)
	VMOVD(r, low.AsX())
	VPBROADCASTD(low.AsX(), low)

	Label("block")
	var masks [3]reg.GPVirtual
	for half := range 2 {
		x, bit := YMM(), YMM()
		VMOVDQU(Mem{Base: text, Disp: 32 * half}, x)
		VPSRLW(Imm(4), x, bit)
		VPAND(low, bit, bit)
		VPSHUFB(bit, bits, bit)
		for i, class := range classes {
			of := YMM()
			VPSHUFB(x, class, of)
			VPAND(bit, of, of)
			VPCMPEQB(bit, of, of)
			mask := GP64()
			VPMOVMSKB(of, mask.As32())
			if half == 0 {
				masks[i] = mask
				continue
			}
			SHLQ(Imm(32), mask)
			ORQ(masks[i], mask)
			MOVQ(mask, Mem{Base: dst, Disp: 8 * i})
		}
	}
	ADDQ(Imm(64), text)
	ADDQ(Imm(24), dst)
	DECQ(blocks)
	JNE(LabelRef("block"))
	VZEROUPPER()
	RET()
}
