package riffle

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/riffle-search/riffle/internal/bulk"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/live"
)

// Reindex builds an index in dir from the stored documents of a snapshot, under other options: another
// schema, other analyzers, another static rank. It is how an index changes what documents are indexed by,
// which Options.AlterSchema cannot do. A number that becomes a keyword is its digits, and a text that becomes a
// number what it spells. A nil schema is that of the snapshot's index. Documents lie in the order of
// their ids. The position is that of the snapshot, unless BuildOptions.Position is another. The index that
// the snapshot belongs to stays as it is, and may go on being used; what it takes meanwhile is not in the
// new one.
//
// A field that is not stored would be lost, so Reindex refuses an index whose schema has one, and names it.
// Values that are not stored because the tag of a struct says so are lost. Errors are those of Build.
func Reindex(ctx context.Context, from *Snapshot, dir string, opts *BuildOptions) (*BuildResult, error) {
	schema := from.e.Schema()
	if err := reindexable(schema); err != nil {
		return nil, err
	}
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.Index.Schema == nil {
		o.Index.Schema = schema
	}
	if len(o.Position) == 0 {
		if o.Position, err = from.Position(); err != nil {
			return nil, err
		}
	}
	r, err := bulk.Build(ctx, dir, bulk.Documents(from.stored(o.Index.Schema.internal())), o.bulk())
	if err != nil {
		return nil, err
	}
	return newBuildResult(r), nil
}

// reindexable reports the fields that documents have and snapshots lack.
func reindexable(s *Schema) error {
	if s.NoStore || s.Dynamic == DynamicIgnore {
		return errors.New("riffle: Reindex: the schema of the index does not store all fields (Schema.NoStore or Dynamic), so its documents cannot be indexed again")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
		if f := s.Fields[name]; f.NoStore && len(f.CopyFrom) == 0 {
			return fmt.Errorf("riffle: Reindex: field %q is not stored, so documents cannot be indexed again", name)
		}
	}
	return nil
}

// stored iterates over the documents as they are stored, with the rules of their values and the types of a schema.
func (s *Snapshot) stored(as *document.Schema) iter.Seq2[bulk.Document, error] {
	return func(yield func(bulk.Document, error) bool) {
		fail := func(err error) { yield(bulk.Document{}, err) }
		s.walk("", func(v view, d live.Document) bool {
			values, err := v.storedValues(d)
			if err != nil {
				fail(err)
				return false
			}
			return yield(bulk.Document{ID: d.ID, Doc: values.As(as)}, nil)
		}, fail)
	}
}

// storedValues reads a document in a call of its own.
func (v view) storedValues(d live.Document) (document.Stored, error) {
	if err := v.e.index.Begin(); err != nil {
		return nil, err
	}
	defer v.e.index.End()
	return readStored(d.Segment, d.Number)
}
