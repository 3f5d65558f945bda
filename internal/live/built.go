package live

import (
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"slices"

	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
)

// Methods for package bulk, which builds an index: Options.Building keeps Open out until
// FinishBuild.

// StartBuild empties an index that an earlier build has left unfinished. It refuses one that has
// documents, with fs.ErrExist.
func (ix *Index) StartBuild(ctx context.Context) error {
	m := ix.store.Manifest()
	mark, err := ix.store.Meta(metaBuilding)
	if err != nil {
		return err
	}
	if len(mark) == 0 && (len(m.Segments) > 0 || ix.seq > 0) {
		return fmt.Errorf("%w: an index that has documents", fs.ErrExist)
	}
	edit := store.Edit{Meta: map[string][]byte{metaBuilding: []byte("1")}}
	for _, s := range m.Segments {
		edit.Drop = append(edit.Drop, s.Number)
	}
	m.Segments = nil
	edit.Manifest = &m
	if err := ix.store.Commit(ctx, edit); err != nil {
		return err
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.segments = []*liveSegment{ix.memory}
	ix.fields = document.NewFields(ix.opts.MaxFields)
	ix.publish()
	return nil
}

// A SegmentWriter writes one segment.
type SegmentWriter struct{ sink }

// NewSegment begins a segment for AddBuilt.
func (ix *Index) NewSegment() (*SegmentWriter, error) {
	w, err := ix.store.NewSegment()
	if err != nil {
		return nil, err
	}
	return &SegmentWriter{sink{w}}, nil
}

// AddBuilt appends a finished segment to the index. replaced are its documents that others of it
// replace.
func (ix *Index) AddBuilt(w *SegmentWriter, replaced []uint32) error {
	ix.commitMu.Lock()
	defer ix.commitMu.Unlock()
	m := ix.store.Manifest()
	info := binary.AppendUvarint(nil, w.Bytes())
	m.Segments = append(m.Segments, store.Segment{Number: w.Number(), Info: info})
	edit := store.Edit{Manifest: &m, Ingest: []*store.SegmentWriter{w.SegmentWriter}}
	if len(replaced) > 0 {
		edit.Deletions = map[uint64][]byte{w.Number(): marshalDeletions((*deletions)(nil).with(replaced))}
	}
	if err := ix.store.Commit(ix.background, edit); err != nil {
		return err
	}
	live, err := ix.openSegment(w.Number(), info)
	if err != nil {
		return err
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	last := len(ix.segments) - 1
	ix.segments = append(ix.segments[:last:last], live, ix.memory)
	ix.fields.Replace(nil, live.disk)
	ix.publish()
	return nil
}

// ReplaceBuilt deletes the documents whose id occurs again in a later segment, and returns their
// number.
func (ix *Index) ReplaceBuilt(ctx context.Context) (replaced int, err error) {
	inputs := ix.sealed()
	if len(inputs) < 2 {
		return 0, nil
	}
	var readers []segment.Reader
	for _, in := range inputs {
		readers = append(readers, in.s.disk)
	}
	gone, err := segment.Replaced(ctx, readers)
	if err != nil {
		return 0, err
	}
	edit := store.Edit{Deletions: map[uint64][]byte{}}
	ix.mu.Lock()
	for i, in := range inputs {
		fresh := slices.DeleteFunc(gone[i], in.s.deleted.contains)
		if len(fresh) > 0 {
			replaced += len(fresh)
			in.s.deleted = in.s.deleted.with(fresh)
			in.s.persisted = in.s.deleted
			edit.Deletions[in.s.number] = marshalDeletions(in.s.deleted)
		}
	}
	ix.publish()
	ix.mu.Unlock()
	return replaced, ix.store.Commit(ctx, edit)
}

// MergeBuilt merges the segments into one, and returns how many remain.
func (ix *Index) MergeBuilt(ctx context.Context) (segments int, err error) {
	if err := ix.mergeAll(ctx); err != nil {
		return 0, err
	}
	if err := ix.dropUnused(); err != nil {
		return 0, err
	}
	return len(ix.store.Manifest().Segments), nil
}

// FinishBuild makes the index usable for Open, and stores its schema, Options.Text and a position.
func (ix *Index) FinishBuild(ctx context.Context, position string) error {
	m := ix.store.Manifest()
	m.Info = encodeInfo(position, false)
	return ix.store.Commit(ctx, store.Edit{Manifest: &m, Meta: map[string][]byte{
		metaSchema: ix.schema.Kept(), metaOptions: []byte(ix.opts.Text), metaBuilding: nil,
	}})
}

// WrittenBytes returns how much has been written to disk since Open.
func (ix *Index) WrittenBytes() (uint64, error) {
	st, err := ix.store.Stats()
	return st.WrittenBytes, err
}
