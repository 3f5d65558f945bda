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
// core's cache, nor keep it alive if it has a key.
type knownList struct {
	key     uint64  // blockmax.Term.Key; 0 for none
	version version // 0 without a key

	count, blockSize, blocks uint32   // of postings.List
	highest                  uint32   // impact
	last                     uint32   // document
	heads, extents           []uint32 // rows, for listcache.Need; never changed

	checked []uint64     // bit of each extent that passed its check
	in      [slots]place // of the batches under way
	whole   atomic.Bool  // it was fully resident when a batch last read its blocks
	wasFlat atomic.Bool  // its flat postings were resident when a batch last had it

	used atomic.Uint64 // knownLists.now when a batch last had it, if it has no key

	// The list under the similarity before, which changes with the mean length; for a list with a key.
	before atomic.Pointer[knownList]

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
func (k *knownList) know(t *term, version version, heads, extents []uint32) {
	l := t.List
	k.key, k.version = t.Key, version
	k.count, k.blockSize, k.blocks = uint32(l.Count), uint32(l.BlockSize), uint32(l.Blocks())
	k.highest = uint32(t.Bounds.List)
	k.heads, k.extents = heads[:len(extents):len(extents)], extents
	if l.Blocks() > 0 {
		k.last = l.Last[l.Blocks()-1]
	}
	for e := range extents {
		extents[e] = l.ExtentRows(e)
	}
}

// knownLists are the lists that an executor has met. Concurrently made batches share them.
type knownLists struct {
	mu      sync.RWMutex
	byKey   map[knownKey]*knownList
	latest  map[uint64]*knownList // by key alone: the version that was added last
	extents int                   // of all
	cleared atomic.Uint64         // how often all was forgotten

	// Lists without a key, which are short or of a segment in memory: they travel with each batch, but
	// need not be read and checked for each. Those that no batch has had for a while are forgotten,
	// since what is remembered keeps them alive.
	byList map[listIdentity]*knownList
	shape  Shape
	most   int           // of them, until some are forgotten
	now    atomic.Uint64 // counts batches
}

type knownKey struct{ key, version uint64 }

// A listIdentity identifies a list without a key, under one similarity. The documents of a segment in
// memory become more while a list of it stays as it is. To a kernel it is then another list: with as
// many tiles as the segment.
type listIdentity struct {
	list   *postings.List
	bounds *blockmax.Bounds
	tiles  uint32
}

// identify returns the identity of the list of a term, in a segment of so many documents.
func (k *knownLists) identify(t *term, docs uint32) listIdentity {
	return listIdentity{t.List, t.Bounds, k.shape.tiles(docs)}
}

// Bounds of what is remembered: some 200 MB. Beyond them all is forgotten and read anew.
const (
	knownMost        = 1 << 19
	knownExtentsMost = 1 << 24
)

// A list without a key is remembered for so many batches after the last that had it.
const keylessAge = 64

// find returns what is known of the list of a term, in a segment of so many documents, or nil. The
// caller holds the mutex for reading.
func (k *knownLists) find(t *term, docs uint32, v *versions, now uint64) *knownList {
	if t.Key != 0 {
		return k.byKey[knownKey{t.Key, v.of(t).all}]
	}
	known := k.byList[k.identify(t, docs)]
	if known != nil && known.used.Load() != now {
		known.used.Store(now)
	}
	return known
}

// An addedList is a list that was not known.
type addedList struct {
	at int // in lookup.lists
	id listIdentity
}

// add adds lists, and replaces those that another batch has just added. The caller holds the mutex
// for reading, before and after the call. One call adds all new lists of a batch: for each the mutex
// would be waited for, which other batches hold for a millisecond.
func (k *knownLists) add(lists []*knownList, added []addedList) {
	k.mu.RUnlock()
	k.mu.Lock()
	defer func() {
		k.mu.Unlock()
		k.mu.RLock()
	}()
	for _, a := range added {
		if lists[a.at].key == 0 {
			lists[a.at] = k.addKeyless(lists[a.at], a.id)
		} else {
			lists[a.at] = k.addKeyed(lists[a.at])
		}
	}
}

func (k *knownLists) addKeyed(of *knownList) *knownList {
	key := knownKey{of.key, of.version.all}
	if known := k.byKey[key]; known != nil {
		return known
	}
	if k.byKey == nil || len(k.byKey) >= knownMost || k.extents >= knownExtentsMost {
		k.byKey, k.latest, k.extents = map[knownKey]*knownList{}, map[uint64]*knownList{}, 0
		k.cleared.Add(1)
	}
	if last := k.latest[of.key]; last != nil {
		k.follow(of, last)
	}
	k.byKey[key], k.latest[of.key] = of, of
	k.extents += len(of.extents)
	return of
}

// follow takes over what holds for another version of a list, too: which of its extents have passed
// their check, and that they are resident. So a batch after a change of the mean length need not find
// out which extents of its lists matter. Of a list two versions are known.
func (k *knownLists) follow(of, last *knownList) {
	for i := range min(len(of.checked), len(last.checked)) {
		of.checked[i] = atomic.LoadUint64(&last.checked[i])
	}
	of.whole.Store(last.whole.Load())
	of.before.Store(last)
	if oldest := last.before.Swap(nil); oldest != nil {
		delete(k.byKey, knownKey{oldest.key, oldest.version.all})
		k.extents -= len(oldest.extents)
	}
}

func (k *knownLists) addKeyless(of *knownList, id listIdentity) *knownList {
	if known := k.byList[id]; known != nil {
		return known
	}
	now := k.now.Load()
	if k.byList == nil {
		k.byList = map[listIdentity]*knownList{}
	}
	if len(k.byList) >= k.most {
		for id, known := range k.byList {
			if known.used.Load()+keylessAge < now {
				delete(k.byList, id)
			}
		}
		k.most = max(1024, 2*len(k.byList))
	}
	of.used.Store(now)
	k.byList[id] = of
	return of
}

// forgetKeyless forgets the lists without keys, which would otherwise keep their segments alive.
func (k *knownLists) forgetKeyless() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.byList)
}

// forget forgets the lists whose keys gone reports.
func (k *knownLists) forget(gone func(key uint64) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, known := range k.byKey {
		if gone(key.key) {
			delete(k.byKey, key)
			delete(k.latest, key.key)
			k.extents -= len(known.extents)
		}
	}
}

// newKnown reads what must be remembered of the list of a term. last is another version of the list, or
// nil.
func newKnown(t *term, v *versions, last *knownList) *knownList {
	n := extents(t.List)
	k := &knownList{checked: make([]uint64, (n+63)/64)}
	switch {
	case t.Key == 0:
		k.know(t, version{}, headsOf(n), make([]uint32, n))
	case last != nil && last.count == uint32(t.List.Count) && last.blocks == uint32(t.List.Blocks()):
		k.key, k.version, k.highest = t.Key, v.of(t), uint32(t.Bounds.List)
		k.count, k.blockSize, k.blocks, k.last = last.count, last.blockSize, last.blocks, last.last
		k.heads, k.extents = last.heads, last.extents
	default:
		k.know(t, v.of(t), headsOf(n), make([]uint32, n))
	}
	return k
}

// inherit takes over the table of the extents of the version before, which holds if bounds have stayed.
// The caller holds Executor.mu.
func (k *knownList) inherit() {
	if last := k.before.Load(); k.serial == 0 && last != nil && last.version.bounds == k.version.bounds {
		k.serial, k.table, k.generation = last.serial, last.table, last.generation
	}
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
