package gpuexec

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// A knownList is what is remembered of a list from batch to batch: all that a batch needs, unless
// parts of the list must be copied. So a batch need not read the list, whose directory is in no
// core's cache, nor keep it alive.
type knownList struct {
	key     uint64 // blockmax.Term.Key
	version uint64 // of its bounds

	count, blockSize, blocks uint32   // of postings.List
	highest                  uint32   // impact
	last                     uint32   // document
	heads, extents           []uint32 // rows, for listcache.Need; never changed

	checked []uint64     // bit of each extent that passed its check; nil for a list without a key
	in      [slots]place // of the batches under way
	whole   atomic.Bool  // it was fully resident when a batch last read its blocks
	wasFlat atomic.Bool  // its flat postings were resident when a batch last had it

	// Its resident table of extents, and its flat postings. Executor.mu guards all that follows.
	serial     uint64 // of listcache.Placed, when a batch last had it
	table      uint64 // address; 0 if not resident
	generation uint64 // of tables

	flat           uint64 // address of its flat postings; 0 if not resident
	flatGeneration uint64 // of flats

	visits   float64 // fading count of queries that had it (residents)
	admitted uint64  // generation of residents that have room for it

	kept *keptList // its records; records.mu guards it
}

// A place is a list's index in a batch.
type place struct {
	batch uint64
	entry int // in lists.entries
}

// know reads what must be remembered of a list. heads has at least one element per extent.
func (k *knownList) know(t *term, version uint64, heads, extents []uint32) {
	l := t.List
	*k = knownList{
		key: t.Key, version: version, count: uint32(l.Count), blockSize: uint32(l.BlockSize), blocks: uint32(l.Blocks()),
		highest: uint32(t.Bounds.List), heads: heads[:len(extents):len(extents)], extents: extents, checked: k.checked,
	}
	if l.Blocks() > 0 {
		k.last = l.Last[l.Blocks()-1]
	}
	for e := range extents {
		extents[e] = l.ExtentRows(e)
	}
}

// knownLists are the lists with keys that an executor has met. Concurrently made batches share
// them.
type knownLists struct {
	mu      sync.RWMutex
	byKey   map[knownKey]*knownList
	extents int           // of all
	cleared atomic.Uint64 // how often all was forgotten
}

type knownKey struct{ key, version uint64 }

// Bounds of what is remembered: some 200 MB. Beyond them all is forgotten and read anew.
const (
	knownMost        = 1 << 19
	knownExtentsMost = 1 << 24
)

// add adds lists, and replaces those that another batch has just added. The caller holds the mutex
// for reading, before and after the call. One call adds all new lists of a batch: for each the mutex
// would be waited for, which other batches hold for a millisecond.
func (k *knownLists) add(lists []*knownList, at []int) {
	k.mu.RUnlock()
	k.mu.Lock()
	defer func() {
		k.mu.Unlock()
		k.mu.RLock()
	}()
	for _, i := range at {
		of := lists[i]
		key := knownKey{of.key, of.version}
		if known := k.byKey[key]; known != nil {
			lists[i] = known
			continue
		}
		if k.byKey == nil || len(k.byKey) >= knownMost || k.extents >= knownExtentsMost {
			k.byKey, k.extents = map[knownKey]*knownList{}, 0
			k.cleared.Add(1)
		}
		k.byKey[key] = of
		k.extents += len(of.extents)
	}
}

// newKnown reads what must be remembered of the list of a term with a key.
func newKnown(t *term, version uint64) *knownList {
	n := extents(t.List)
	k := &knownList{checked: make([]uint64, (n+63)/64)}
	k.know(t, version, headsOf(n), make([]uint32, n))
	return k
}

// A keyless list is known only during one batch.
type keyless struct {
	byTerm map[listIdentity]*knownList
	lists  []*knownList // memory, of which used are in use
	used   int
	rows   []uint32
}

// A listIdentity identifies a list without a key, under one similarity.
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

// take returns memory for a list of that many extents.
func (k *keyless) take(extents int) (*knownList, []uint32) {
	if k.used == len(k.lists) {
		k.lists = append(k.lists, new(knownList))
	}
	k.used++
	if extents > cap(k.rows)-len(k.rows) { // earlier slices keep the old memory
		k.rows = make([]uint32, 0, 2*cap(k.rows)+extents)
	}
	n := len(k.rows)
	k.rows = k.rows[:n+extents]
	return k.lists[k.used-1], k.rows[n:][:extents:extents]
}

// know returns what is known of the list of a term, nil if the segment lacks the term. The caller
// holds known.mu for reading.
func (l *lists) know(t *term) *knownList {
	if t.Bounds == nil {
		return nil
	}
	if t.Key == 0 {
		return l.knowKeyless(t)
	}
	known := l.known.byKey[knownKey{t.Key, l.versions.of(t.Table)}]
	if known == nil || known.blocks == 0 {
		return nil // lookup.find has found or added all lists with postings
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
		known.checked = nil
		known.know(t, 0, headsOf(len(rows)), rows)
		l.keyless.byTerm[id] = known
	}
	return known
}

// headsOf returns the rows of n parts of heads. All lists share them.
func headsOf(n int) []uint32 {
	if heads := sharedHeads.Load(); heads != nil && n <= len(*heads) {
		return *heads
	}
	heads := slices.Repeat([]uint32{headRows}, 2*n)
	sharedHeads.Store(&heads)
	return heads
}

var sharedHeads atomic.Pointer[[]uint32]
