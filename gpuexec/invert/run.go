package invert

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/segment"
)

// A run is one Sort. It has one copy of every array on the device, and two of those that a round or
// a pass rewrites.
type run struct {
	s     *Sorter
	cells int
	bytes int // of records
	args  devArgs
	steps device.Memory // room for the arguments of a batch of launches

	head, starts, out device.Memory
}

// maxRounds bounds the rounds of seven bytes each. A longer term that shares all those bytes with
// another is left to the CPU.
const maxRounds = 64

// reserve takes device memory for count elements.
func (r *run) reserve(err *error, count int, bytes int64) device.Memory {
	if *err != nil {
		return device.Memory{}
	}
	var m device.Memory
	m, *err = r.s.arena.take(int64(count) * bytes)
	return m
}

// upload copies the pieces to the device.
func (r *run) upload(pieces []segment.Piece) error {
	for _, p := range pieces {
		r.bytes += len(p.Records)
	}
	if r.bytes > r.s.Room() {
		return errNoRoom
	}
	r.s.arena = arena{memory: r.s.dev.Memory()}
	var err error
	r.steps = r.reserve(&err, maxSteps, argsBytes)
	records := r.reserve(&err, r.bytes, 1)
	table := r.reserve(&err, len(pieces), pieceBytes)
	r.args.pieceFirst = r.reserve(&err, len(pieces)+1, 4).Address
	r.starts = r.reserve(&err, r.cells, 4)
	if err != nil {
		return err
	}
	r.args.bytes, r.args.pieces, r.args.cellStart = records.Address, table.Address, r.starts.Address
	r.args.pieceCount = uint32(len(pieces))
	w := writer{s: r.s, to: records}
	for _, p := range pieces {
		if err := w.write(p.Records); err != nil {
			return err
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	w = writer{s: r.s, to: table, slab: w.slab}
	at := uint32(0)
	for _, p := range pieces {
		d := devPiece{from: at, bytes: uint32(len(p.Records)), base: p.Base, cell: p.Cell}
		if p.Positions {
			d.positions = 1
		}
		if err := w.write((*[pieceBytes]byte)(unsafe.Pointer(&d))[:]); err != nil {
			return err
		}
		at += d.bytes
	}
	return w.flush()
}

// split finds the records, and allocates what depends on their number.
func (r *run) split() error {
	var err error
	pieces := int(r.args.pieceCount)
	r.args.sums = r.reserve(&err, tilesOf(pieces), 4).Address
	if err != nil {
		return err
	}
	n, err := r.do(r.args.pieceFirst+4*uint64(pieces), append(
		[]step{{r.args, []launch{{"count_records", blocksFor(pieces)}}}}, r.scan(r.args.pieceFirst, pieces))...)
	if err != nil {
		return err
	}
	r.args.recordCount = n
	if err := r.reserveRecords(int(n)); err != nil {
		return err
	}
	_, err = r.do(0, step{r.args, []launch{{"split_records", blocksFor(pieces)}}})
	return err
}

func (r *run) reserveRecords(n int) error {
	var err error
	a := &r.args
	a.records = r.reserve(&err, n, recordBytes).Address
	a.from, a.to = r.reserve(&err, n, entryBytes).Address, r.reserve(&err, n, entryBytes).Address
	a.slots, a.nextSlots = r.reserve(&err, n, 4).Address, r.reserve(&err, n, 4).Address
	a.order = r.reserve(&err, n, 4).Address
	r.head = r.reserve(&err, n, 4)
	a.head = r.head.Address
	a.differs, a.keep = r.reserve(&err, n+1, 4).Address, r.reserve(&err, n+1, 4).Address
	a.values = r.reserve(&err, tilesOf(n)*digits+1, 4).Address
	a.sums = r.reserve(&err, max(tilesOf(n), tilesOf(tilesOf(n)*digits)), 4).Address
	return err
}

// sort puts the records in order, round by round.
func (r *run) sort() error {
	if err := r.s.dev.Do(func(q *device.Queue) { q.Fill(r.s.stream, r.head, 0) }); err != nil {
		return err
	}
	a := &r.args
	a.count = a.recordCount
	groupBits := bits.Len(uint(r.cells - 1))
	for round := 0; a.count > 0; round++ {
		if round == maxRounds {
			return fmt.Errorf("gpu: %d terms of more than %d bytes begin alike", a.count, maxRounds*keyBytes)
		}
		n := int(a.count)
		a.depth = uint32(round * keyBytes)
		steps := []step{{*a, []launch{{"make_keys", blocksFor(n)}}}}
		for a.pass = 0; a.pass < 8+uint32(groupBits+7)/8; a.pass++ {
			steps = append(steps, r.pass())
			a.from, a.to = a.to, a.from
		}
		steps = append(steps, step{*a, []launch{{"mark_groups", blocksFor(n)}}},
			r.scan(a.differs, n), r.scan(a.keep, n), step{*a, []launch{{"keep_entries", blocksFor(n)}}})
		left, err := r.do(a.keep+4*uint64(n), steps...)
		if err != nil {
			return err
		}
		a.from, a.to = a.to, a.from
		a.slots, a.nextSlots = a.nextSlots, a.slots
		a.count = left
		groupBits = bits.Len(uint(n)) // groups of this round, including finished ones
	}
	return nil
}

// mostWarps is how many B-trees grow at a time.
const mostWarps = 8192

// trees puts the records in order by a B-tree for each cell and first three bytes.
func (r *run) trees() error {
	a := &r.args
	n := int(a.recordCount)
	blocks := min(max(n/256, 1), mostWarps*32/threads) // each warp has a node of its own
	var err error
	a.nodes = r.reserve(&err, n/8+blocks*threads/32, nodeBytes).Address
	a.chains = r.reserve(&err, n, chainBytes).Address
	next := r.reserve(&err, 1, 4)
	if err != nil {
		return err
	}
	a.nextCollection = next.Address
	if err := r.s.dev.Do(func(q *device.Queue) { q.Fill(r.s.stream, next, 0) }); err != nil {
		return err
	}
	a.count = a.recordCount
	steps := []step{{*a, []launch{{"make_keys", blocksFor(n)}}}}
	for a.pass = 5; a.pass < 8+uint32(bits.Len(uint(r.cells-1))+7)/8; a.pass++ {
		steps = append(steps, r.pass())
		a.from, a.to = a.to, a.from
	}
	steps = append(steps, step{*a, []launch{{"mark_collections", blocksFor(n)}}},
		r.scan(a.differs, n), step{*a, []launch{{"list_collections", blocksFor(n)}}})
	if a.collectionCount, err = r.do(a.differs+4*uint64(n), steps...); err != nil {
		return err
	}
	_, err = r.do(0, step{*a, []launch{{"grow_trees", blocks}}})
	return err
}

// gather writes the resulting records.
func (r *run) gather() error {
	a := &r.args
	a.whole, a.size, a.placeSize = a.from, a.differs, a.keep // sorting is done with them
	a.begins, a.ends = a.slots, a.nextSlots
	n := int(a.recordCount)
	bytes, err := r.do(a.size+4*uint64(n), step{*a, []launch{{"measure_records", blocksFor(n)}}}, r.scan(a.size, n))
	if err != nil {
		return err
	}
	placeBytes, err := r.do(a.placeSize+4*uint64(n), r.scan(a.placeSize, n))
	if err != nil {
		return err
	}
	r.out = r.reserve(&err, int(bytes)+int(placeBytes), 1)
	if err != nil {
		return err
	}
	a.out = r.out.Address
	if err := r.s.dev.Do(func(q *device.Queue) { q.Fill(r.s.stream, r.starts, 0xff) }); err != nil {
		return err
	}
	_, err = r.do(0, step{*a, []launch{{"gather_records", blocksFor(32 * n)}}})
	return err
}

// download returns the records of each cell.
func (r *run) download() ([][]byte, error) {
	starts, err := r.s.read(r.starts)
	if err != nil {
		return nil, err
	}
	out, err := r.s.read(r.out)
	if err != nil {
		return nil, err
	}
	cells := make([][]byte, r.cells)
	end := len(out)
	for c := r.cells - 1; c >= 0; c-- {
		if start := binary.LittleEndian.Uint32(starts[4*c:]); start != none {
			cells[c] = out[start:end:end]
			end = int(start)
		}
	}
	return cells, nil
}

// none marks the start of the records of a cell that has none.
const none = ^uint32(0)
