package gpuexec

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// A knownList is what is remembered of a list from batch to batch: all that a batch needs, unless something of the list must be
// copied. So the list itself, whose directory is in no processor's cache, is not looked at, nor kept alive.
type knownList struct {
	key     uint64 // blockmax.Term.Key
	version uint64 // of its bounds

	count, blockSize, blocks uint32   // of postings.List
	highest                  uint32   // impact
	last                     uint32   // document
	heads, extents           []uint32 // rows, for listcache.Need; never changed

	checked []uint64     // bit of each extent that has been found to be sound; nil for a list without a key
	in      [slots]place // of the batches under way
	whole   atomic.Bool  // it was on the device whole when a batch last read its blocks
	wasFlat atomic.Bool  // its flat postings were there when a batch last had it

	// Its extents, as a table that stays on the device, and its flat postings. Executor.mu guards all that follows.
	serial     uint64 // of listcache.Placed, when a batch last had it
	table      uint64 // address; 0 when it is not there
	generation uint64 // of tables

	flat           uint64 // address of its flat postings; 0 when they are not there
	flatGeneration uint64 // of flats

	visits   float64 // queries that had it, the older the less (residents)
	admitted uint64  // generation of residents that have room for it

	kept *keptList // its records; records.mu guards it
}

// A place is where a batch has a list.
type place struct {
	batch uint64
	entry int // in lists.entries
}

// know reads what is to be known of a list. heads are as many as its extents, or more.
func (k *knownList) know(t *term, version uint64, heads, extents []uint32) {
	l := t.List
	*k = knownList{
		key: t.Key, version: version, count: uint32(l.Count), blockSize: uint32(l.BlockSize), blocks: uint32(l.Blocks()),
		highest: uint32(t.Bounds.List), heads: heads[:len(extents):len(extents)], extents: extents,
	}
	if l.Blocks() > 0 {
		k.last = l.Last[l.Blocks()-1]
	}
	for e := range extents {
		extents[e] = extentRows(l, e)
	}
}

// knownLists are the lists with keys that an executor has met. Batches that are made at the same time share them.
type knownLists struct {
	mu      sync.RWMutex
	byKey   map[knownKey]*knownList
	extents int           // of all
	cleared atomic.Uint64 // how often all was forgotten
}

type knownKey struct{ key, version uint64 }

// Bounds of what is remembered: some 200 MB. Beyond them all is forgotten and learnt anew.
const (
	knownMost        = 1 << 19
	knownExtentsMost = 1 << 24
)

// add takes a list in, unless another batch has done so meanwhile. The caller holds the mutex for reading, and does so again
// on return.
func (k *knownLists) add(of *knownList) *knownList {
	k.mu.RUnlock()
	k.mu.Lock()
	defer func() {
		k.mu.Unlock()
		k.mu.RLock()
	}()
	key := knownKey{of.key, of.version}
	if known := k.byKey[key]; known != nil {
		return known
	}
	if k.byKey == nil || len(k.byKey) >= knownMost || k.extents >= knownExtentsMost {
		k.byKey, k.extents = map[knownKey]*knownList{}, 0
		k.cleared.Add(1)
	}
	k.byKey[key] = of
	k.extents += len(of.extents)
	return of
}

// A keyless list is known for the time of a batch.
type keyless struct {
	byTerm map[listIdentity]*knownList
	lists  []*knownList // memory, of which used are in use
	used   int
	rows   []uint32
}

// A listIdentity tells lists without keys apart, under one similarity.
type listIdentity struct {
	list   *postings.List
	bounds *blockmax.Bounds
}

func (k *keyless) begin() {
	k.used, k.rows = 0, k.rows[:0]
	if k.byTerm == nil {
		k.byTerm = map[listIdentity]*knownList{}
	}
}

// take gives memory for a list of so many extents.
func (k *keyless) take(extents int) (*knownList, []uint32) {
	if k.used == len(k.lists) {
		k.lists = append(k.lists, new(knownList))
	}
	k.used++
	if extents > cap(k.rows)-len(k.rows) { // what was taken before stays where it is
		k.rows = make([]uint32, 0, 2*cap(k.rows)+extents)
	}
	n := len(k.rows)
	k.rows = k.rows[:n+extents]
	return k.lists[k.used-1], k.rows[n:][:extents:extents]
}

// know returns what is known of the list of a term, nil when the segment lacks the term. The caller holds known.mu for reading.
func (l *lists) know(t *term) *knownList {
	if t.Bounds == nil {
		return nil
	}
	if t.Key == 0 {
		return l.knowKeyless(t)
	}
	version := l.versionOf(t.Table)
	known := l.known.byKey[knownKey{t.Key, version}]
	if known == nil {
		n := extents(t.List)
		known = new(knownList)
		known.know(t, version, l.headsOf(n), make([]uint32, n))
		known.checked = make([]uint64, (n+63)/64)
		known = l.known.add(known)
	}
	if known.blocks == 0 {
		return nil
	}
	return known
}

func (l *lists) knowKeyless(t *term) *knownList {
	if t.List.Blocks() == 0 {
		return nil
	}
	id := listIdentity{t.List, t.Bounds}
	known := l.keyless.byTerm[id]
	if known == nil {
		var rows []uint32
		known, rows = l.keyless.take(extents(t.List))
		known.know(t, 0, l.headsOf(len(rows)), rows)
		l.keyless.byTerm[id] = known
	}
	return known
}

// headsOf are the rows of so many parts of heads. All lists share them.
func (l *lists) headsOf(n int) []uint32 {
	if n > len(l.heads) {
		l.heads = make([]uint32, 2*n)
		for i := range l.heads {
			l.heads[i] = headRows
		}
	}
	return l.heads
}

var versionSeed = maphash.MakeSeed()

// versionOf is a number for the similarity that bounds belong to. Most terms of a batch have the same.
func (l *lists) versionOf(t *blockmax.Table) uint64 {
	if t != l.table {
		l.table, l.version = t, maphash.Comparable(versionSeed, t.Key())
	}
	return l.version
}
