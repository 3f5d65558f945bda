package gpuexec

import (
	"hash/maphash"
	"slices"
	"unsafe"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/demand"
	"github.com/riffle-search/riffle/gpuexec/listcache"
	"github.com/riffle-search/riffle/postings"
)

const (
	extentBlocks = postings.ExtentBlocks
	headRows     = 320 / rowBytes // of a devHead
)

// lists are the posting lists of a batch, each once, however many queries have it.
type lists struct {
	entries []listEntry
	byTerm  map[listIdentity]int
	whole   map[uint64]bool // keys of lists that were on the device whole when they were last asked for
	finder  demand.Finder
	bits    [][]uint64 // scratch memory
	needs   []listcache.Need
	placed  listcache.Batch
	pieces  []uint32 // behind needs

	lose func(extent int) bool // of tests: extents that are to be missing
}

// A listIdentity tells lists apart, under one similarity.
type listIdentity struct {
	list   *postings.List
	bounds *blockmax.Bounds
}

type listEntry struct {
	term    *term
	extents []devExtent // on their way to the device
	address uint64      // of its devList
	queries int
	tiles   uint32
	docs    uint32   // of the segment
	wanted  []uint64 // the extents that matter, unless all do
	all     bool
	spared  bool // not all extents are on the device, since they do not matter
}

// forget lets go of the caller's data.
func (l *lists) forget() {
	clear(l.byTerm)
	clear(l.entries)
}

// add returns the number of the list of a term, whose segment has so many documents and tiles.
func (l *lists) add(t *term, docs, tiles uint32) int {
	if l.byTerm == nil {
		l.byTerm = map[listIdentity]int{}
	}
	id := listIdentity{t.List, t.Bounds}
	i, known := l.byTerm[id]
	if !known {
		i = len(l.entries)
		l.byTerm[id] = i
		l.entries = append(l.entries, listEntry{term: t, docs: docs, tiles: tiles})
	}
	l.entries[i].queries++
	return i
}

// extents is how many extents a list has.
func extents(l *postings.List) int { return (l.Blocks() + extentBlocks - 1) / extentBlocks }

// put makes the device's structs of all lists; where their extents lie is filled in by place. tables and norms are where
// those of a term are.
func (l *lists) put(s *staging, arena uint64, tables, norms func(*term, uint32) uint64) (address uint64, blocks int, bounds span) {
	structs, address := put[devList](s, len(l.entries))
	for i := range l.entries {
		bounds.bytes += wholeRows(4 * int(l.entries[i].tiles))
	}
	bounds.address = s.keep(bounds.bytes)
	tileBound := bounds.address
	for i := range l.entries {
		e := &l.entries[i]
		list := e.term.List
		e.address = address + uint64(i)*uint64(unsafe.Sizeof(structs[i]))
		structs[i] = devList{
			arena: arena, table: tables(e.term, e.docs), norms: norms(e.term, e.docs),
			tileFirst: s.keep(4 * int(e.tiles+1)), tileBound: tileBound,
			count: uint32(list.Count), blockSize: uint32(list.BlockSize), blocks: uint32(list.Blocks()),
			highest: uint32(e.term.Bounds.List), tiles: e.tiles, firstBlock: uint32(blocks),
		}
		if list.Blocks() < int(e.tiles) {
			structs[i].sparse = 1
		}
		e.extents, structs[i].extents = put[devExtent](s, extents(list))
		blocks += list.Blocks()
		tileBound += uint64(wholeRows(4 * int(e.tiles)))
	}
	return address, blocks, bounds
}

// want finds out which extents of the lists of a part matter: those with a block that can hold a document which
// scores need. Of lists that are on the device whole that would be of no use.
func (l *lists) want(p *Plan, pt *part, need uint32) {
	mode := blockmax.And
	if pt.way == byOrTiles {
		mode = blockmax.Or
	}
	all := p.CountAll || mode == blockmax.Or && need == 0
	if !all {
		all = true
		for _, i := range pt.lists {
			all = all && l.whole[l.entries[i].term.Key]
		}
	}
	if all {
		l.wantAll(pt)
		return
	}
	seg := &p.Segments[pt.segment]
	l.bits = slices.Grow(l.bits[:0], len(seg.Terms))[:len(seg.Terms)]
	for j, i := range pt.lists {
		e := &l.entries[i]
		if e.wanted == nil {
			e.wanted = make([]uint64, (extents(e.term.List)+63)/64)
		}
		l.bits[pt.terms[j]] = e.wanted
	}
	l.finder.Extents(p, pt.segment, mode, need, l.bits)
	clear(l.bits)
}

func (l *lists) wantAll(pt *part) {
	for _, i := range pt.lists {
		l.entries[i].all = true
	}
}

// noteWhole remembers which lists are on the device whole.
func (l *lists) noteWhole() {
	if l.whole == nil || len(l.whole) > wholeMost {
		l.whole = map[uint64]bool{}
	}
	for i := range l.entries {
		if key := l.entries[i].term.Key; key != 0 {
			l.whole[key] = l.placed.Lists[i].Serial != 0
		}
	}
}

// wholeMost bounds what is remembered of lists.
const wholeMost = 1 << 20

// ask makes the needs of the batch.
func (l *lists) ask(leave bool) (pieces int) {
	l.needs = l.needs[:0]
	total := 0
	for i := range l.entries {
		total += 2 * len(l.entries[i].extents)
	}
	if cap(l.pieces) < total {
		l.pieces = make([]uint32, total)
	}
	rest := l.pieces[:total]
	take := func(n int) []uint32 {
		taken := rest[:n:n]
		rest = rest[n:]
		return taken
	}
	for i := range l.entries {
		e := &l.entries[i]
		n := listcache.Need{
			Key: e.term.Key, Version: versionOf(e.term.Table), Queries: e.queries, Leave: leave && e.term.Key != 0,
			Head: take(len(e.extents)), Extents: take(len(e.extents)),
		}
		if !e.all {
			n.Wanted = e.wanted
		}
		for j := range n.Extents {
			n.Head[j] = headRows
			n.Extents[j] = extentRows(e.term.List, j)
		}
		l.needs = append(l.needs, n)
	}
	return total
}

var versionSeed = maphash.MakeSeed()

// versionOf is a number for the similarity that the bounds in a head belong to.
func versionOf(t *blockmax.Table) uint64 { return maphash.Comparable(versionSeed, t.Key()) }

// blocksOf is the first block of extent e, and the one behind its last.
func blocksOf(l *postings.List, e int) (from, to int) {
	return e * extentBlocks, min((e+1)*extentBlocks, l.Blocks())
}

// extentRows is how many rows the payload of extent e takes.
func extentRows(l *postings.List, e int) uint32 {
	from, to := blocksOf(l, e)
	return l.Off[to-1] + uint32(l.Enc[to-1].Rows(l.BlockLen(to-1))) - l.Off[from]
}

// place fills in where everything lies, and writes the pieces that must be copied, which take the next rows of
// the staging, room bytes at most. It adds what the device has to move, and returns the lists that cannot be used:
// those of which a head found no place, or that are damaged.
func (l *lists) place(s *staging, cache *listcache.Cache, room int, moves []devMove) (_ []devMove, bad []int) {
	region := listcache.Region{First: s.row + uint32(s.used/rowBytes), Rows: uint32(room / rowBytes)}
	cache.Place(l.needs, region, &l.placed)
	l.noteWhole()
	for i := range l.entries {
		if !l.entries[i].fill(&l.placed.Lists[i], l.lose) {
			bad = append(bad, i)
		}
	}
	base := s.used
	s.used += int(l.placed.Rows) * rowBytes
	for _, c := range l.placed.Copies {
		at := base + int(c.At-region.First)*rowBytes
		to := s.host[at : at+int(c.Rows)*rowBytes]
		e := &l.entries[c.List]
		if c.Piece < 0 {
			writeHead(to, e.term, int(-1-c.Piece))
		} else if err := writeExtent(to, e.term.List, int(c.Piece)); err != nil {
			bad = append(bad, int(c.List))
			cache.Drop(func(key uint64) bool { return key == e.term.Key })
		}
		if c.Row != c.At {
			moves = append(moves, devMove{from: c.At, to: c.Row, rows: c.Rows})
		}
	}
	return moves, bad
}

// fill says where the extents of the list are. It reports whether all heads are on the device.
func (e *listEntry) fill(p *listcache.Placed, lose func(int) bool) (usable bool) {
	usable = true
	for i := range e.extents {
		e.extents[i] = devExtent{
			last: e.term.List.ExtLast[i], head: p.Head[i], rows: p.Extents[i], bound: uint32(e.term.Bounds.Extent[i]),
		}
		usable = usable && p.Head[i] != listcache.Missing
		if p.Extents[i] == listcache.Missing && !e.all && e.wanted[i/64]>>(i%64)&1 == 0 {
			e.extents[i].rows, e.spared = unneededRow, true
			continue
		}
		if lose != nil && lose(i) {
			e.extents[i].rows = missingRow
		}
	}
	return usable
}

// writeHead writes the directory of extent e.
func writeHead(to []byte, t *term, e int) {
	h := view[devHead](to)
	*h = devHead{}
	l := t.List
	from, end := blocksOf(l, e)
	for b := from; b < end; b++ {
		i := b - from
		h.last[i] = l.Last[b]
		h.off[i] = uint16(l.Off[b] - l.Off[from])
		h.encoding[i] = uint16(l.Enc[b])
		h.bound[i] = t.Bounds.Block[b]
	}
}

// writeExtent writes the payload of extent e. Every block is decoded first: kernels trust what they read,
// so that no damaged byte may get as far.
func writeExtent(to []byte, l *postings.List, e int) error {
	from, end := blocksOf(l, e)
	var values [postings.BlockSize]uint32
	for b := from; b < end; b++ {
		if _, err := l.Docs(b, &values); err != nil {
			return err
		}
		if _, err := l.Freqs(b, &values); err != nil {
			return err
		}
		rows, err := l.Payload(b)
		if err != nil {
			return err
		}
		copy(to[rowBytes*int(l.Off[b]-l.Off[from]):], rows)
	}
	return nil
}
