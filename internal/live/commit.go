package live

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
)

// A change replaces its inputs by a merged segment.
type change struct {
	out    *merged
	inputs []mergeInput
	end    sealedEnd          // what the manifest covers afterwards; the zero value leaves that unchanged
	made   func(*liveSegment) // called with the segment, or nil if no document was left

	persisted map[*liveSegment]*deletions // deletions that the change writes to the store
	folds     []*fold                     // updates that it writes there
	updated   []*updates                  // of the inputs, as of then
	late      map[string]*columns.Patch   // of these, what the merged segment does not have
	lateBytes map[string]int64            // as they are stored
}

// commitMerged makes a change on disk and then in the view.
func (ix *Index) commitMerged(c *change) error {
	ix.commitMu.Lock()
	defer ix.commitMu.Unlock()
	if err := ix.adoptBehind(); err != nil {
		return err
	}
	edit, err := ix.editFor(c)
	if err != nil {
		return err
	}
	if err := ix.store.Commit(context.Background(), edit); err != nil {
		return err
	}
	ix.behind = c
	return ix.adoptBehind()
}

// adopt publishes a change that was made on disk, but whose segment could not be opened then. It
// comes before any further merge or seal.
func (ix *Index) adopt() error {
	ix.commitMu.Lock()
	defer ix.commitMu.Unlock()
	return ix.adoptBehind()
}

// adoptBehind is adopt for a caller that holds commitMu.
func (ix *Index) adoptBehind() error {
	c := ix.behind
	if c == nil {
		return nil
	}
	var live *liveSegment
	if w := c.out.writer; w != nil {
		live = &liveSegment{number: w.Number(), stored: ix.stored, bytes: int64(w.Bytes())}
		var err error
		if live.disk, err = ix.openDisk(live.number); err != nil {
			return fmt.Errorf("the new segment cannot be read: %w", live.at(err))
		}
	}
	ix.behind = nil
	ix.mu.Lock()
	if written := &ix.written.Merges; live != nil {
		if c.end.seq > 0 {
			written = &ix.written.Seals
		}
		*written += uint64(live.bytes)
	}
	for s, d := range c.persisted {
		s.persisted = d
	}
	ix.seal.updates = 0 // the change has stored them, be it that of a seal or of a merge
	for _, f := range c.folds {
		f.s.updates = f.s.updates.with(f.field, f.s.updates.fields[f.field].withFold(f))
	}
	ix.replace(c, live)
	if c.end.seq > 0 {
		ix.sealedSeq = c.end.seq
		ix.seal.segment = nil
		if s := c.inputs[0].s; s.wanted > 0 && live != nil {
			s.sealed = live
			live.users.Add(int64(s.wanted))
		}
	}
	ix.publish()
	ix.mu.Unlock()
	c.made(live)
	return nil
}

// editFor returns the atomic change of the store: the new list of segments, the new segment, and
// every deletion and update that the store does not have yet. Later ones are in the log after the
// record that the manifest covers, so they survive a crash.
func (ix *Index) editFor(c *change) (store.Edit, error) {
	edit := ix.beginEdit(c)
	var err error
	edit.Updates = map[store.UpdatesOf][]byte{}
	for _, f := range c.folds {
		if err := f.make(); err != nil {
			return edit, err
		}
		if err := f.store(edit.Updates, ix.opts.LayerBytes); err != nil {
			return edit, err
		}
	}
	if w := c.out.writer; w != nil {
		if c.late, err = lateUpdates(c.inputs, c.updated, c.out.result.Maps, c.out.result.Docs); err != nil {
			return edit, err
		}
		c.lateBytes = map[string]int64{}
		for name, p := range c.late {
			value, err := marshalUpdates(p, updatesVersion)
			if err != nil {
				return edit, err
			}
			edit.Updates[store.UpdatesOf{Segment: w.Number(), Field: name}], c.lateBytes[name] = value, int64(len(value))
		}
	}
	return edit, ix.setInfo(&edit, c)
}

// setInfo sets the info of an edit's manifest.
func (ix *Index) setInfo(edit *store.Edit, c *change) (err error) {
	position := c.end.position
	if c.end.seq == 0 {
		if position, err = decodeInfo(edit.Manifest.Info); err != nil {
			return corrupt.At(err, "index info")
		}
	}
	updated := len(edit.Updates) > 0
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for _, s := range ix.segments {
		updated = updated || s.disk != nil && s.updates != nil
	}
	edit.Manifest.Info = encodeInfo(position, updated)
	return nil
}

// beginEdit is editFor without updates, which it only notes.
func (ix *Index) beginEdit(c *change) store.Edit {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	m := ix.store.Manifest()
	m.Segments = nil
	if c.end.seq > 0 {
		m.LogSeq = c.end.seq
	}
	c.folds, c.updated = nil, nil
	for _, in := range c.inputs {
		c.updated = append(c.updated, in.s.updates)
	}
	edit := store.Edit{Manifest: &m, Deletions: map[uint64][]byte{}}
	c.persisted = map[*liveSegment]*deletions{}
	for i := 0; i < len(ix.segments); i++ {
		s := ix.segments[i]
		if s == c.inputs[0].s {
			if w := c.out.writer; w != nil {
				m.Segments = append(m.Segments, store.Segment{Number: w.Number(), Info: binary.AppendUvarint(nil, w.Bytes())})
				edit.Ingest = []*store.SegmentWriter{w}
				if late := lateDeletions(c.inputs, c.out.result.Maps); len(late) > 0 {
					edit.Deletions[w.Number()] = marshalDeletions((*deletions)(nil).with(late))
				}
			}
			i += len(c.inputs) - 1
			continue
		}
		if s.disk == nil {
			continue
		}
		m.Segments = append(m.Segments, store.Segment{Number: s.number, Info: binary.AppendUvarint(nil, uint64(s.bytes))})
		if s.deleted != s.persisted {
			edit.Deletions[s.number] = marshalDeletions(s.deleted)
			c.persisted[s] = s.deleted
		}
		c.folds = s.beginFolds(c.folds)
	}
	return edit
}

// replace swaps the inputs for the merged segment. The caller holds ix.mu.
func (ix *Index) replace(c *change, live *liveSegment) {
	inputs, out := c.inputs, c.out
	at := slices.Index(ix.segments, inputs[0].s)
	if at < 0 {
		panic("BUG: the segments of a merge are gone")
	}
	var old []segment.Reader
	for _, in := range inputs {
		in.s.obsolete.Store(true)
		ix.pin(in.s)
		old = append(old, in.s.reader())
	}
	var fresh []*liveSegment
	if live == nil {
		ix.fields.Replace(old, nil)
	} else {
		ix.fields.Replace(old, live.disk)
		live.deleted = live.deleted.with(lateDeletions(inputs, out.result.Maps))
		live.updates = c.latest(live.disk.Docs())
		fresh = []*liveSegment{live}
	}
	ix.segments = slices.Replace(slices.Clone(ix.segments), at, at+len(inputs), fresh...)
	ix.moved(inputs, out.result.Maps, live)
}
