package segment

import (
	"fmt"
	"testing"
	"unsafe"
)

// TestMemoryTable adds terms until pages have split many times, and finds all of them and no others
// at every size that is next to a power of two.
func TestMemoryTable(t *testing.T) {
	var table memoryTable
	term := func(n uint32) []byte { return fmt.Appendf(nil, "%0*d", 3+n%9, n) } // some are long
	find := func(n uint32) *memorySlot {
		return table.find(termKey(term(n)), func(number uint32) bool { return string(term(number)) == string(term(n)) })
	}
	const terms = 50_000
	for n := range uint32(terms) {
		s := find(n)
		if s.number != 0 {
			t.Fatalf("term %q is found as %d before it was added", term(n), s.number)
		}
		table.add(s, termKey(term(n)), n)
		if m := n + 1; m&(m-1) != 0 && m&(m+1) != 0 && m != terms {
			continue
		}
		for i := range n + 1 {
			if s := find(i); s.number != i+1 {
				t.Fatalf("term %d of %d is found as %d", i, n+1, s.number)
			}
		}
	}
	if table.taken != terms {
		t.Errorf("%d terms, want %d", table.taken, terms)
	}
	bytes, taken := int64(len(table.pages))*int64(unsafe.Sizeof(table.pages[0])), 0
	seen := map[*tablePage]bool{}
	for i, p := range table.pages {
		if seen[p] {
			continue
		}
		seen[p] = true
		bytes += int64(unsafe.Sizeof(*p)) + int64(len(p.slots))*int64(unsafe.Sizeof(memorySlot{}))
		taken += int(p.taken)
		if len(p.slots) > pageSlots || int(p.taken)*2 > len(p.slots) {
			t.Errorf("page %d has %d terms in %d slots", i, p.taken, len(p.slots))
		}
	}
	if len(seen) < terms/pageSlots*2 || taken != terms {
		t.Errorf("%d pages of %d terms", len(seen), taken)
	}
	if bytes != table.bytes {
		t.Errorf("%d bytes are counted, want %d", table.bytes, bytes)
	}
}
