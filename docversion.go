package riffle

import (
	"context"

	"github.com/riffle-search/riffle/internal/live"
)

// Document returns a document of the current index, with its version; see Snapshot.Document.
func (e *Engine) Document(ctx context.Context, id string) (Document, error) {
	v, err := e.acquire()
	if err != nil {
		return Document{}, err
	}
	defer v.Release()
	return v.document(ctx, id)
}

// Document returns the stored fields of a document and its version. It returns ErrNotFound when no
// document has the id.
func (s *Snapshot) Document(ctx context.Context, id string) (Document, error) {
	v, err := s.hold()
	if err != nil {
		return Document{}, err
	}
	defer v.Release()
	return v.document(ctx, id)
}

func (v view) document(ctx context.Context, id string) (Document, error) {
	segment, doc, err := v.Find(ctx, id)
	if err != nil {
		return Document{}, err
	}
	return v.load(live.Document{ID: id, Segment: v.SegmentAt(segment), Number: doc})
}

// Version returns the version of the last batch that the snapshot has. Documents of later batches have
// higher ones: see Document.Version.
func (s *Snapshot) Version() (uint64, error) {
	v, err := s.hold()
	if err != nil {
		return 0, err
	}
	defer v.Release()
	return v.View.Version(), nil
}
