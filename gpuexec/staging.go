package gpuexec

import "unsafe"

// A staging is a batch's own part of the arena while the batch is made:
//
//	| structs, columns | pieces of lists, tables, moves | free | results, work space |
//	^ filled here and copied in one piece --------------^      ^ used by kernels only
//
// What does not fit sets full and is put elsewhere, so that the code that makes a batch checks
// once, at the end.
type staging struct {
	host    []byte // as large as the part of the arena, or smaller
	address uint64 // of the part
	row     uint32 // of the arena, where it begins
	size    int    // bytes of the part
	used    int    // bytes filled, from its beginning
	kept    int    // bytes at its end, for kernels
	full    bool
}

func (s *staging) begin() { s.used, s.kept, s.full = 0, 0, false }

// free is how many bytes can still be filled.
func (s *staging) free() int { return max(0, min(len(s.host), s.size-s.kept)-s.used) }

// put returns n cleared elements that will be copied to the device, and their address there.
func put[T any](s *staging, n int) (elements []T, address uint64) {
	elements, address = reserve[T](s, n)
	clear(elements)
	return elements, address
}

// reserve is put, but the contents are arbitrary.
func reserve[T any](s *staging, n int) (elements []T, address uint64) {
	if n == 0 {
		return nil, 0
	}
	bytes := wholeRows(n * int(unsafe.Sizeof(*new(T))))
	if bytes > s.free() {
		s.full = true
		return make([]T, n), 0
	}
	at := s.used
	s.used += bytes
	return unsafe.Slice((*T)(unsafe.Pointer(&s.host[at])), n), s.address + uint64(at)
}

// putAll is put for existing elements.
func putAll[T any](s *staging, from []T) (address uint64) {
	to, address := put[T](s, len(from))
	copy(to, from)
	return address
}

// keep reserves n bytes of the device's memory, with arbitrary contents.
func (s *staging) keep(n int) (address uint64) {
	if n = wholeRows(n); n > s.size-s.kept-s.used {
		s.full = true
		return 0
	}
	s.kept += n
	return s.address + uint64(s.size-s.kept)
}

// rowOf is the row of the arena that begins at an address of the part.
func (s *staging) rowOf(address uint64) uint32 { return s.row + uint32((address-s.address)/rowBytes) }

func wholeRows(n int) int { return (n + rowBytes - 1) &^ (rowBytes - 1) }

// view returns bytes of the staging as a struct.
func view[T any](b []byte) *T {
	_ = b[unsafe.Sizeof(*new(T))-1]
	return (*T)(unsafe.Pointer(&b[0]))
}
