package gpuexec

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/riffle-search/riffle/postings"
)

// A record is what a batch needs of a list in one window (kernels/layout.cuh, Slice): bounds of
// strips and levels of their cells, a directory of blocks, and the blocks. The host writes the
// records of a list once, when a batch first has it, to pinned memory that kernels read directly.
type record struct {
	// In the host's memory or, for a list without a key, in a batch's memory on the device.
	address    uint64
	rows       uint32
	blocks     uint32
	blockSize  uint32
	lastSize   uint32 // postings of the last block
	strips     uint32 // that have postings, of a packed record
	heads      uint32 // rows of all parts before the blocks
	bounds     uint32 // of these, rows of bounds, of levels of cells, or of what a packed record has
	spread     uint32 // bytes that bounds take once they are spread out; 0 if the record is not packed
	flat       flatLayout
	place      uint64 // on the device, valid in generation
	generation uint64 // of residents
	slot       int    // and the batch that copies it to that place
	batch      uint64
}

// keptList is a list as records, by window. Records without blocks have no rows.
type keptList struct {
	generation uint64 // of records
	windows    []record

	// The records of the list before, which may be on the device: the same ones, written again, or those
	// of its last version. Executor.mu guards it.
	former *keptList
	again  bool // they are the same
}

// records are the records of lists that the host keeps. Their memory is bounded, and pinned as it
// is needed. When it is used up, all are dropped from time to time and written anew.
type records struct {
	// Batches under way hold using for reading.
	using sync.RWMutex

	mu         sync.Mutex // guards what follows
	memory     pinnedPool
	generation uint64
	full       bool // a list found no room
	age        int  // batches since the last start from empty
}

// chunkBytes is how much memory is pinned at a time.
const chunkBytes = 64 << 20

// begin is called before a batch, which calls end when it is done.
func (r *records) begin() {
	r.mu.Lock()
	r.age++
	worn := r.full && r.age > tablesAge
	r.mu.Unlock()
	if worn {
		r.using.Lock()
		r.mu.Lock()
		if r.full && r.age > tablesAge {
			r.memory.empty()
			r.full, r.age = false, 0
			r.generation++
		}
		r.mu.Unlock()
		r.using.Unlock()
	}
	r.using.RLock()
}

func (r *records) end() { r.using.RUnlock() }

// unused reports whether no batch has begun.
func (r *records) unused() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.age == 0 && r.generation == 0
}

// keep writes the records of those lists of a batch that are not kept yet. It reports false if one
// is damaged.
func (r *records) keep(b *batch) (sound bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*recordWriter
	for i := range b.lists.entries {
		e := &b.lists.entries[i]
		k := e.known
		if k.key == 0 {
			continue
		}
		if e.kept = k.kept; e.kept != nil && e.kept.generation == r.generation {
			continue
		}
		w := &recordWriter{shape: b.shape, term: e.term, docs: e.docs, kept: r.following(k)}
		w.measure()
		for i := range w.kept.windows {
			to := r.memory.take(w.kept.windows[i].rows)
			if to == nil {
				w.kept = nil
				break
			}
			w.to = append(w.to, to)
		}
		if w.kept == nil {
			r.full = true // it travels with each batch
			e.kept = nil
			continue
		}
		k.kept, e.kept = w.kept, w.kept
		all = append(all, w)
	}
	share(runtime.GOMAXPROCS(0), len(all), 1, func(_, from, to int) {
		for _, w := range all[from:to] {
			w.err = w.write()
		}
	})
	sound = true
	for _, w := range all {
		if w.err != nil {
			w.kept.generation = ^uint64(0) // the next use writes it anew, and detects the damage
			sound = false
		}
	}
	return sound
}

// following returns what becomes the records of a list.
func (r *records) following(k *knownList) *keptList {
	next := &keptList{generation: r.generation, former: k.kept, again: k.kept != nil}
	if last := k.before.Load(); last != nil && k.kept == nil {
		next.former = last.kept
	}
	return next
}

// A recordWriter writes the records of one list.
type recordWriter struct {
	shape Shape
	term  *term
	docs  uint32 // of the segment
	kept  *keptList
	to    [][]byte // memory of each record
	from  []int    // the first block of each
	err   error
}

// measure computes the sizes of records.
func (w *recordWriter) measure() {
	l := w.term.List
	l.Need(0, l.Blocks())
	width := w.shape.windowDocs()
	windows := int((uint64(w.docs) + uint64(width) - 1) / uint64(width))
	w.kept.windows = make([]record, windows)
	w.from = make([]int, windows)
	block := 0
	for i := range windows {
		lo, hi := uint64(i)*uint64(width), uint64(i+1)*uint64(width)
		block = l.Seek(block, uint32(lo))
		w.from[i] = block
		if block == l.Blocks() || block > 0 && uint64(l.Last[block-1])+1 >= hi {
			continue
		}
		end := l.Blocks()
		if hi <= uint64(l.Last[end-1]) {
			end = l.Seek(block, uint32(hi)) + 1
		}
		if end-1 > block && uint64(l.Last[end-2])+1 >= hi {
			end-- // it begins after the window
		}
		r := &w.kept.windows[i]
		r.blocks, r.blockSize, r.lastSize = uint32(end-block), uint32(l.BlockSize), uint32(l.BlockLen(end-1))
		r.strips = w.shape.windowTiles(w.docs, i) * tileStrips
		payload := l.Off[end-1] + uint32(l.Enc[end-1].Rows(l.BlockLen(end-1))) - l.Off[block]
		tiles := w.shape.windowTiles(w.docs, i)
		r.lay(w.shape, tiles)
		r.flat = w.shape.flatLayout(r.blocks*r.blockSize, tiles)
		r.rows = r.heads + payload
	}
}

// packedShare: a record is packed if its list has fewer than one posting for this many documents of
// the window. Then a third of the strips or more are empty, and few have several postings.
const packedShare = 128

// recordLayout has the offsets of the parts of a record in bytes. Bounds are at 0, or the bits of
// strips if it is packed.
type recordLayout struct {
	packed                    bool
	ofStrips                  int // if it is packed
	levels                    int // otherwise
	last, row, encoding, rows int
}

// recordParts lays out a record in a window of so many tiles.
func (s Shape) recordParts(r *record, tiles uint32) (p recordLayout) {
	count := int(r.blocks * r.blockSize)
	if strips := int(tiles) * tileStrips; count*packedShare < int(tiles)<<s.TileShift {
		p.packed, p.ofStrips = true, wholeRows(4*int(tiles))
		p.last = p.ofStrips + wholeRows(2*int(r.strips))
	} else {
		p.levels, p.last = strips, 3*strips
	}
	p.row = p.last + wholeRows(4*int(r.blocks+1))
	p.encoding = p.row + wholeRows(4*int((r.blocks+sliceUnit-1)/sliceUnit))
	p.rows = p.encoding + wholeRows(2*int(r.blocks))
	return p
}

// lay lays out the record, and takes note of what batches need to know of that. Bounds and levels of a
// packed record are spread out by kernels; those of others are used where they are.
func (r *record) lay(s Shape, tiles uint32) recordLayout {
	p := s.recordParts(r, tiles)
	r.heads, r.bounds, r.spread = uint32(p.rows/rowBytes), uint32(p.last/rowBytes), 0
	if p.packed {
		r.spread = uint32(3 * tiles * tileStrips)
	}
	return p
}

// write writes all records to their known places.
func (w *recordWriter) write() error {
	cells := make([]uint8, int(w.shape.tiles(w.docs))*tileStrips*stripCells)
	if err := w.bound(cells); err != nil {
		return err
	}
	of := boundStrips(cells)
	for i := range w.kept.windows {
		if r := &w.kept.windows[i]; r.rows > 0 {
			r.address = uint64(uintptr(unsafe.Pointer(&w.to[i][0])))
			if err := w.writeRecord(w.to[i], r, i, of); err != nil {
				return err
			}
		}
	}
	return nil
}

// bound computes the bounds of cells, as in kernels/flat.cuh. It decodes all blocks for this:
// kernels trust what they read, so no damaged byte may reach them.
func (w *recordWriter) bound(cells []uint8) error {
	var docs, freqs [postings.BlockSize]uint32
	t := w.term
	shift := w.shape.TileShift - 8
	for b := range t.List.Blocks() {
		n, err := t.List.Docs(b, &docs)
		if err == nil {
			_, err = t.List.Freqs(b, &freqs)
		}
		if err != nil {
			return err
		}
		for i, doc := range docs[:n] {
			code := uint8(1)
			if t.Norms != nil {
				code = t.Norms[doc]
			}
			cell := doc >> shift
			if int(cell) >= len(cells) {
				return fmt.Errorf("gpuexec: block %d of a list names document %d, of %d", b, doc, w.docs)
			}
			cells[cell] = max(cells[cell], boundByte(t.Table.Impact(freqs[i], code)))
		}
	}
	return nil
}

// stripBounds are the bounds of the strips of a list, and the levels of their cells, two bits each
// (kernels/levels.cuh).
type stripBounds struct {
	bounds []uint8
	levels []uint16
}

// boundStrips computes them from the bounds of cells.
func boundStrips(cells []uint8) stripBounds {
	strips := len(cells) / stripCells
	b := stripBounds{make([]uint8, strips), make([]uint16, strips)}
	for strip := range strips {
		of := cells[strip*stripCells:][:stripCells]
		highest := slices.Max(of)
		b.bounds[strip] = highest
		for i, bound := range of {
			b.levels[strip] |= levelOf(bound, highest) << (2 * i)
		}
	}
	return b
}

// cellsThere are the cells with postings, a bit each, given the levels of a strip's cells.
func cellsThere(levels uint16) (there uint16) {
	for i := range stripCells {
		if levels>>(2*i)&3 != 0 {
			there |= 1 << i
		}
	}
	return there
}

// levelOf is the level of a cell in a strip with the bound highest: the lowest with a bound that
// reaches that of the cell.
func levelOf(bound, highest uint8) uint16 {
	switch b, h := int(bound), int(highest); {
	case b > h*29/32:
		return 3
	case b > h*26/32:
		return 2
	case b > 0:
		return 1
	}
	return 0
}

// boundByte is bound_byte of kernels/flat.cuh.
func boundByte(impact uint16) uint8 { return uint8(max(1, (uint32(impact)+256)/257)) }

// countStrips counts strips with postings.
func (b stripBounds) countStrips() (n uint32) {
	for _, bound := range b.bounds {
		if bound > 0 {
			n++
		}
	}
	return n
}

// writePacked writes the bits of strips with postings, and what is known of each of these.
func (b stripBounds) writePacked(there []uint32, ofStrips []uint16) {
	n := 0
	for strip, bound := range b.bounds {
		if bound > 0 {
			there[strip/tileStrips] |= 1 << (strip % tileStrips)
			ofStrips[n] = uint16(bound) | cellsThere(b.levels[strip])<<8
			n++
		}
	}
}

// writeRecord writes the record of a window.
func (w *recordWriter) writeRecord(to []byte, r *record, window int, of stripBounds) error {
	l, first := w.term.List, w.from[window]
	l.Need(first, first+int(r.blocks))
	tiles := w.shape.windowTiles(w.docs, window)
	from, strips := window*w.shape.WindowTiles*tileStrips, int(tiles)*tileStrips
	of.bounds, of.levels = of.bounds[from:][:strips], of.levels[from:][:strips]
	// Until now any strip might have a posting.
	payload := r.rows - r.heads
	r.strips = of.countStrips()
	p := r.lay(w.shape, tiles)
	r.rows = r.heads + payload
	clear(to[:p.rows])
	if p.packed {
		of.writePacked(unsafe.Slice(view[uint32](to), tiles), unsafe.Slice(view[uint16](to[p.ofStrips:]), (p.last-p.ofStrips)/2))
	} else {
		copy(to, of.bounds)
		copy(unsafe.Slice(view[uint16](to[p.levels:]), strips), of.levels)
	}
	last := unsafe.Slice(view[uint32](to[p.last:]), r.blocks+1)
	rows := unsafe.Slice(view[uint32](to[p.row:]), (r.blocks+sliceUnit-1)/sliceUnit)
	encodings := unsafe.Slice(view[uint16](to[p.encoding:]), r.blocks)
	last[0] = ^uint32(0)
	if first > 0 {
		last[0] = l.Last[first-1]
	}
	copy(last[1:], l.Last[first:])
	for i := range encodings {
		b := first + i
		encodings[i] = uint16(l.Enc[b])
		row := l.Off[b] - l.Off[first]
		if i%sliceUnit == 0 {
			rows[i/sliceUnit] = row
		}
		payload, err := l.Payload(b)
		if err != nil {
			return err
		}
		copy(to[p.rows+rowBytes*int(row):], payload)
	}
	return nil
}

// putRecords adds the records of a list that the host does not keep to the batch. It returns nil if
// the list is damaged.
func (b *batch) putRecords(e *listEntry) *keptList {
	w := &recordWriter{shape: b.shape, term: e.term, docs: e.docs, kept: new(keptList)}
	w.measure()
	addresses := make([]uint64, len(w.kept.windows))
	for i := range w.kept.windows {
		memory, address := put[[rowBytes]byte](&b.staging, int(w.kept.windows[i].rows))
		addresses[i] = address
		w.to = append(w.to, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(memory))), rowBytes*len(memory)))
	}
	if w.write() != nil {
		return nil
	}
	for i := range w.kept.windows {
		w.kept.windows[i].address = addresses[i]
	}
	return w.kept
}
