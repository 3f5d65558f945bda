package device

import (
	"fmt"
	"unsafe"
)

// Memory is a range of a device's memory.
type Memory struct {
	Address uint64 // as kernels see it
	Bytes   int64
}

// Slice returns the bytes [from, to) of m. It panics if m lacks any of them.
func (m Memory) Slice(from, to int64) Memory {
	if from < 0 || from > to || to > m.Bytes {
		panic(fmt.Sprintf("device: slice [%d:%d] of %d bytes of device memory", from, to, m.Bytes))
	}
	return Memory{m.Address + uint64(from), to - from}
}

// Pinned is a range of host memory that the device reads and writes itself. It belongs to the
// driver, not to Go, and is freed when the device is closed. Code that uses it outside closures holds the
// device (Device.Hold).
type Pinned struct {
	base  unsafe.Pointer
	bytes int64
}

// Len is the length in bytes.
func (p Pinned) Len() int64 { return p.bytes }

// Slice returns the bytes [from, to) of p. It panics if p lacks any of them.
func (p Pinned) Slice(from, to int64) Pinned {
	if from < 0 || from > to || to > p.bytes {
		panic(fmt.Sprintf("device: slice [%d:%d] of %d bytes of pinned memory", from, to, p.bytes))
	}
	return Pinned{unsafe.Add(p.base, from), to - from}
}

// Bytes is the memory itself.
func (p Pinned) Bytes() []byte { return unsafe.Slice((*byte)(p.base), p.bytes) }

// View returns pinned memory as values of T, as many as fit. T must have no Go pointers and no
// padding that the device could lay out differently. p must be aligned for T, as the beginning of a
// Pin is for any T.
func View[T any](p Pinned) []T {
	var t T
	if uintptr(p.base)%unsafe.Alignof(t) != 0 {
		panic(fmt.Sprintf("device: pinned memory at %#x as %T", uintptr(p.base), t))
	}
	return unsafe.Slice((*T)(p.base), p.bytes/int64(unsafe.Sizeof(t)))
}
