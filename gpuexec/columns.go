package gpuexec

import (
	"fmt"
	"unsafe"

	"github.com/riffle-search/riffle/gpuexec/device"
)

// columns are values of a segment's documents that stay on the device: length codes, accepted
// documents, ranks, tails. They are few and large, and nearly every query needs them.
//
// A column is identified by its address in the host's memory. It is kept alive, so that nothing
// else can have that address. It is admitted when it comes a second time, since the documents that
// a query's own filter accepts come once. When the memory is full, all columns are dropped and
// admitted anew: at once, or with Options.Stream, where those without a place come in parts
// (parted.go), from time to time.
type columns struct {
	address uint64 // of the part of the arena
	row     uint32
	rows    uint32
	used    uint32
	placed  map[columnKey]uint32 // rows from row on
	seen    map[uintptr]int      // lengths of columns that came once
	full    bool                 // one found no room
	patient bool                 // they stay for tablesAge batches, even so
	age     int                  // batches since the last start from empty
}

// A columnKey identifies a column.
type columnKey struct {
	data unsafe.Pointer
	n    int
}

// A placedColumn is a column and its address.
type placedColumn struct {
	key     columnKey
	address uint64
}

// seenMost bounds how many columns that came once are remembered.
const seenMost = 1 << 12

// begin is called before a batch is filled.
func (c *columns) begin() {
	if c.age++; c.placed == nil || c.full && (!c.patient || c.age > tablesAge) {
		c.placed, c.used, c.full, c.age = map[columnKey]uint32{}, 0, false, 0
	}
	if c.seen == nil || len(c.seen) > seenMost {
		c.seen = map[uintptr]int{}
	}
}

// find returns the address of a column.
func (c *columns) find(key columnKey) (address uint64, ok bool) {
	row, ok := c.placed[key]
	return c.address + uint64(row)*rowBytes, ok
}

// take gives a column a place if it should have one.
func (c *columns) take(key columnKey, rows uint32) (row uint32, address uint64, ok bool) {
	at := uintptr(key.data)
	if c.seen[at] != key.n {
		c.seen[at] = key.n
		return 0, 0, false
	}
	return c.admit(key, rows)
}

// admit gives a column a place if there is room.
func (c *columns) admit(key columnKey, rows uint32) (row uint32, address uint64, ok bool) {
	if rows > c.rows-c.used {
		c.full = c.full || rows <= c.rows
		return 0, 0, false
	}
	row = c.used
	c.used += rows
	c.placed[key] = row
	return c.row + row, c.address + uint64(row)*rowBytes, true
}

// forget removes a column that was admitted but has not been copied, and those admitted after it.
func (c *columns) forget(key columnKey) {
	if row, ok := c.placed[key]; ok {
		c.used = min(c.used, row)
		delete(c.placed, key)
	}
}

// forgetAll removes all columns, some of which may not have been copied.
func (c *columns) forgetAll() { c.placed = nil }

// placedColumns are the columns and impact tables of a batch, each once.
type placedColumns struct {
	columns   *columns
	staging   *staging
	addresses map[columnKey]uint64
	recent    [2]placedColumn // the last column and the last table, which most lists share
	taken     []columnKey     // columns that this batch admits
	// From the staging to the places of columns, and of the pieces of lists.
	moves []devMove

	apart    *scratchPool // for columns that are too large for the staging; nil by windows
	whole    int          // bytes of columns that are not
	alone    bool         // whole is for all columns together, since the batch cannot be divided
	large    []largeColumn
	own      uint32 // rows that the batch has taken of columns
	homeless int    // bytes of the largest column that has no place; 0 if all have
	crowded  bool   // it would have one without the columns of other batches
}

// A largeColumn is a column on its way to the place where it stays.
type largeColumn struct {
	from device.Pinned
	to   device.Memory
}

func (c *placedColumns) begin(s *staging) {
	c.staging = s
	c.taken, c.moves = c.taken[:0], c.moves[:0]
	c.apart, c.large, c.own, c.homeless, c.crowded = nil, c.large[:0], 0, 0, false
	if c.addresses == nil {
		c.addresses = map[columnKey]uint64{}
	}
}

// undo removes what was admitted, because the batch does not run.
func (c *placedColumns) undo() {
	for _, key := range c.taken {
		c.columns.forget(key)
	}
}

// forget drops references to the caller's data.
func (c *placedColumns) forget() {
	clear(c.addresses)
	clear(c.recent[:])
	clear(c.taken)
}

// column puts values of a segment's documents on the device, once for a batch.
func column[T any](c *placedColumns, values []T) (address uint64) {
	if len(values) == 0 {
		return 0
	}
	key := columnKey{unsafe.Pointer(&values[0]), len(values)}
	if r := &c.recent[0]; r.key == key {
		return r.address
	}
	address, known := c.addresses[key]
	if !known {
		address, known = c.columns.find(key)
	}
	if !known {
		address, known = c.bringApart(key, bytesOf(values))
	}
	if !known {
		address = putAll(c.staging, values)
		from, rows := c.staging.rowOf(address), uint32(wholeRows(len(values)*int(unsafe.Sizeof(values[0])))/rowBytes)
		if !c.staging.full { // otherwise it is not copied
			if row, place, ok := c.columns.take(key, rows); ok {
				address = place
				c.taken, c.own = append(c.taken, key), c.own+rows
				c.moves = addMoves(c.moves, from, row, rows)
			}
		}
	}
	c.addresses[key] = address
	c.recent[0] = placedColumn{key, address}
	return address
}

// bringApart brings a column that would crowd out the rest of the staging to its place, even if it comes
// for the first time. It reports false if it is none of those, or has no place.
func (c *placedColumns) bringApart(key columnKey, values []byte) (address uint64, ok bool) {
	if c.apart == nil {
		return 0, false
	}
	if len(values) <= c.whole {
		if c.alone {
			c.whole -= len(values)
		}
		return 0, false
	}
	rows := uint32(wholeRows(len(values)) / rowBytes)
	if rows > c.columns.rows-c.columns.used {
		c.columns.full = c.columns.full || rows <= c.columns.rows
		c.crowded = c.crowded || rows <= c.columns.rows && c.own < c.columns.used
		c.homeless = max(c.homeless, len(values))
		return 0, false
	}
	from, ok := c.apart.take(rows)
	if !ok {
		c.homeless = max(c.homeless, len(values))
		return 0, false
	}
	_, address, _ = c.columns.admit(key, rows)
	c.taken, c.own = append(c.taken, key), c.own+rows
	copy(from.Bytes(), values)
	c.large = append(c.large, largeColumn{from, device.Memory{Address: address, Bytes: int64(rows) * rowBytes}})
	return address, true
}

// refusal is why a batch with a column that has no place does not fit.
func (c *placedColumns) refusal() error {
	return fmt.Errorf("gpuexec: no room for %d bytes of a segment's length codes, accepted documents or ranks, neither in Options.ColumnBytes (%d) nor in a batch (%d)",
		c.homeless, int64(c.columns.rows)*rowBytes, len(c.staging.host))
}

// bytesOf returns the memory of values.
func bytesOf[T any](values []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(*new(T))))
}

// norms is the address of the length codes of a term's documents, the first docs of them; 0 if
// there are none.
func (c *placedColumns) norms(t *term, docs uint32) (address uint64) {
	if t.Norms == nil {
		return 0
	}
	return column(c, t.Norms[:docs])
}

// table puts the impacts of a term's similarity into the staging, once.
func (c *placedColumns) table(of *term, _ uint32) (address uint64) {
	t := of.Table
	key := columnKey{unsafe.Pointer(t), 0}
	if r := &c.recent[1]; r.key == key {
		return r.address
	}
	address, known := c.addresses[key]
	if !known {
		var d []devTable
		d, address = put[devTable](c.staging, 1)
		small, k := t.Arrays()
		d[0] = devTable{*small, *k}
		c.addresses[key] = address
	}
	c.recent[1] = placedColumn{key, address}
	return address
}

// moveRows is the most rows of one move: a warp does a move.
const moveRows = 1 << 12

// addMoves appends the moves of the given number of rows.
func addMoves(moves []devMove, from, to, rows uint32) []devMove {
	for done := uint32(0); done < rows; done += moveRows {
		moves = append(moves, devMove{from: from + done, to: to + done, rows: min(moveRows, rows-done)})
	}
	return moves
}
