package gpuexec

import "sync"

// flats are lists as flat postings (kernels/flat.cuh) that stay on the device. A list becomes flat when it is there whole and comes
// again, by a kernel behind those of the batch, for the batches that follow; it stays so when the cache lets go of its blocks,
// which no query needs that goes by strips: only for others is the cache asked. When there is no more room, all are given up, now
// and then, and made anew.
type flats struct {
	address    uint64 // of the part of the arena
	rows       uint32
	used       uint32
	generation uint64 // of those that are there
	full       bool   // one has found no room
	age        int    // batches since it began anew
	cleared    uint64 // knownLists.cleared, when it last began

	keys sync.Map // of those that are there, for Executor.Resident
}

// flatShare: a list is made flat when it has a posting in this many strips or fewer. Of shorter ones the few blocks are as good.
const flatShare = 256

// Flat postings have 16 bits of a document, and a tile has 256 cells: so small and so large it may be, by its shift.
const minFlatTile, maxFlatTile = 8, 16

// Where a tile has fewer postings than this, what takes longest is going from tile to tile, and strips are
// best for up to so many hits.
const sparseTile, sparseK = 128, 100

// maxStripTerms is how many terms a part may have that goes by strips: one a lane.
const maxStripTerms = 32

// begin is called before a batch is filled, with how often all known lists were forgotten: where their flat postings are is
// forgotten with them.
func (f *flats) begin(cleared uint64) {
	if f.age++; f.full && f.age > tablesAge || f.cleared != cleared {
		f.forget()
	}
	f.cleared = cleared
}

// forget gives all up.
func (f *flats) forget() {
	f.used, f.full, f.age = 0, false, 0
	f.generation++
	f.keys.Clear()
}

// has reports whether the postings of a list are there.
func (f *flats) has(k *knownList) bool { return k.flat != 0 && k.flatGeneration == f.generation }

// had reports whether they were there when a batch last had the list. It needs no lock.
func (f *flats) had(k *knownList) bool { return k.wasFlat.Load() }

// worth reports whether a list, in a segment of so many tiles, is long enough.
func (f *flats) worth(k *knownList, tiles uint32) bool {
	return uint64(k.count)*flatShare >= uint64(tiles)*tileStrips
}

// A flatLayout says where the parts of a flat list are, in bytes from its beginning, where the postings are.
type flatLayout struct {
	shift, entries uint32 // of the directory
	first, bound   uint64
	rows           uint32
}

func (s Shape) flatLayout(count, tiles uint32) flatLayout {
	l := flatLayout{shift: s.TileShift, entries: tiles}
	if uint64(count) >= uint64(tiles)*tileStrips {
		l.shift, l.entries = s.TileShift-5, tiles*tileStrips
	}
	l.first = uint64(wholeRows(4 * int(count)))
	l.bound = l.first + uint64(wholeRows(4*int(l.entries+1)))
	cells := uint64(tiles) * tileStrips // bytes
	if l.shift < s.TileShift {
		cells *= stripCells
	}
	l.rows = uint32((l.bound + uint64(tiles)*tileStrips + cells) / rowBytes)
	return l
}

// take gives a list a place, if there is room.
func (f *flats) take(k *knownList, rows uint32) bool {
	if rows > f.rows-f.used {
		f.full = f.full || rows <= f.rows
		return false
	}
	k.flat, k.flatGeneration = f.address+uint64(f.used)*rowBytes, f.generation
	f.used += rows
	f.keys.Store(k.key, nil)
	return true
}

// drop gives up a list that has been given a place, but is not there.
func (f *flats) drop(k *knownList) {
	k.flat = 0
	f.keys.Delete(k.key)
}

// flattenings are the lists that a batch makes flat.
type flattenings struct {
	flats   *flats
	structs []devFlattening
	lists   []*knownList // of them
}

func (f *flattenings) begin() { f.structs, f.lists = f.structs[:0], f.lists[:0] }

// add has a list made flat that is on the device whole, if it is not, and worth it.
func (f *flattenings) add(e *listEntry, shape Shape) {
	k := e.known
	if k.key == 0 || shape.TileShift < minFlatTile || shape.TileShift > maxFlatTile || f.flats.has(k) || !f.flats.worth(k, e.tiles) {
		return
	}
	if l := shape.flatLayout(k.count, e.tiles); f.flats.take(k, l.rows) {
		f.lists = append(f.lists, k)
		f.structs = append(f.structs, devFlattening{
			list: e.address, flat: k.flat, first: k.flat + l.first, bound: k.flat + l.bound, shift: l.shift, entries: l.entries,
		})
	}
}

// drop gives up the lists that were to be made flat: no kernel of the batch runs.
func (f *flattenings) drop() {
	for _, k := range f.lists {
		f.flats.drop(k)
	}
	f.structs = f.structs[:0]
}

// putFlats has lists say where their flat postings are.
func (b *batch) putFlats() {
	for i := range b.lists.entries {
		e := &b.lists.entries[i]
		has := b.flat.flats.has(e.known)
		if has {
			b.putFlat(&b.lists.structs[i], e)
		}
		if e.known.wasFlat.Load() != has {
			e.known.wasFlat.Store(has)
		}
	}
}

func (b *batch) putFlat(d *devList, e *listEntry) {
	l := b.shape.flatLayout(e.known.count, e.tiles)
	d.flat, d.flatShift = e.known.flat, l.shift
	d.flatFirst, d.flatBound = d.flat+l.first, d.flat+l.bound
}

// chooseStrips finds the queries that go by strips: one of their lists is flat, those that are not are short, and there are many postings
// for each hit. Of flat lists that only they have, nobody reads blocks.
func (b *batch) chooseStrips() {
	for i := range b.queries {
		b.queries[i].byStrips = b.goesByStrips(&b.queries[i])
	}
	for i := range b.parts {
		pt := &b.parts[i]
		strips, expected := b.queries[pt.query].byStrips, b.queries[pt.query].expected
		if strips && pt.way == byLeadBlocks {
			pt.way = byAndTiles
		}
		for _, t := range b.terms[pt.from:pt.to] {
			if e := &b.lists.entries[t.entry]; !strips || !b.flat.flats.has(e.known) {
				e.read = true
				e.all = e.all || expected // nobody has found out which extents matter
			}
		}
	}
}

func (b *batch) goesByStrips(q *query) bool { return b.wouldGoByStrips(q, (*flats).has) }

// wouldGoByStrips reports whether a query goes by strips when those lists are flat that has reports.
func (b *batch) wouldGoByStrips(q *query, has func(*flats, *knownList) bool) bool {
	if !b.algorithm.byStrips() {
		return false
	}
	flat, postings, tiles := false, 0, 0
	for _, pt := range b.parts[q.from:q.to] {
		if pt.from < pt.to {
			tiles += int(b.lists.entries[b.terms[pt.from].entry].tiles)
		}
		if pt.to-pt.from > maxStripTerms {
			return false
		}
		for _, t := range b.terms[pt.from:pt.to] {
			e := &b.lists.entries[t.entry]
			postings += int(e.known.count)
			switch {
			case has(b.flat.flats, e.known):
				flat = true
			case b.flat.flats.worth(e.known, e.tiles):
				return false
			}
		}
	}
	sparse := postings < sparseTile*tiles && q.plan.K <= sparseK
	return flat && (sparse || postings >= b.shape.StripPostings*q.plan.K)
}
