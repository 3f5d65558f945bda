package gpuexec

import "unsafe"

// columns are the values of a segment's documents that are on the device from batch to batch: length codes, accepted
// documents, ranks, tails. There are few, they are large, and nearly every query needs them.
//
// A column is known by where it lies in the host's memory, and kept alive, so that nothing else can
// ever lie there. It is taken in when it comes a second time: the documents that a query's own filter
// accepts come once. When there is no more room, all are given up and taken in anew.
type columns struct {
	address uint64 // of the part of the arena
	row     uint32
	rows    uint32
	used    uint32
	placed  map[columnKey]uint32 // rows from row on
	seen    map[uintptr]int      // lengths of columns that have come once
	full    bool                 // one has found no room
}

// A columnKey tells columns apart.
type columnKey struct {
	data unsafe.Pointer
	n    int
}

// A placedColumn is a column and its address.
type placedColumn struct {
	key     columnKey
	address uint64
}

// seenMost bounds what is remembered of columns that came once.
const seenMost = 1 << 12

// begin is called before a batch is filled.
func (c *columns) begin() {
	if c.full || c.placed == nil {
		c.placed, c.used, c.full = map[columnKey]uint32{}, 0, false
	}
	if c.seen == nil || len(c.seen) > seenMost {
		c.seen = map[uintptr]int{}
	}
}

// find returns where a column is.
func (c *columns) find(key columnKey) (address uint64, ok bool) {
	row, ok := c.placed[key]
	return c.address + uint64(row)*rowBytes, ok
}

// take gives a column a place, if it is to have one.
func (c *columns) take(key columnKey, rows uint32) (row uint32, address uint64, ok bool) {
	at := uintptr(key.data)
	if c.seen[at] != key.n {
		c.seen[at] = key.n
		return 0, 0, false
	}
	if rows > c.rows-c.used {
		c.full = c.full || rows <= c.rows
		return 0, 0, false
	}
	row = c.used
	c.used += rows
	c.placed[key] = row
	return c.row + row, c.address + uint64(row)*rowBytes, true
}

// forget gives up a column that was taken in but has not been copied.
func (c *columns) forget(key columnKey) { delete(c.placed, key) }

// moveRows is how many rows one move has at most: a warp does a move.
const moveRows = 1 << 12

// column makes values of a segment's documents be on the device, once for a batch.
func column[T any](b *batch, values []T) (address uint64) {
	if len(values) == 0 {
		return 0
	}
	key := columnKey{unsafe.Pointer(&values[0]), len(values)}
	if r := &b.recent[0]; r.key == key {
		return r.address
	}
	address, known := b.addresses[key]
	if !known {
		address, known = b.columns.find(key)
	}
	if !known {
		address = putAll(&b.staging, values)
		from, rows := b.staging.rowOf(address), uint32(wholeRows(len(values)*int(unsafe.Sizeof(values[0])))/rowBytes)
		if !b.staging.full { // else it is not brought
			if row, place, ok := b.columns.take(key, rows); ok {
				address = place
				b.moveColumn(key, from, row, rows)
			}
		}
	}
	b.addresses[key] = address
	b.recent[0] = placedColumn{key, address}
	return address
}

// moveColumn has a column moved to its place on the device.
func (b *batch) moveColumn(key columnKey, from, to, rows uint32) {
	b.taken = append(b.taken, key)
	b.moves = addMoves(b.moves, from, to, rows)
}

// addMoves appends the moves of so many rows.
func addMoves(moves []devMove, from, to, rows uint32) []devMove {
	for done := uint32(0); done < rows; done += moveRows {
		moves = append(moves, devMove{from: from + done, to: to + done, rows: min(moveRows, rows-done)})
	}
	return moves
}
