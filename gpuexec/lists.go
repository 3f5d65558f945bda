package gpuexec

import (
	"slices"
	"unsafe"

	"github.com/riffle-search/riffle/gpuexec/listcache"
	"github.com/riffle-search/riffle/postings"
)

const (
	extentBlocks = postings.ExtentBlocks
	headRows     = 320 / rowBytes // of a devHead
)

// lists are the posting lists of a batch, each once, however many queries have it.
type lists struct {
	slot   int    // of the executor
	batch  uint64 // number of the batch
	known  *knownLists
	tables *tables
	cache  *listcache.Cache

	entries []listEntry
	structs []devList // of entries, on their way to the device
	extents int       // of all lists
	spared  bool      // some extents are not resident because they do not matter
	doubts  []doubt
	finders []finder
	words   []uint64 // memory of listEntry.wanted
	needs   []listcache.Need
	placed  listcache.Batch

	lose func(extent int) bool // for tests: extents to treat as missing
}

// A listEntry is a list of a batch.
type listEntry struct {
	known   *knownList
	term    *term  // one that has it
	address uint64 // of its devList
	queries int
	tiles   uint32
	read    bool     // whether its blocks are read by queries, which takes a directory of tiles
	renewed bool     // whether they are made flat before queries read these postings
	docs    uint32   // of the segment
	wanted  []uint64 // the extents that matter, unless all do
	all     bool
	spared  bool // not all extents are resident, since the others do not matter
	kept    *keptList
}

// placed reports whether its blocks are on the device while the batch runs, as far as they matter.
func (e *listEntry) placed() bool { return e.read || e.renewed }

func (l *lists) begin() {
	l.batch++
	l.entries, l.doubts, l.words = l.entries[:0], l.doubts[:0], l.words[:0]
	l.extents, l.spared = 0, false
}

// forget drops references to the caller's data.
func (l *lists) forget() {
	clear(l.entries)
}

// add returns the number of the list of a term in a segment of the given documents and tiles.
func (l *lists) add(k *knownList, t *term, docs, tiles uint32) int {
	in := &k.in[l.slot]
	if in.batch != l.batch {
		*in = place{l.batch, len(l.entries)}
		l.entries = append(l.entries, listEntry{known: k, term: t, docs: docs, tiles: tiles})
		l.extents += len(k.extents)
	}
	e := &l.entries[in.entry]
	if docs > e.docs { // of a segment in memory that has grown, by less than a tile
		e.term, e.docs = t, docs
	}
	e.queries++
	return in.entry
}

// extents is how many extents a list has.
func extents(l *postings.List) int { return (l.Blocks() + extentBlocks - 1) / extentBlocks }

// put makes the device's structs of all lists, except for the addresses of extents, which putTables
// fills in. tables and norms return the addresses of a term's table and length codes.
func (l *lists) put(s *staging, arena uint64, tables, norms func(*term, uint32) uint64) (address uint64, blocks int, bounds span) {
	l.structs, address = put[devList](s, len(l.entries))
	for i := range l.entries {
		if l.entries[i].read {
			bounds.bytes += wholeRows(4 * int(l.entries[i].tiles))
		}
	}
	bounds.address = s.keep(bounds.bytes)
	tileBound := bounds.address
	for i := range l.entries {
		e := &l.entries[i]
		k := e.known
		e.address = address + uint64(i)*uint64(unsafe.Sizeof(devList{}))
		l.structs[i] = devList{
			arena: arena, table: tables(e.term, e.docs), norms: norms(e.term, e.docs),
			count: k.count, blockSize: k.blockSize, blocks: k.blocks,
			highest: k.highest, tiles: e.tiles, firstBlock: uint32(blocks),
		}
		if !e.read {
			continue
		}
		l.structs[i].tileFirst, l.structs[i].tileBound = s.keep(4*int(e.tiles+1)), tileBound
		if k.blocks < e.tiles {
			l.structs[i].sparse = 1
		}
		blocks += int(k.blocks)
		tileBound += uint64(wholeRows(4 * int(e.tiles)))
	}
	return address, blocks, bounds
}

// ask makes the needs of the batch. Lists whose blocks are not read get an empty need. rest lets
// the cache also bring what no query wants, where there is room.
func (l *lists) ask(leave, rest bool) {
	l.needs = slices.Grow(l.needs[:0], len(l.entries))[:len(l.entries)]
	for i := range l.entries {
		e := &l.entries[i]
		n := &l.needs[i]
		if !e.placed() {
			*n = listcache.Need{}
			continue
		}
		*n = listcache.Need{
			Key: e.known.key, Version: e.known.version.bounds, Queries: e.queries, Leave: leave && e.known.key != 0, Rest: rest,
			Head: e.known.heads, Extents: e.known.extents,
		}
		if !e.all {
			n.Wanted = e.wanted
		}
	}
}

// place asks the cache where everything lies. It writes the pieces that must be copied, which take
// the next rows of the staging, room bytes at most, and the tables of extents. It appends the
// device's moves, and reports whether all lists can be used: none is damaged, and all heads have a
// place.
func (l *lists) place(s *staging, cache *listcache.Cache, room int, moves []devMove, settled func(*listEntry)) (_ []devMove, usable bool) {
	region := listcache.Region{First: s.row + uint32(s.used/rowBytes), Rows: uint32(room / rowBytes)}
	cache.Place(l.needs, region, &l.placed)
	base := s.used
	s.used += int(l.placed.Rows) * rowBytes
	moves, usable = l.putTables(s, moves, settled)
	for i := range l.entries {
		if e := &l.entries[i]; e.placed() {
			e.known.whole.Store(l.placed.Lists[i].Serial != 0)
			usable = usable && (!e.renewed || l.placed.Lists[i].Complete)
		}
	}
	if len(l.placed.Copies) > 0 {
		for _, key := range l.writePieces(s.host[base:], region.First) {
			usable = false
			cache.Drop(func(k uint64) bool { return k == key })
		}
	}
	for _, c := range l.placed.Copies {
		if c.Row != c.At {
			moves = append(moves, devMove{from: c.At, to: c.Row, rows: c.Rows})
		}
	}
	return moves, usable
}
