package main

import (
	"encoding/binary"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
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

// vector writes 64 bytes of constants.
func vector(name string, at func(i int) uint8) Mem {
	var table []byte
	for i := range 64 {
		table = append(table, at(i))
	}
	return global(name, table)
}

// dwords writes 16 constants of 32 bits.
func dwords(name string, at func(i int) uint32) Mem {
	var table []byte
	for i := range 16 {
		table = binary.LittleEndian.AppendUint32(table, at(i))
	}
	return global(name, table)
}
