package gpuexec

import "unsafe"

// columns are values of a segment's documents that stay on the device: length codes, accepted
// documents, ranks, tails. They are few and large, and nearly every query needs them.
//
// A column is identified by its address in the host's memory. It is kept alive, so that nothing
// else can have that address. It is admitted when it comes a second time, since the documents that
// a query's own filter accepts come once. When the memory is full, all columns are dropped and
// admitted anew.
type columns struct {
	address uint64 // of the part of the arena
	row     uint32
	rows    uint32
	used    uint32
	placed  map[columnKey]uint32 // rows from row on
	seen    map[uintptr]int      // lengths of columns that came once
	full    bool                 // one found no room
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
	if c.full || c.placed == nil {
		c.placed, c.used, c.full = map[columnKey]uint32{}, 0, false
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
	if rows > c.rows-c.used {
		c.full = c.full || rows <= c.rows
		return 0, 0, false
	}
	row = c.used
	c.used += rows
	c.placed[key] = row
	return c.row + row, c.address + uint64(row)*rowBytes, true
}

// forget removes a column that was admitted but has not been copied.
func (c *columns) forget(key columnKey) { delete(c.placed, key) }

// placedColumns are the columns and impact tables of a batch, each once.
type placedColumns struct {
	columns   *columns
	staging   *staging
	addresses map[columnKey]uint64
	recent    [2]placedColumn // the last column and the last table, which most lists share
	taken     []columnKey     // columns that this batch admits
	// From the staging to the places of columns, and of the pieces of lists.
	moves []devMove
}

func (c *placedColumns) begin(s *staging) {
	c.staging = s
	c.taken, c.moves = c.taken[:0], c.moves[:0]
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
		address = putAll(c.staging, values)
		from, rows := c.staging.rowOf(address), uint32(wholeRows(len(values)*int(unsafe.Sizeof(values[0])))/rowBytes)
		if !c.staging.full { // otherwise it is not copied
			if row, place, ok := c.columns.take(key, rows); ok {
				address = place
				c.taken = append(c.taken, key)
				c.moves = addMoves(c.moves, from, row, rows)
			}
		}
	}
	c.addresses[key] = address
	c.recent[0] = placedColumn{key, address}
	return address
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
