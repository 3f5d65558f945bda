package device

import (
	"strings"
	"testing"
	"unsafe"
)

func TestArena(t *testing.T) {
	a := NewArena(Memory{0x1000, 3*ArenaAlign + 10})
	for i, c := range []struct{ bytes, address, left int64 }{
		{1, 0x1000, 2*ArenaAlign + 10},
		{ArenaAlign, 0x1000 + ArenaAlign, ArenaAlign + 10},
		{0, 0x1000 + 2*ArenaAlign, ArenaAlign + 10},
		{ArenaAlign + 5, 0x1000 + 2*ArenaAlign, 0},
	} {
		m, err := a.Take(c.bytes)
		if err != nil || m != (Memory{uint64(c.address), c.bytes}) || a.Left() != c.left {
			t.Fatalf("take %d: %+v, %v, %d left; want %+v", i, m, err, a.Left(), c)
		}
	}
	if _, err := a.Take(1); err == nil || !strings.Contains(err.Error(), "0 are left") {
		t.Errorf("more than there is: %v", err)
	}
	if _, err := a.Take(-1); err == nil {
		t.Error("a negative size is taken")
	}
}

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
