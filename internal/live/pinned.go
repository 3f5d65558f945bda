package live

import (
	"context"
	"fmt"

	"github.com/riffle-search/riffle/store"
)

// A snapshot pins the segments of its view. A sealed one costs space on disk, one in memory costs
// memory beyond Options.MemoryBytes once a seal has replaced it.
//
// The sealed segment cannot replace it in the snapshot: it lacks documents that were deleted before
// the seal and has others that came after the snapshot, so scores and the order of ties would
// change. Instead there is a bound on how much snapshots pin. While that is more than the budget, a
// further snapshot first seals what is in memory and uses the sealed segment from the start
// (sealedView): it costs a seal and pins no memory. All others share the two segments that were in
// memory then, the growing one and the one being sealed. So snapshots pin at most three times the
// budget, however many there are and however long they stay.

// PinnedStats are figures about segments that seals and merges have replaced, and that only
// snapshots and running searches still hold.
type PinnedStats struct {
	Segments    int
	Docs        uint64
	MemoryBytes int64 // of those that were in memory
	DiskBytes   int64 // of those that were sealed
}

// pin counts a replaced segment while views hold it. The caller holds ix.mu, and the current view
// is one of them.
func (ix *Index) pin(s *liveSegment) {
	if s.users.Load() == 0 {
		return // it has no documents
	}
	ix.dropMu.Lock()
	defer ix.dropMu.Unlock()
	if s.disk != nil {
		ix.pinned[s] = s.bytes
		return
	}
	ix.pinned[s] = s.memory.Bytes()
	ix.pinnedBytes.Add(ix.pinned[s])
}

// unpin is called when the last view that held a segment is gone.
func (ix *Index) unpin(s *liveSegment) {
	ix.dropMu.Lock()
	defer ix.dropMu.Unlock()
	if s.disk == nil {
		ix.pinnedBytes.Add(-ix.pinned[s])
	}
	delete(ix.pinned, s)
}

// pinnedStats adds up what is pinned.
func (ix *Index) pinnedStats() (st PinnedStats) {
	ix.dropMu.Lock()
	defer ix.dropMu.Unlock()
	for s, bytes := range ix.pinned {
		st.Segments++
		st.Docs += uint64(s.reader().Docs())
		if s.disk != nil {
			st.DiskBytes += bytes
		} else {
			st.MemoryBytes += bytes
		}
	}
	return st
}

// Snapshot returns the current view, which the caller may hold for any time and releases with
// Unref.
func (ix *Index) Snapshot() (*View, error) {
	if err := ix.Begin(); err != nil {
		return nil, err
	}
	defer ix.End()
	if ix.pinnedBytes.Load() <= ix.opts.MemoryBytes || ix.opts.Store.ReadOnly {
		return ix.retain(), nil
	}
	v, err := ix.sealedView()
	if err != nil {
		return nil, fmt.Errorf("riffle: snapshot: others hold %d bytes of memory, and the index cannot be sealed: %w", ix.pinnedBytes.Load(), err)
	}
	return v, nil
}

// sealedView freezes the in-memory segment and returns the index of that moment, with the sealed
// segment in its place.
func (ix *Index) sealedView() (*View, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for ix.seal.segment != nil || ix.seal.done != nil { // including one that is in the view, but whose run has not ended: ours could not start
		ix.startSeal()
		if err := ix.awaitSeal(ix.background); err != nil {
			return nil, ix.OrClosed(err)
		}
	}
	if ix.closed {
		return nil, store.ErrClosed
	}
	v, s := ix.newView(), ix.memory
	for _, older := range ix.segments[:len(ix.segments)-1] {
		v.add(older, older.deleted, older.updates)
	}
	if s.memory.Docs() == 0 {
		return v, nil
	}
	s.wanted++ // from now on the sealed segment is held for this view, too
	ix.sealNow()
	if err := ix.awaitSeal(ix.background); !s.obsolete.Load() {
		s.wanted--
		v.Unref()
		return nil, ix.OrClosed(err)
	}
	if s.sealed != nil {
		v.add(s.sealed, nil, nil) // it lacks the documents that were deleted when it was frozen, and has the updates
		s.sealed.users.Add(-1)
	}
	return v, nil
}

// unused is called when the last view that held a segment is gone.
func (ix *Index) unused(s *liveSegment) {
	if !s.obsolete.Load() {
		return
	}
	ix.unpin(s)
	ix.lists.DropSegment(s.columnKey())
	ix.lists.DropSegment(s.filtersKey())
	if s.disk == nil {
		ix.lists.DropSegment(s.listsKey())
		ix.lists.DropSegment(s.tailsKey())
	}
	if s.disk == nil {
		return
	}
	ix.lists.DropSegment(s.number)
	ix.lists.DropSegment(s.valuesKey())
	ix.stored.drop(s.number)
	s.disk.DropTrigrams()
	if ix.opts.Unused != nil {
		ix.opts.Unused(s.number)
	}
	ix.dropMu.Lock()
	ix.drops = append(ix.drops, s.number)
	ix.dropMu.Unlock()
	ix.kickMerge()
}

// dropUnused drops segments that no view holds from the store. The merger retries failures, and so
// does the next Open.
func (ix *Index) dropUnused() error {
	ix.dropMu.Lock()
	drops := ix.drops
	ix.drops = nil
	ix.dropMu.Unlock()
	if len(drops) == 0 {
		return nil
	}
	err := ix.store.DropSegments(context.Background(), drops)
	if err != nil {
		ix.dropMu.Lock()
		ix.drops = append(ix.drops, drops...)
		ix.dropMu.Unlock()
		return fmt.Errorf("riffle: remove merged segments: %w", err)
	}
	return nil
}
