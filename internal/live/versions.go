package live

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/segment"
)

// A document's version says which change it comes from. It is the number of that change's log record
// plus one, so it rises with the log, survives crashes with it, and nothing has to count. The changes of
// a batch have one version, or a few if the batch is so large that it has several records.
//
// A segment keeps versions in a column (segment.VersionColumn). Documents that came without a log, by
// Build, or before there were versions, have firstVersion, which no log record has.
const firstVersion = 1

// versionOf returns the version of what a log record changes.
func versionOf(seq uint64) uint64 { return seq + firstVersion }

// batchVersions are the versions of what the operations of a batch change.
type batchVersions struct {
	first uint64
	cuts  []int // where the next ones begin, as document.EncodeRecords returns them
}

// of returns the version of what an operation changes.
func (b batchVersions) of(op int) uint64 {
	n, found := slices.BinarySearch(b.cuts, op)
	if found {
		n++
	}
	return b.first + uint64(n)
}

// Version returns the version of the last batch in the view.
func (v *View) Version() uint64 { return v.version }

// VersionOf returns the version of a document by its number in the view.
func (v *View) VersionOf(doc uint32) (uint64, error) {
	part := v.PartOf(doc)
	column, err := v.Column(part, segment.VersionColumn)
	if err != nil || column == nil {
		return firstVersion, err
	}
	var key [1]uint64
	var has [1]bool
	err = column.Gather([]uint32{doc - v.parts[part].base}, columns.Least, key[:], has[:])
	if err != nil {
		return 0, v.parts[part].At(err)
	}
	if !has[0] {
		return firstVersion, nil
	}
	return uint64(columns.Value{Kind: columns.Int, Key: key[0]}.Any().(int64)), nil
}

// versionOfID returns the version of the document of an id, or 0 if there is none.
func (v *View) versionOfID(ctx context.Context, id string) (uint64, error) {
	i, doc, err := v.Find(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return v.VersionOf(v.segs[i].base + doc)
}

// ErrConflict: a document does not have the version on which a change depends.
var ErrConflict = errors.New("riffle: version conflict")

// A ConflictError says which document does not have the version on which a change of a batch depends.
// Nothing of the batch has been applied. It matches ErrConflict.
type ConflictError struct {
	ID   string // id of the document
	Want uint64 // the version that the change depends on; 0 for no document
	Have uint64 // the version that the document has; 0 if there is none
}

func (e *ConflictError) Error() string {
	switch {
	case e.Want == 0:
		return fmt.Sprintf("%v: document %q exists, with version %d", ErrConflict, e.ID, e.Have)
	case e.Have == 0:
		return fmt.Sprintf("%v: document %q does not exist, want version %d", ErrConflict, e.ID, e.Want)
	}
	return fmt.Sprintf("%v: document %q has version %d, want %d", ErrConflict, e.ID, e.Have, e.Want)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// checkVersions returns a *ConflictError for each operation of a batch whose document does not have the
// version on which it depends. The caller holds ix.order: the batch is the next one in the log, so the
// documents are those of the current view, as the queue and the batch's own operations change them.
// Reading them may wait for the disk, but locate has just looked up the same ids.
func (ix *Index) checkVersions(ctx context.Context, p *pendingBatch) error {
	coming := map[string]uint64{}  // the version of a document, of which a condition speaks, in no view yet
	updated := map[string]uint64{} // that of a document of the view, if there is one, in no view yet
	for i := range p.ops {
		if p.ops[i].Conditional {
			coming[p.ops[i].ID] = unknownVersion
		}
	}
	if len(coming) == 0 {
		return nil
	}
	follow := func(op *document.Operation, version uint64) {
		switch have, ok := coming[op.ID]; {
		case !ok, op.Update && have == 0:
		case op.Update && have == unknownVersion:
			updated[op.ID] = version
		case op.Delete:
			coming[op.ID] = 0
		default:
			coming[op.ID] = version
		}
	}
	ix.mu.Lock()
	v := ix.retain()
	for _, q := range ix.queue { // if one of them fails, so does this batch
		for i := range q.ops {
			follow(&q.ops[i], q.versions.of(i))
		}
	}
	ix.mu.Unlock()
	defer v.Unref()
	var conflicts []error
	for i := range p.ops {
		op := &p.ops[i]
		if op.Conditional {
			have := coming[op.ID]
			if have == unknownVersion {
				var err error
				if have, err = v.versionOfID(ctx, op.ID); err != nil {
					return err
				}
				if later, ok := updated[op.ID]; ok && have > 0 {
					have = later
				}
				coming[op.ID] = have
			}
			if have != op.Version {
				conflicts = append(conflicts, &ConflictError{ID: op.ID, Want: op.Version, Have: have})
			}
		}
		follow(op, p.versions.of(i))
	}
	return errors.Join(conflicts...)
}

// unknownVersion stands for the version of the document in the view.
const unknownVersion = ^uint64(0)
