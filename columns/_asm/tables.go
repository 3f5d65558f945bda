package main

import (
	"encoding/binary"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Packed numbers are cut out of bytes: a shuffle puts the bytes of each into a lane, where it begins
// at one of the lowest eight bits. Eight numbers take whole bytes, so all groups of eight are alike. A
// lane of 16 bits holds numbers of up to 9 bits at any begin, one of 32 bits up to 25, and one of 64
// bits all that are packed. There is a table for each size of lane, with a row for each width.
const (
	narrow = 9
	middle = 25
	wide   = 64
)

var globals = map[string]Mem{}

// global writes a table of constants, whole quadwords, at the first call for its name.
func global(name string, table []byte) Mem {
	if m, ok := globals[name]; ok {
		return m
	}
	m := GLOBL(name, RODATA|NOPTR)
	globals[name] = m
	for at := 0; at < len(table); at += 8 {
		DATA(at, U64(binary.LittleEndian.Uint64(table[at:])))
	}
	return m
}

// A lanes has the lanes of registers of one row: for each the byte at which its number begins, within
// the bytes that the shuffle sees, and the bit within that byte.
type lanes struct {
	size int // bytes of a lane
	at   []int
	bit  []int
}

func (l *lanes) add(bit int) {
	l.at, l.bit = append(l.at, bit/8), append(l.bit, bit%8)
}

// appendShuffle appends the numbers of the bytes of all lanes.
func (l *lanes) appendShuffle(table []byte) []byte {
	for _, at := range l.at {
		for b := range l.size {
			table = append(table, byte(at+b))
		}
	}
	return table
}

// appendShifts appends for each lane its bit, or two to the power of that.
func (l *lanes) appendShifts(table []byte, power bool) []byte {
	for _, bit := range l.bit {
		n := uint64(bit)
		if power {
			n = 1 << bit
		}
		table = append(table, binary.LittleEndian.AppendUint64(nil, n)[:l.size]...)
	}
	return table
}

// rows512 has, for each width from 0 on, a shuffle of 64 bytes and shifts of as many.
func rows512(name string, size, widest int) Mem {
	var table []byte
	for width := 0; width <= widest; width++ {
		l := lanes{size: size}
		for i := range 64 / size {
			l.add(i * width)
		}
		if width > 57 && width < 64 {
			l = lanes{size, make([]int, 64/size), make([]int, 64/size)} // no such width
		}
		table = l.appendShifts(l.appendShuffle(table), false)
	}
	return global(name, table)
}

// rows256 has the same for a register of two halves, in which numbers count from the first byte of
// each.
func rows256(name string, size, widest int, power bool) Mem {
	var table []byte
	for width := 0; width <= widest; width++ {
		l := lanes{size: size}
		for i := range 32 / size {
			half := i / (16 / size)
			l.add(half*(16/size)*width%8 + i%(16/size)*width)
		}
		table = l.appendShifts(l.appendShuffle(table), power)
	}
	return global(name, table)
}

// rowsWide256 has, for each width from 0 on, two shuffles of 32 bytes and shifts of as many. A register
// has numbers 0, 1, 4 and 5 of eight, the other has 2, 3, 6 and 7. Each pair counts from its own first
// byte.
func rowsWide256() Mem {
	var table []byte
	for width := 0; width <= wide; width++ {
		l := lanes{size: 8}
		for _, pair := range []int{0, 2, 1, 3} {
			for i := range 2 {
				if width > 57 && width < 64 {
					l.add(0) // no such width
				} else {
					l.add(2*pair*width%8 + i*width)
				}
			}
		}
		table = l.appendShifts(l.appendShuffle(table), false)
	}
	return global("wide256", table)
}

// row emits the address of the row of a width.
func row(table Mem, bytes int, width reg.GPVirtual) reg.GPVirtual {
	at, first := GP64(), GP64()
	IMUL3Q(U32(uint64(bytes)), width, at)
	LEAQ(table, first)
	ADDQ(first, at)
	return at
}

func pointer(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }

// lowBits emits a number with the lowest width bits set (1 to 64).
func lowBits(width reg.GPVirtual) reg.GPVirtual {
	mask, shift := GP64(), GP64()
	MOVQ(I64(-1), mask)
	MOVQ(U32(64), shift)
	SUBQ(width, shift)
	SHRXQ(shift, mask, mask)
	return mask
}
