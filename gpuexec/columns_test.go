package gpuexec

import (
	"testing"
	"unsafe"
)

// TestColumnWithoutRoom: a column that found no room in its batch was not copied, and is not
// considered resident.
func TestColumnWithoutRoom(t *testing.T) {
	values := make([]uint8, 1000)
	key := columnKey{unsafe.Pointer(&values[0]), len(values)}
	b := &batch{placed: placedColumns{columns: &columns{rows: 1 << 10}}}
	try := func(room int) (there bool) {
		b.staging = staging{host: make([]byte, room), size: room}
		b.begin()
		b.placed.columns.begin()
		column(&b.placed, values)
		b.forget()
		_, there = b.placed.columns.find(key)
		return there
	}
	if try(2000) {
		t.Error("a column that came once is kept")
	}
	if try(100) {
		t.Error("a column that was not brought is there")
	}
	if !try(2000) {
		t.Error("a column that came again is not kept")
	}
}
