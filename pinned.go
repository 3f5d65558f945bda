package riffle

import "fmt"

// A snapshot pins the segments of its view. A sealed one costs space on disk, one
// in memory costs memory beyond Options.MemoryBytes once a seal has replaced it.
//
// The sealed segment cannot stand in for it in the snapshot: it lacks documents
// that were deleted before the seal and has others that came after the snapshot, so
// scores and the order of ties would change under the caller's eyes. What is bounded
// instead is how much snapshots pin. While that is more than the budget, a further
// snapshot seals what is in memory first and takes the sealed segment from the
// start (sealedView): it costs a seal and pins no memory. All others share the two
// segments that were in memory then, the growing one and the one being sealed. So
// snapshots pin at most three times the budget, however many there are and however
// long they stay.

// PinnedStats are figures about segments that seals and merges have replaced, and
// that only snapshots and searches under way still hold.
type PinnedStats struct {
	Segments    int
	Docs        uint64
	MemoryBytes int64 // of those that were in memory
	DiskBytes   int64 // of those that were sealed
}

// pin counts a segment that has been replaced while views hold it. The caller
// holds e.mu, and the current view is one of them.
func (e *Engine) pin(s *liveSegment) {
	if s.users.Load() == 0 {
		return // it has no documents
	}
	e.dropMu.Lock()
	defer e.dropMu.Unlock()
	if s.disk != nil {
		e.pinned[s] = s.bytes
		return
	}
	e.pinned[s] = s.memory.Bytes()
	e.pinnedBytes.Add(e.pinned[s])
}

// unpin is called when the last view that held a segment is gone.
func (e *Engine) unpin(s *liveSegment) {
	e.dropMu.Lock()
	defer e.dropMu.Unlock()
	if s.disk == nil {
		e.pinnedBytes.Add(-e.pinned[s])
	}
	delete(e.pinned, s)
}

// pinnedStats adds up what is pinned.
func (e *Engine) pinnedStats() (st PinnedStats) {
	e.dropMu.Lock()
	defer e.dropMu.Unlock()
	for s, bytes := range e.pinned {
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

// snapshotView takes a reference to the view of a new snapshot.
func (e *Engine) snapshotView() (*view, error) {
	if e.pinnedBytes.Load() <= e.opts.MemoryBytes || e.opts.ReadOnly {
		return e.retain(), nil
	}
	v, err := e.sealedView()
	if err != nil {
		return nil, fmt.Errorf("riffle: snapshot: others hold %d bytes of memory, and the index cannot be sealed: %w", e.pinnedBytes.Load(), err)
	}
	return v, nil
}

// sealedView freezes the in-memory segment and returns the index as it is then,
// with the sealed segment in its place.
func (e *Engine) sealedView() (*view, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.seal.segment != nil {
		e.startSeal()
		if err := e.awaitSeal(e.background); err != nil {
			return nil, e.orClosed(err)
		}
	}
	if e.closed {
		return nil, ErrClosed
	}
	v, s := e.newView(), e.memory
	for _, older := range e.segments[:len(e.segments)-1] {
		v.add(older, older.deleted)
	}
	if s.memory.Docs() == 0 {
		return v, nil
	}
	s.wanted++ // from now on the sealed segment is held for us, too
	e.sealNow()
	if err := e.awaitSeal(e.background); !s.obsolete.Load() {
		s.wanted--
		v.unref()
		return nil, e.orClosed(err)
	}
	if s.sealed != nil {
		v.add(s.sealed, nil) // without the documents that were deleted when it was frozen
		s.sealed.users.Add(-1)
	}
	return v, nil
}
