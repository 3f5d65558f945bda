package gpuexec

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/gpuexec/listcache"
)

// residents are records that stay on the device (windows.go): those of the lists that most queries
// have, or with QtfDf most for their length. A record that a batch copies stays while there is room.
// After there has been none, it stays only if its list is among those chosen for the memory. Lists
// are chosen anew periodically. When the new choice is much better than the current contents, all
// are dropped, and return as batches copy them. So memory is never fragmented, and a dropped record
// costs one more copy.
//
// Lists are chosen whole. If their pieces were chosen, each by its own visits, batches would copy 0
// to 11 % less, by a simulation, and searches be up to 6 % faster (bench/results/2026-11-24-vfb.md).
type residents struct {
	address    uint64
	rows       uint64
	used       uint64
	generation uint64 // of the current contents
	static     bool   // keeps what Admit has chosen
	policy     listcache.Policy

	total   float64 // visits of all queries
	batches int     // since lists were last chosen
	cleared uint64  // knownLists.cleared when this was last looked at
	closed  bool    // only admitted lists get room
	flush   bool    // earlier batches may still read the memory that is overwritten

	bytes sync.Map // key of a list -> *atomic.Int64, its resident bytes
}

// residentsAge is the number of batches between choices of lists; visits count half after
// visitsHalf queries.
const residentsAge = 64

const visitsHalf = 100_000

// The lists chosen must be this much better than the current ones, summed up, to be worth a change.
const worthChange = 1.1

// visit counts the queries of a batch.
func (r *residents) visit(b *batch, known *knownLists) {
	if n := known.cleared.Load(); n != r.cleared {
		r.forget() // nobody knows any longer where records are
		r.cleared = n
	}
	for i := range b.lists.entries {
		e := &b.lists.entries[i]
		if e.known.visits == 0 {
			r.follow(e.known)
		}
		e.known.visits += float64(e.queries)
	}
	if r.total += float64(len(b.queries)); r.total > 2*visitsHalf {
		r.total /= 2
		known.mu.RLock()
		for _, k := range known.byKey {
			k.visits /= 2
		}
		known.mu.RUnlock()
	}
	if r.batches++; r.batches >= residentsAge && !r.static && r.used*8 > r.rows*7 {
		r.choose(known, false)
	}
}

// follow takes over what holds for the version of a list before: how many queries have it, and that its
// records stay.
func (r *residents) follow(k *knownList) {
	last := k.before.Load()
	if last == nil {
		return
	}
	k.visits, last.visits = last.visits, 0
	if bytes, ok := r.bytes.Load(k.key); ok && bytes.(*atomic.Int64).Load() > 0 {
		k.admitted = r.generation
	}
	if last.admitted == r.generation {
		k.admitted = r.generation
	}
}

// has reports whether a record is resident.
func (r *residents) has(of *record) bool { return of.place != 0 && of.generation == r.generation }

// admits reports whether records of a list stay while there is room.
func (r *residents) admits(k *knownList) bool {
	return k.key != 0 && (!r.closed || k.admitted == r.generation)
}

// take gives a record of a list a place if it should have one.
func (r *residents) take(k *knownList, of *record) bool {
	if !r.admits(k) || uint64(of.rows) > r.rows-r.used {
		return false
	}
	of.place, of.generation = r.address+r.used*rowBytes, r.generation
	r.used += uint64(of.rows)
	r.add(k, of)
	return true
}

// replace gives a record the place of that of another version of its list, which other batches may still
// read.
func (r *residents) replace(of, former *record) bool {
	if !r.has(former) || former.rows != of.rows {
		return false
	}
	of.place, of.generation = former.place, r.generation
	former.place, r.flush = 0, true
	return true
}

// carry gives records that the host has written again the places of the same ones.
func (r *residents) carry(kept *keptList) {
	for i := range kept.windows {
		if of, former := &kept.windows[i], &kept.former.windows[i]; r.has(former) && !r.has(of) {
			of.place, of.generation = former.place, r.generation
			former.place = 0
		}
	}
}

func (r *residents) add(k *knownList, of *record) {
	bytes, _ := r.bytes.LoadOrStore(k.key, new(atomic.Int64))
	bytes.(*atomic.Int64).Add(int64(of.rows) * rowBytes)
}

// undo takes back the places of records that a batch was to copy but does not.
func (r *residents) undo(taken []takenRecord) {
	for _, t := range taken {
		if t.former != nil {
			t.former.place, t.record.place = t.record.place, 0
			continue
		}
		t.record.place = 0
		r.used -= uint64(t.record.rows)
		if bytes, ok := r.bytes.Load(t.known.key); ok {
			bytes.(*atomic.Int64).Add(-int64(t.record.rows) * rowBytes)
		}
	}
}

// A takenRecord is one that a batch copies to stay.
type takenRecord struct {
	known  *knownList
	record *record
	former *record // whose place it has got
}

// forget drops everything.
func (r *residents) forget() {
	r.used, r.flush = 0, true
	r.generation++
	r.bytes.Clear()
}

// drop forgets the lists whose keys gone reports. Their records stay until lists are chosen anew.
func (r *residents) drop(gone func(key uint64) bool) {
	r.bytes.Range(func(key, _ any) bool {
		if gone(key.(uint64)) {
			r.bytes.Delete(key)
		}
		return true
	})
}

// worth is what a row of a list is worth.
func (r *residents) worth(k *knownList) float64 {
	if r.policy == listcache.QtfDf {
		return k.visits / float64(max(1, k.recordRows()))
	}
	return k.visits
}

// choose chooses the lists that are worth most for the memory. With always, it applies the choice
// even if that is no gain.
func (r *residents) choose(known *knownLists, always bool) {
	known.mu.RLock()
	defer known.mu.RUnlock()
	var all []*knownList
	for _, k := range known.byKey {
		if k.visits > 0 {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(x, y *knownList) int {
		return cmp.Or(cmp.Compare(r.worth(y), r.worth(x)), cmp.Compare(x.key, y.key))
	})
	room, there, best := r.rows, 0.0, 0.0
	var chosen []*knownList
	for _, k := range all {
		rows := k.recordRows()
		if room > 0 {
			best += r.worth(k) * float64(min(rows, room))
			room -= min(rows, room)
			chosen = append(chosen, k)
		}
		if bytes, ok := r.bytes.Load(k.key); ok {
			there += r.worth(k) * float64(bytes.(*atomic.Int64).Load()/rowBytes)
		}
	}
	r.batches, r.closed, r.cleared = 0, true, known.cleared.Load()
	if always || best > worthChange*there {
		r.forget()
	}
	for _, k := range chosen {
		k.admitted = r.generation
	}
}

// recordRows estimates the rows of a list's records, which may not be known.
func (k *knownList) recordRows() (rows uint64) {
	for _, n := range k.extents {
		rows += uint64(n)
	}
	return rows + rows/8
}
