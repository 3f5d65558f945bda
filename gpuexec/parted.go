package gpuexec

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// With Options.Stream a segment may have more documents than a batch has bytes. So columns that are not
// on the device come in parts, one for each window, if they are large. The host has the parts in pinned
// memory. In each window a part is
//
//	at its place    once the column is resident; the first batch that finds it so copies it there
//	brought along   by the step's fetch_rows, to memory that steps share
//	read in place   from the host's memory, by kernels, if the window has few postings that need it
//
// The memory of the device is worth more for codes than for lists, so columns stay as long as
// Options.ColumnBytes suffices: 100 million documents in windows of 2 million take 100 MB of the link
// for each batch, 3 % of what 2,048 queries read of lists. In those 100 MB lists would save less than 1 %.
type parted struct {
	kept      *keptColumns
	columns   []partedColumn
	numbers   map[columnKey]uint32
	recent    columnRef // the last column, which most lists share
	recentKey columnKey
	whole     int      // bytes of columns that the batch may yet bring whole
	copied    []bool   // by window and column: steps bring the part along
	addresses []uint64 // by window and column
	inPlace   bool     // steps have no room for parts
	stays     bool     // a column is on its way to its place
}

// A partedColumn is a column of a batch that comes in parts.
type partedColumn struct {
	key    columnKey
	ref    columnRef
	values []byte
	lasts  bool     // other batches will have it
	place  uint64   // on the device, when it is to stay
	parts  []uint64 // addresses on the host, by window
	lists  []int32  // whose postings read it: entries
}

// A columnRef says where a column is.
type columnRef struct {
	address uint64 // if it is whole
	number  uint32 // in parted.columns, from 1 on, if it is not
	size    uint32 // bytes of a value
	per     uint32 // documents of a value
}

// Columns that fit into so small a share of what the host has of a batch's memory travel whole.
const wholeShare = 8

func (p *parted) begin(whole int) {
	clear(p.columns)
	clear(p.numbers)
	p.columns, p.whole = p.columns[:0], whole
	p.recent, p.recentKey = columnRef{}, columnKey{}
	p.inPlace, p.stays = false, false
	if p.numbers == nil {
		p.numbers = map[columnKey]uint32{}
	}
}

// forget drops references to the caller's data.
func (p *parted) forget() {
	clear(p.columns)
	clear(p.numbers)
	p.recentKey = columnKey{}
}

// wholeColumns is how many bytes of columns a batch brings whole, at most.
func (b *batch) wholeColumns() int {
	switch n := b.shape.WholeColumns; {
	case n < 0:
		return 0
	case n > 0:
		return n
	}
	return len(b.staging.host) / wholeShare
}

// windowColumn finds a place for values of a segment's documents, one for each so many. The host keeps
// the parts of those that last.
func windowColumn[T any](b *batch, values []T, per uint32, lasts bool) columnRef {
	if len(values) == 0 {
		return columnRef{}
	}
	p, key := &b.windowed.parted, columnKey{unsafe.Pointer(&values[0]), len(values)}
	if p.recentKey == key {
		return p.recent
	}
	ref := columnRef{size: uint32(unsafe.Sizeof(values[0])), per: per}
	bytes := bytesOf(values)
	address, known := b.placed.addresses[key]
	if !known {
		address, known = b.placed.columns.find(key)
	}
	switch {
	case known:
		ref.address = address
	case p.numbers[key] > 0:
		ref.number = p.numbers[key]
	case wholeRows(len(bytes)) <= p.whole:
		p.whole -= wholeRows(len(bytes))
		ref.address = column(&b.placed, values)
	default:
		ref.number = b.addParted(key, bytes, ref, lasts)
	}
	p.recent, p.recentKey = ref, key
	return ref
}

// addParted adds a column that comes in parts. Parts go to the places that they have in the column, so
// these must be rows.
func (b *batch) addParted(key columnKey, bytes []byte, ref columnRef, lasts bool) (number uint32) {
	p := &b.windowed.parted
	number = uint32(len(p.columns) + 1)
	ref.number = number
	c := partedColumn{key: key, ref: ref, values: bytes, lasts: lasts}
	if b.shape.windowDocs()/ref.per*ref.size%rowBytes == 0 {
		if _, place, ok := b.placed.columns.take(key, uint32(wholeRows(len(bytes))/rowBytes)); ok {
			c.place, p.stays = place, true
			b.placed.taken = append(b.placed.taken, key)
		}
	}
	p.columns = append(p.columns, c)
	p.numbers[key] = number
	return number
}

// readBy notes that postings of a list read a column.
func (p *parted) readBy(ref columnRef, entry int32) {
	if ref.number > 0 {
		c := &p.columns[ref.number-1]
		c.lists = append(c.lists, entry)
	}
}

// at is the address of the values of a window, whose documents begin with from. It is 0 if there are none.
func (p *parted) at(ref columnRef, window int, from uint32) uint64 {
	switch {
	case ref.number > 0:
		return p.addresses[window*len(p.columns)+int(ref.number-1)]
	case ref.address == 0:
		return 0
	}
	return ref.address + uint64(from/ref.per)*uint64(ref.size)
}

// part returns where the values of a window begin in a column, and end, in bytes.
func (b *batch) part(c *partedColumn, window int) (from, to int) {
	width, per, size := uint64(b.shape.windowDocs()), uint64(c.ref.per), uint64(c.ref.size)
	from = int(uint64(window) * width / per * size)
	to = int((uint64(window+1)*width + per - 1) / per * size)
	return min(from, len(c.values)), min(to, len(c.values))
}

// beginParts makes room for what is decided of parts, in so many windows.
func (p *parted) beginParts(windows int) {
	n := windows * len(p.columns)
	p.copied = append(p.copied[:0], make([]bool, n)...)
	p.addresses = append(p.addresses[:0], make([]uint64, n)...)
}

// partsNeed is the memory that the parts of a window take which steps bring along. Several goroutines
// call it, for a window each.
func (b *batch) partsNeed(window int) (bytes int) {
	p := &b.windowed.parted
	for i := range p.columns {
		c := &p.columns[i]
		from, to := b.part(c, window)
		copied := from < to && c.place == 0 && !p.inPlace && b.readOften(c, window, to-from)
		if p.copied[window*len(p.columns)+i] = copied; copied {
			bytes += wholeRows(to - from)
		}
	}
	return bytes
}

// readShare: to read one value in place takes the link as long as to bring so many bytes along, roughly,
// since a read has 32 bytes, and reads of single values have to be waited for.
const readShare = 128

// readOften reports whether postings of a window may read so many values of a column that its part of
// some bytes had better be brought along.
func (b *batch) readOften(c *partedColumn, window, bytes int) bool {
	read := 0
	for _, i := range c.lists {
		if kept := b.windowed.lists[i]; kept.has(window) {
			r := &kept.windows[window]
			if read += int(r.blocks * r.blockSize); read*readShare >= bytes {
				return true
			}
		}
	}
	return false
}

// takeParts takes the memory of parts that a step brings along.
func (b *batch) takeParts(window int, room *transient) {
	p := &b.windowed.parted
	for i := range p.columns {
		if p.copied[window*len(p.columns)+i] {
			from, to := b.part(&p.columns[i], window)
			room.take(to - from)
		}
	}
}

// bringParts writes what a step copies of the parts of a window, and where they are.
func (b *batch) bringParts(window int, t *step, room *transient) {
	p := &b.windowed.parted
	for i := range p.columns {
		c := &p.columns[i]
		from, to := b.part(c, window)
		if from == to {
			continue
		}
		f := devFetch{from: c.parts[window], rows: uint32(wholeRows(to-from) / rowBytes)}
		address := f.from
		switch at := window*len(p.columns) + i; {
		case c.place != 0:
			f.to = c.place + uint64(from)
		case p.copied[at]:
			f.to = room.take(to - from)
		}
		if f.to != 0 {
			address = f.to
			t.fetch(f)
			t.columns += int64(f.rows) * rowBytes
		}
		p.addresses[window*len(p.columns)+i] = address
	}
}

// keepParts writes the parts of columns to pinned memory. It returns why it cannot, or nil.
func (b *batch) keepParts() error {
	p := &b.windowed.parted
	var copies []partCopy
	var failed error
	scratch := 0
	for i := range p.columns {
		c := &p.columns[i]
		if c.lasts {
			if c.parts = p.kept.find(c.key); c.parts != nil {
				continue
			}
		}
		rows := b.partRows(c)
		var memory []byte
		if c.lasts {
			memory = p.kept.take(rows)
		}
		if kept := memory != nil; !kept {
			if scratch += rowBytes * int(rows); scratch > b.staging.size/2 && len(b.queries) > 1 {
				failed = errBatchFull
				break
			}
			taken, ok := b.scratch.take(rows)
			if !ok {
				failed = fmt.Errorf("gpuexec: the system pins no further %d bytes of main memory for length codes, accepted documents or ranks", rowBytes*int(rows))
				break
			}
			memory = taken.Bytes()
			c.lasts = false
		}
		copies = b.layParts(c, memory, copies)
	}
	share(runtime.GOMAXPROCS(0), len(copies), 1, func(_, from, to int) {
		for _, m := range copies[from:to] {
			copy(m.to, m.from)
		}
	})
	for i := range p.columns { // not before they are written: another batch may find them
		if c := &p.columns[i]; c.lasts && c.parts != nil {
			p.kept.parts[c.key] = c.parts
		}
	}
	return failed
}

// A partCopy is the values of a part and where they go.
type partCopy struct{ to, from []byte }

// partRows is how many rows the parts of a column take.
func (b *batch) partRows(c *partedColumn) (rows uint32) {
	for window := range b.windowed.needs {
		from, to := b.part(c, window)
		rows += uint32(wholeRows(to-from) / rowBytes)
	}
	return rows
}

// layParts divides memory among the parts of a column.
func (b *batch) layParts(c *partedColumn, memory []byte, copies []partCopy) []partCopy {
	c.parts = make([]uint64, len(b.windowed.needs))
	for window := range c.parts {
		if from, to := b.part(c, window); from < to {
			c.parts[window] = uint64(uintptr(unsafe.Pointer(&memory[0])))
			copies = append(copies, partCopy{memory, c.values[from:to]})
			memory = memory[wholeRows(to-from):]
		}
	}
	return copies
}

// keptColumns are columns in parts that the host keeps: length codes and ranks of segments. Accepted
// documents are written for each batch, since there are ever new ones. Executor.mu guards it.
type keptColumns struct {
	memory pinnedPool
	parts  map[columnKey][]uint64 // addresses, by window. A key keeps its column alive.
	age    int                    // columns that asked for memory since the last start from empty
	worn   atomic.Bool            // a column found no room, and the others have been there for long
}

// keptShare is the share of Options.HostBytes that columns may take in addition. A list has a hundred
// bytes and more for each document.
const keptShare = 8

// renew starts from empty if the memory has been full for a while. No batch may hold using.
func (k *keptColumns) renew(using *sync.RWMutex) {
	if !k.worn.Load() {
		return
	}
	using.Lock()
	defer using.Unlock()
	if k.worn.Swap(false) {
		k.memory.empty()
		k.parts, k.age = nil, 0
	}
}

// find returns the parts of a column, or nil.
func (k *keptColumns) find(key columnKey) []uint64 {
	if k.parts == nil {
		k.parts = map[columnKey][]uint64{}
	}
	return k.parts[key]
}

// take returns memory for that many rows, or nil if there is none.
func (k *keptColumns) take(rows uint32) []byte {
	k.age++
	memory := k.memory.take(rows)
	if memory == nil && k.age > tablesAge && len(k.parts) > 0 {
		k.worn.Store(true)
	}
	return memory
}
