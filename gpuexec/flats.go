package gpuexec

import "sync"

// flats are lists as flat postings (kernels/flat.cuh) that stay on the device. A list is made flat
// when it is fully resident and recurs. A kernel does this after those of the batch, for later
// batches. The list stays flat when the cache evicts its blocks, which queries by strips do not
// need: only other queries request them from the cache. When the memory is full, all flat lists are
// dropped from time to time, and made anew.
type flats struct {
	address    uint64 // of the part of the arena
	rows       uint32
	used       uint32
	generation uint64 // of the current contents
	full       bool   // one found no room
	age        int    // batches since the last start from empty
	cleared    uint64 // knownLists.cleared at that start

	keys sync.Map // of the current contents, for Executor.Resident
}

// flatShare: a list is made flat when it has a posting in this many strips or fewer. A shorter one
// has few blocks, which are as fast.
const flatShare = 256

// Flat postings have 16 bits of a document, and a tile has 256 cells. These bound a tile's shift.
const minFlatTile, maxFlatTile = 8, 16

// begin is called before a batch is filled. cleared is how often all known lists were forgotten,
// and with them where their flat postings are.
func (f *flats) begin(cleared uint64) {
	if f.age++; f.full && f.age > tablesAge || f.cleared != cleared {
		f.forget()
	}
	f.cleared = cleared
}

// forget drops everything.
func (f *flats) forget() {
	f.used, f.full, f.age = 0, false, 0
	f.generation++
	f.keys.Clear()
}

// has reports whether the flat postings of a list are resident.
func (f *flats) has(k *knownList) bool { return k.flat != 0 && k.flatGeneration == f.generation }

// had reports whether they were resident when a batch last had the list. It needs no lock.
func (f *flats) had(k *knownList) bool { return k.wasFlat.Load() }

// worth reports whether a list, in a segment of the given number of tiles, is long enough.
func (f *flats) worth(k *knownList, tiles uint32) bool {
	return uint64(k.count)*flatShare >= uint64(tiles)*tileStrips
}

// denseShare: a list with a posting for so many documents or fewer is dense. It also has a bit for
// each document, for counts (kernels/dense.cuh), in at most a quarter of its postings' bytes. On
// GOV2's shape dense lists have 77 % of the postings of queries.
const denseShare = 8

// isDense reports whether a list of count postings is dense, in a segment of the given number of tiles.
func (s Shape) isDense(count, tiles uint32) bool {
	return uint64(count)*denseShare >= uint64(tiles)<<s.TileShift
}

// A flatLayout has the byte offsets of the parts of a flat list, which begins with the postings.
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
	bytes := l.bound + uint64(tiles)*tileStrips + cells
	if s.isDense(count, tiles) {
		bytes += uint64(tiles) << s.TileShift / 8
	}
	l.rows = uint32(bytes / rowBytes)
	return l
}

// take gives a list a place, if there is room. The version of a list before gives its place to the
// next: batches that read it are on the stream before the kernel that writes there.
func (f *flats) take(k *knownList, rows uint32) bool {
	if last := k.before.Load(); last != nil && last.count == k.count && f.has(last) {
		k.flat, k.flatGeneration = last.flat, f.generation
		last.flat = 0
		f.keys.Store(k.key, nil)
		return true
	}
	if rows > f.rows-f.used {
		f.full = f.full || rows <= f.rows
		return false
	}
	k.flat, k.flatGeneration = f.address+uint64(f.used)*rowBytes, f.generation
	f.used += rows
	f.keys.Store(k.key, nil)
	return true
}

// drop takes a list's place back before its postings were written.
func (f *flats) drop(k *knownList) {
	k.flat = 0
	f.keys.Delete(k.key)
}

// flattenings are the lists that a batch makes flat.
type flattenings struct {
	flats   *flats
	structs []devFlattening
	renewed []devFlattening // before it is scored (renew.go); the others are made for later batches
	lists   []*knownList    // of both
}

func (f *flattenings) begin() {
	f.structs, f.renewed, f.lists = f.structs[:0], f.renewed[:0], f.lists[:0]
}

// add schedules a fully resident list to be made flat, if it is not yet flat and is worth it.
func (f *flattenings) add(e *listEntry, shape Shape) {
	k := e.known
	if k.key == 0 || shape.TileShift < minFlatTile || shape.TileShift > maxFlatTile || f.flats.has(k) || !f.flats.worth(k, e.tiles) {
		return
	}
	if l := shape.flatLayout(k.count, e.tiles); f.flats.take(k, l.rows) {
		f.lists = append(f.lists, k)
		f.structs = append(f.structs, l.flattening(e))
	}
}

// flattening is the struct that makes a list flat at its place.
func (l *flatLayout) flattening(e *listEntry) devFlattening {
	at := e.known.flat
	return devFlattening{list: e.address, flat: at, first: at + l.first, bound: at + l.bound, shift: l.shift, entries: l.entries}
}

// drop takes back the places of the lists to be made flat: no kernel of the batch runs.
func (f *flattenings) drop() {
	for _, k := range f.lists {
		f.flats.drop(k)
	}
	f.structs, f.renewed = f.structs[:0], f.renewed[:0]
}

// putFlats writes the addresses of flat postings into the structs of their lists.
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
