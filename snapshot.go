package riffle

import (
	"context"
	"iter"
	"sync"

	"github.com/riffle-search/riffle/internal/live"
)

// A Snapshot is the index at one moment. It stays the same, whatever is applied or merged
// meanwhile, until it is closed. Until then replaced segments keep their space (Stats.Pinned). All
// snapshots together hold at most three times Options.MemoryBytes of additional memory: see
// Engine.Snapshot. Its methods are safe for concurrent use.
type Snapshot struct {
	e  *Engine
	mu sync.Mutex
	v  *live.View // nil once closed
}

// Snapshot returns the current index. The caller closes it.
//
// It costs nothing, unless other snapshots hold more than Options.MemoryBytes of memory that has
// been sealed since. Then it waits until the current memory is sealed, too, and holds none.
func (e *Engine) Snapshot() (*Snapshot, error) {
	v, err := e.index.Snapshot()
	if err != nil {
		return nil, err
	}
	return &Snapshot{e: e, v: v}, nil
}

// Close releases the snapshot. Running calls complete as usual. Closing twice does nothing.
func (s *Snapshot) Close() {
	s.mu.Lock()
	v := s.v
	s.v = nil
	s.mu.Unlock()
	if v != nil {
		v.Unref()
	}
}

// hold begins a call on the snapshot's view, as Engine.acquire does on the current one.
func (s *Snapshot) hold() (v view, err error) {
	if err := s.e.index.Begin(); err != nil {
		return v, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.v == nil {
		s.e.index.End()
		return v, ErrClosed
	}
	s.v.Ref()
	return s.e.viewOf(s.v), nil
}

// Len returns the number of documents.
func (s *Snapshot) Len() (int, error) {
	v, err := s.hold()
	if err != nil {
		return 0, err
	}
	defer v.Release()
	return int(v.Docs()), nil
}

// Position returns the Batch.Position of the snapshot: that of the last batch with a position whose
// changes are in the snapshot, and nil if there is none. All batches before it are in the snapshot,
// too, and none after it, except batches without a position.
func (s *Snapshot) Position() ([]byte, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.position(), nil
}

// Revision names the documents that count in Statistics: snapshots of one revision have the same for every
// query. It is a text without spaces. Indexes to which the same batches with positions were applied (see
// Batch.Position), and no others, have the same revisions as long as none has a deleted document that is
// not merged away. Otherwise revisions of several engines differ.
func (s *Snapshot) Revision() (string, error) {
	v, err := s.hold()
	if err != nil {
		return "", err
	}
	defer v.Release()
	return v.Revision(), nil
}

// Get returns the stored fields of a document; see Hit.Fields for their types. It
// returns ErrNotFound when no document has the id.
func (s *Snapshot) Get(ctx context.Context, id string) (map[string]any, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.get(ctx, id)
}

// Len returns the number of documents in the current index.
func (e *Engine) Len() (int, error) {
	v, err := e.acquire()
	if err != nil {
		return 0, err
	}
	defer v.Release()
	return int(v.Docs()), nil
}

// Position returns the current Batch.Position of the index: that of the last batch with a position
// that searches see, and nil if there is none. Merges, Compact and Checkpoint keep it. After Open
// it is that of the last batch that survived, from which a caller continues.
//
// What searches see is durable unless Options.Durability is SyncNone. Then a position is durable
// once a Sync that began after it was returned has succeeded.
func (e *Engine) Position() ([]byte, error) {
	v, err := e.acquire()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.position(), nil
}

func (v view) position() []byte {
	if p := v.Position(); p != "" {
		return []byte(p)
	}
	return nil
}

// Get returns the stored fields of a document in the current index; see Snapshot.Get.
func (e *Engine) Get(ctx context.Context, id string) (map[string]any, error) {
	v, err := e.acquire()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.get(ctx, id)
}

func (v view) get(ctx context.Context, id string) (map[string]any, error) {
	segment, doc, err := v.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	return v.SegmentAt(segment).Fields(doc, []string{"*"})
}

// IDs iterates over the ids of all documents from the first one >= from, in ascending byte order.
// It ends early with an error. The body of the loop may do anything, including Close of the
// Snapshot and of the Engine. The loop then ends with ErrClosed, at the latest with its next page
// of some hundred ids.
//
//	for id, err := range s.IDs("") {
//		if err != nil { return err }
//		...
//	}
func (s *Snapshot) IDs(from string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		s.walk(from, func(_ view, d live.Document) bool { return yield(d.ID, nil) },
			func(err error) { yield("", err) })
	}
}

// A Document is one document: Snapshot.Documents yields it, and a Source passes it to Build.
type Document struct {
	ID     string
	Fields map[string]any // of a snapshot: the stored fields, see Hit.Fields

	// Version says which change the document comes from. It rises with every change, also across
	// restarts, so that Batch.PutIf can tell whether a document is still the one that was read. Documents
	// of Build, and those of an index that was made before there were versions, have version 1. Those of
	// one batch mostly have the same. A Source need not set it.
	//
	// A version is as durable as its batch: with Options.Durability SyncNone, a crash may lose the last
	// batches, and later ones get their versions.
	Version uint64

	// Value, unless nil, replaces Fields in a Source: a struct, or a map of another type, as for
	// Batch.Put. Snapshots leave it nil.
	Value any
}

// Documents iterates over all documents in the order of their ids, from the first
// id >= from. It ends early with an error. The body of the loop may do anything;
// see IDs.
func (s *Snapshot) Documents(from string) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		fail := func(err error) { yield(Document{}, err) }
		s.walk(from, func(v view, d live.Document) bool {
			doc, err := v.loadAnnounced(d)
			if err != nil {
				fail(err)
				return false
			}
			return yield(doc, nil)
		}, fail)
	}
}

// loadAnnounced loads a document in a call of its own.
func (v view) loadAnnounced(d live.Document) (Document, error) {
	if err := v.e.index.Begin(); err != nil {
		return Document{}, err
	}
	defer v.e.index.End()
	return v.load(d)
}

// load loads a document.
func (v view) load(d live.Document) (Document, error) {
	fields, err := d.Segment.Fields(d.Number, []string{"*"})
	if err != nil {
		return Document{}, err
	}
	version, err := v.VersionOf(d.Segment.Base() + d.Number)
	return Document{ID: d.ID, Fields: fields, Version: version}, err
}

// walkPage is how many ids are read before their documents are yielded.
const walkPage = 256

// walk calls visit for each live document in the order of ids, until it returns false. It calls
// fail at most once. Visits hold the view but are not calls that Close waits for: they run the body
// of the caller's loop.
func (s *Snapshot) walk(from string, visit func(view, live.Document) bool, fail func(error)) {
	for {
		v, page, err := s.page(from)
		if err != nil {
			fail(err)
			return
		}
		for _, p := range page {
			if !visit(v, p) {
				v.Unref()
				return
			}
		}
		v.Unref()
		if len(page) < walkPage {
			return
		}
		from = page[len(page)-1].ID + "\x00"
	}
}

// page reads a page of ids. The caller holds the returned view, which has the documents.
func (s *Snapshot) page(from string) (view, []live.Document, error) {
	v, err := s.hold()
	if err != nil {
		return v, nil, err
	}
	page, err := v.IDs(from, walkPage)
	if err != nil {
		v.Release()
		return v, nil, err
	}
	v.e.index.End()
	return v, page, nil
}
