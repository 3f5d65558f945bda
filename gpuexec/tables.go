package gpuexec

import (
	"unsafe"

	"github.com/riffle-search/riffle/gpuexec/listcache"
)

// tables are the extents of lists in the kernels' form, resident for lists that are fully resident,
// as long as nothing moves (listcache.Placed.Serial). Otherwise they would be most of what a batch
// must make and copy: 4,000 bytes a query with 25 million documents.
//
// A table is admitted when its list comes a second time. When the memory is full, all are dropped
// and admitted anew.
type tables struct {
	address    uint64 // of the part of the arena
	row        uint32
	rows       uint32
	used       uint32
	generation uint64 // of the current contents
	full       bool   // one found no room
	age        int    // batches since the last start from empty
}

// tablesAge is the least number of batches for which tables stay: there may be more than will ever
// fit.
const tablesAge = 64

const extentBytes = int(unsafe.Sizeof(devExtent{}))

// begin is called before a batch is placed.
func (t *tables) begin() {
	if t.age++; t.full && t.age > tablesAge {
		t.forget()
	}
}

// forget drops everything.
func (t *tables) forget() {
	t.used, t.full, t.age = 0, false, 0
	t.generation++
}

// find returns the address of the table of a list.
func (t *tables) find(k *knownList, serial uint64) (address uint64, ok bool) {
	return k.table, serial != 0 && k.serial == serial && k.table != 0 && k.generation == t.generation
}

// take gives the table of a list a place if it should have one.
func (t *tables) take(k *knownList, serial uint64) (row uint32, ok bool) {
	again := k.serial == serial
	k.serial, k.table = serial, 0
	if serial == 0 || !again {
		return 0, false
	}
	rows := uint32(wholeRows(extentBytes*len(k.extents)) / rowBytes)
	if rows > t.rows-t.used {
		t.full = t.full || rows <= t.rows
		return 0, false
	}
	k.table, k.generation = t.address+uint64(t.used)*rowBytes, t.generation
	row = t.row + t.used
	t.used += rows
	return row, true
}

// putTables puts the extents of lists whose blocks are read on the device, once their places are
// known. It appends the device's moves, calls settled for fully resident lists, and reports whether
// all heads have a place.
func (l *lists) putTables(s *staging, moves []devMove, settled func(*listEntry)) (_ []devMove, usable bool) {
	usable = true
	for i := range l.entries {
		e, p := &l.entries[i], &l.placed.Lists[i]
		if !e.placed() {
			continue
		}
		serial := p.Serial
		if l.lose != nil {
			serial = 0
		}
		e.known.inherit()
		address, there := l.tables.find(e.known, serial)
		if there {
			settled(e)
		}
		if !there {
			var to []devExtent
			to, address = put[devExtent](s, len(e.known.extents))
			usable = e.fill(to, p, l.lose) && usable
			l.spared = l.spared || e.spared
			if row, ok := l.tables.take(e.known, serial); ok {
				moves = addMoves(moves, s.rowOf(address), row, uint32(wholeRows(extentBytes*len(to))/rowBytes))
			}
		}
		l.structs[i].extents = address
	}
	return moves, usable
}

// tablesRoom is the most bytes and moves that putTables takes.
func (l *lists) tablesRoom() (bytes, moves int) {
	return extentBytes * l.extents, len(l.entries) + l.extents/moveRows
}

// fill writes where the extents of the list are. It reports whether all heads have a place.
func (e *listEntry) fill(to []devExtent, p *listcache.Placed, lose func(int) bool) (usable bool) {
	usable = true
	list, bounds := e.term.List, e.term.Bounds
	for i := range to {
		to[i] = devExtent{last: list.ExtLast[i], head: p.Head[i], rows: p.Extents[i], bound: uint32(bounds.Extent[i])}
		usable = usable && p.Head[i] != listcache.Missing
		if p.Extents[i] == listcache.Missing && !e.all && e.wanted[i/64]>>(i%64)&1 == 0 {
			to[i].rows, e.spared = unneededRow, true
			continue
		}
		if lose != nil && lose(i) {
			to[i].rows = missingRow
		}
	}
	return usable
}
