package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// AVX2 cannot shuffle bytes across a register or shift through two, so each width has its own code,
// with shifts by constants, like the portable unpacking. A register takes group i in its lower half
// and group 16+i in its upper, so that sums never cross the middle. The upper half of a block
// counts from zero, and the total of the lower half is added at the end.

const (
	docsWidthAVX2  = 20 // the widest that has code
	freqsWidthAVX2 = 8
)

func unpackAVX2() {
	TEXT("docsAVX2", NOSPLIT, "func(dst *[128]uint32, rows *byte, width int, prev uint32)")
	u := &unpacker256{
		dst:  Load(Param("dst"), GP64()).(reg.GPVirtual),
		rows: Load(Param("rows"), GP64()).(reg.GPVirtual),
	}
	width := Load(Param("width"), GP64()).(reg.GPVirtual)
	prev := Load(Param("prev"), GP32())
	carry := YMM()
	VMOVD(prev, carry.AsX())
	VPBROADCASTD(carry.AsX(), carry.AsX()) // and zeros above
	u.minus1 = allOnes256()
	branch(width, 1, docsWidthAVX2, func(width int) { u.docs(width, carry) })

	TEXT("freqsAVX2", NOSPLIT, "func(dst *[128]uint32, rows *byte, width int)")
	u = &unpacker256{
		dst:  Load(Param("dst"), GP64()).(reg.GPVirtual),
		rows: Load(Param("rows"), GP64()).(reg.GPVirtual),
	}
	width = Load(Param("width"), GP64()).(reg.GPVirtual)
	u.minus1 = allOnes256()
	branch(width, 1, freqsWidthAVX2, u.freqs)
}

// branch emits body for each width from low to high, and the jump to the right one.
func branch(width reg.GPVirtual, low, high int, body func(width int)) {
	if low == high {
		body(low)
		VZEROUPPER()
		RET()
		return
	}
	middle := (low + high + 1) / 2
	label := fmt.Sprintf("from%d", middle)
	CMPQ(width, Imm(uint64(middle)))
	JGE(LabelRef(label))
	branch(width, low, middle-1, body)
	Label(label)
	branch(width, middle, high, body)
}

func allOnes256() reg.VecVirtual {
	v := YMM()
	VPCMPEQD(v, v, v)
	return v
}

type unpacker256 struct {
	dst, rows reg.GPVirtual
	minus1    reg.VecVirtual

	// of a width
	width int
	mask  reg.VecVirtual
	row   reg.VecVirtual // both halves of the current row
	at    int            // the number of that row
}

func (u *unpacker256) begin(width int) {
	u.width = width
	u.mask = YMM()
	VPSRLD(Imm(uint64(32-width)), u.minus1, u.mask)
	u.load(0)
}

// load emits the load of the next 32 bits of each lane, in both halves.
func (u *unpacker256) load(row int) {
	u.row, u.at = YMM(), row
	place := func(row int) Mem { return Mem{Base: u.rows, Disp: 16 * row} }
	upper := u.width/2 + row
	VMOVDQU(place(row), u.row.AsX())
	if u.width%2 == 0 {
		VINSERTI128(Imm(1), place(upper), u.row, u.row)
		return
	}
	// The upper half begins in the middle of a row: its words have 16 bits of that row and 16 of
	// the next one, except for the last row, which has no next.
	words := XMM()
	if upper == u.width-1 {
		VMOVDQU(place(upper), words)
		VPSRLD(Imm(16), words, words)
	} else {
		VMOVDQU(place(upper).Offset(2), words)
		VPBLENDW(Imm(0xaa), place(upper+1).Offset(-2), words, words)
	}
	VINSERTI128(Imm(1), words, u.row, u.row)
}

// values emits the unpacking of groups step and 16+step.
func (u *unpacker256) values(step int) reg.VecVirtual {
	bit := step * u.width
	shift := bit % 32
	v := YMM()
	if shift+u.width < 32 {
		if shift == 0 {
			VPAND(u.mask, u.row, v)
			return v
		}
		VPSRLD(Imm(uint64(shift)), u.row, v)
		VPAND(u.mask, v, v)
		return v
	}
	VPSRLD(Imm(uint64(shift)), u.row, v)
	if shift+u.width > 32 || step < 15 {
		u.load(u.at + 1)
	}
	if shift+u.width > 32 {
		rest := YMM()
		VPSLLD(Imm(uint64(32-shift)), u.row, rest)
		VPOR(rest, v, v)
		VPAND(u.mask, v, v)
	}
	return v
}

func (u *unpacker256) put(step int, v reg.VecVirtual) {
	VMOVDQU(v.AsX(), Mem{Base: u.dst, Disp: 16 * step})
}

func (u *unpacker256) putUpper(step int, v reg.VecVirtual) {
	VEXTRACTI128(Imm(1), v, Mem{Base: u.dst, Disp: 256 + 16*step})
}

// docs emits the sums of a block. The carry of the upper half is known only at the end. The second
// half of the steps waits for it in registers. The first half is stored and read again: by then it
// has left the store buffer.
func (u *unpacker256) docs(width int, from reg.VecVirtual) {
	u.begin(width)
	carry := YMM()
	VMOVDQA(from, carry)
	var waiting []reg.VecVirtual
	for step := range 16 {
		v, more := u.values(step), YMM()
		VPSUBD(u.minus1, v, v)
		for _, bytes := range []uint64{4, 8} {
			VPSLLDQ(Imm(bytes), v, more)
			VPADDD(more, v, v)
		}
		total := YMM()
		VPSHUFD(Imm(0xff), v, total)
		VPADDD(carry, v, v)
		VPADDD(total, carry, carry)
		u.put(step, v)
		if step < 8 {
			u.putUpper(step, v)
		} else {
			waiting = append(waiting, v)
		}
	}
	VINSERTI128(Imm(1), carry.AsX(), carry, carry)
	for i := range 4 {
		v, place := YMM(), Mem{Base: u.dst, Disp: 256 + 32*i}
		VPADDD(place, carry, v)
		VMOVDQU(v, place)
	}
	for i, v := range waiting {
		VPADDD(carry, v, v)
		u.putUpper(8+i, v)
	}
}

// freqs emits the values of a block, each plus one.
func (u *unpacker256) freqs(width int) {
	u.begin(width)
	for step := range 16 {
		v := u.values(step)
		VPSUBD(u.minus1, v, v)
		u.put(step, v)
		u.putUpper(step, v)
	}
}
