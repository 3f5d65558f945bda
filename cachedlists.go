package riffle

import (
	"github.com/riffle-search/riffle/internal/live"
)

// A CachedList is an opened list in the cache of Options.CacheBytes.
type CachedList struct {
	Segment     uint64 // number, as in SegmentStats; 0 in memory
	Field, Term string // Term may be that of a number or a date, which is no text
	Pair        bool   // the list is that of two neighbouring words, which Term has with a zero byte between

	// Visits is how often searches have looked the list up since it was cached. Beyond 64 it is an
	// estimate.
	Visits uint64

	Postings int

	// Bytes is all that the list takes: Heads, where blocks lie and their bounds; Code, postings as
	// they are stored; Rows, postings as they are searched; bitmaps and positions. A list that has not
	// been used for long shrinks to its Heads.
	Bytes, Heads, Code, Rows, Bitmap, Positions int64
}

// CachedLists returns the n lists in the cache that searches have looked up most, in that order.
// They take Stats.CacheBytes, together with all others, with filters and with columns. It reads
// some 20 ns a cached list.
func (e *Engine) CachedLists(n int) ([]CachedList, error) {
	if err := e.index.Begin(); err != nil {
		return nil, err
	}
	defer e.index.End()
	lists := e.index.CachedLists(n)
	all := make([]CachedList, len(lists))
	for i := range lists {
		l := &lists[i]
		all[i] = CachedList{
			Visits: l.Visits, Postings: l.Postings, Bytes: l.Bytes,
			Code: l.Held.Code, Rows: l.Held.Rows, Bitmap: l.Held.Bitmap, Positions: l.Held.Positions,
		}
		all[i].Heads = max(0, l.Bytes-l.Held.Code-l.Held.Rows-l.Held.Bitmap-l.Held.Positions)
		if l.Sealed() {
			all[i].Segment = l.Segment
		}
		all[i].Field, all[i].Term, all[i].Pair = live.NamesOf(l.Key)
	}
	return all, nil
}

// A GPUCachedList is a list in the memory of a GPU: see package gpuexec/listcache.
type GPUCachedList struct {
	Segment     uint64
	Field, Term string // empty if the list is not in the cache of Options.CacheBytes, which knows its name
	Pair        bool   // as in CachedList

	// Visits is how often searches wanted the list, halved after every 100,000 searches.
	Visits float64

	Extents       int   // all of the list, each of 32 blocks of 128 postings
	CachedExtents int   // of these, resident
	CachedBytes   int64 // of these
}

// GPUCachedLists returns the n lists that searches want most of those in the cache of each GPU, in
// that order, parallel to GPUStats.Devices. Without a GPU there are none.
func (e *Engine) GPUCachedLists(n int) ([][]GPUCachedList, error) {
	if err := e.index.Begin(); err != nil {
		return nil, err
	}
	defer e.index.End()
	if e.accelerator == nil {
		return nil, nil
	}
	devices := e.accelerator.Lists(n)
	keys := map[uint64]bool{}
	for _, lists := range devices {
		for _, l := range lists {
			keys[l.Key] = true
		}
	}
	names := e.index.TermsOf(keys)
	all := make([][]GPUCachedList, len(devices))
	for d, lists := range devices {
		for _, l := range lists {
			to := GPUCachedList{Segment: live.SegmentOfKey(l.Key), Visits: l.Visits, Extents: l.Extents, CachedExtents: l.CachedExtents, CachedBytes: l.CachedBytes}
			if k, ok := names[l.Key]; ok {
				to.Field, to.Term, to.Pair = live.NamesOf(k)
			}
			all[d] = append(all[d], to)
		}
	}
	return all, nil
}
