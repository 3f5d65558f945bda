package gpuexec

import (
	"unsafe"

	"github.com/riffle-search/riffle/gpuexec/listcache"
)

// tables are the extents of lists, as kernels have them, that stay on the device: those of lists that are there whole, as long
// as nothing moves (listcache.Placed.Serial). They are most of what a batch would have to copy otherwise, and to make: of
// 25 million documents 4,000 bytes a query.
//
// A table is taken in when it comes a second time. When there is no more room, all are given up and taken in anew.
type tables struct {
	address    uint64 // of the part of the arena
	row        uint32
	rows       uint32
	used       uint32
	generation uint64 // of those that are there
	full       bool   // one has found no room
	age        int    // batches since it began anew
}

// tablesAge is for how many batches tables stay at the least: there may be more than there will ever be room for.
const tablesAge = 64

const extentBytes = int(unsafe.Sizeof(devExtent{}))

// begin is called before a batch is placed.
func (t *tables) begin() {
	if t.age++; t.full && t.age > tablesAge {
		t.forget()
	}
}

// forget gives all up.
func (t *tables) forget() {
	t.used, t.full, t.age = 0, false, 0
	t.generation++
}

// find returns where the table of a list is.
func (t *tables) find(k *knownList, serial uint64) (address uint64, ok bool) {
	return k.table, serial != 0 && k.serial == serial && k.table != 0 && k.generation == t.generation
}

// take gives the table of a list a place, if it is to have one.
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

// putTables makes the extents of lists whose blocks are read be on the device, once it is known where they are. It adds what the device has to
// move, calls settled for lists that are there to stay, and reports whether all heads are there.
func (l *lists) putTables(s *staging, moves []devMove, settled func(*listEntry)) (_ []devMove, usable bool) {
	usable = true
	for i := range l.entries {
		e, p := &l.entries[i], &l.placed.Lists[i]
		if !e.read {
			continue
		}
		serial := p.Serial
		if l.lose != nil {
			serial = 0
		}
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

// tablesRoom is how many bytes putTables takes at the most, and how many moves.
func (l *lists) tablesRoom() (bytes, moves int) {
	return extentBytes * l.extents, len(l.entries) + l.extents/moveRows
}

// fill says where the extents of the list are. It reports whether all heads are on the device.
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
