package device

import (
	"testing"
	"unsafe"
)

func TestSlices(t *testing.T) {
	m := Memory{100, 50}
	if got := m.Slice(10, 30).Slice(5, 5); got != (Memory{115, 0}) {
		t.Errorf("slice of memory: %+v", got)
	}
	words := []uint64{1, 2, 3}
	p := Pinned{unsafe.Pointer(&words[0]), 24}
	if got := View[uint32](p.Slice(8, 21)); len(got) != 3 || got[0] != 2 || got[2] != 3 {
		t.Errorf("view of 13 bytes as uint32: %v", got)
	}
	if got := p.Slice(16, 24).Bytes(); len(got) != 8 || got[0] != 3 {
		t.Errorf("bytes: %v", got)
	}
	for name, f := range map[string]func(){
		"memory behind its end":  func() { m.Slice(0, 51) },
		"memory before itself":   func() { m.Slice(-1, 5) },
		"memory backwards":       func() { m.Slice(5, 4) },
		"pinned behind its end":  func() { p.Slice(24, 25) },
		"pinned backwards":       func() { p.Slice(5, 4) },
		"a view of odd bytes":    func() { View[uint32](p.Slice(2, 24)) },
		"a copy of unequal size": func() { new(Queue).ToDevice(Stream{}, m, p) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
