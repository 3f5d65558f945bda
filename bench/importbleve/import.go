package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	upstream "github.com/blevesearch/bleve/v2"
	_ "github.com/blevesearch/bleve/v2/config" // all that a mapping can name
	index "github.com/blevesearch/bleve_index_api"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/compat/bleve"
)

// Imported says what Import has done.
type Imported struct {
	Docs     int
	Problems []bleve.Problem // of the mapping, and fields whose values are lost
}

// Import makes an index of riffle in a new directory, with the documents of an index of bleve. Without
// a schema it makes one of bleve's mapping.
func Import(ctx context.Context, from, to string, schema *riffle.Schema) (done *Imported, err error) {
	old, err := upstream.OpenUsing(from, map[string]any{"read_only": true})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	done = &Imported{}
	if schema == nil {
		text, err := json.Marshal(old.Mapping())
		if err != nil {
			return nil, err
		}
		m, err := bleve.ParseMapping(text)
		if err != nil {
			return nil, err
		}
		schema, done.Problems = m.Schema()
	}
	advanced, err := old.Advanced()
	if err != nil {
		return nil, err
	}
	reader, err := advanced.Reader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	d := documents{reader: reader, schema: schema, stored: map[string]bool{}, skipped: map[string]bool{}}
	built, err := riffle.Build(ctx, to, riffle.Documents(d.all()), &riffle.BuildOptions{Index: riffle.Options{Schema: schema}})
	if err != nil {
		return nil, err
	}
	done.Docs = built.Docs
	names, err := reader.Fields()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if name != "_id" && name != "_all" && !d.stored[name] && !d.skipped[name] {
			done.Problems = append(done.Problems, bleve.Problem{Path: fmt.Sprintf("field %q", name), Reason: "bleve has not stored its values; they are not copied"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.skipped)) {
		done.Problems = append(done.Problems, bleve.Problem{Path: fmt.Sprintf("field %q", name), Reason: "its values are neither texts, numbers, dates nor booleans; they are not copied"})
	}
	return done, nil
}

// documents reads the documents of an index of bleve.
type documents struct {
	reader  index.IndexReader
	schema  *riffle.Schema
	stored  map[string]bool // fields with stored values
	skipped map[string]bool // fields with values of other kinds
}

// all yields the documents in the order of bleve's index. An error ends it.
func (d *documents) all() iter.Seq2[riffle.Document, error] {
	return func(yield func(riffle.Document, error) bool) {
		ids, err := d.reader.DocIDReaderAll()
		if err != nil {
			yield(riffle.Document{}, err)
			return
		}
		defer ids.Close()
		for {
			internal, err := ids.Next()
			if err == nil && internal == nil {
				return
			}
			var doc riffle.Document
			if err == nil {
				doc, err = d.read(internal)
			}
			if !yield(doc, err) || err != nil {
				return
			}
		}
	}
}

// read reads one document.
func (d *documents) read(internal index.IndexInternalID) (out riffle.Document, err error) {
	if out.ID, err = d.reader.ExternalID(internal); err != nil {
		return out, err
	}
	doc, err := d.reader.Document(out.ID)
	if err != nil {
		return out, fmt.Errorf("document %q: %w", out.ID, err)
	}
	if doc == nil {
		return out, fmt.Errorf("document %q: bleve lists it, but does not have it", out.ID)
	}
	values := map[string][]any{}
	doc.VisitFields(func(f index.Field) {
		name := f.Name()
		if name == "_id" {
			return
		}
		v, fault := value(f)
		switch {
		case fault != nil:
			err = errors.Join(err, fmt.Errorf("document %q: field %q: %w", out.ID, name, fault))
		case v == nil:
			d.skipped[name] = true
		default:
			d.stored[name] = true
			values[name] = append(values[name], v)
		}
	})
	// A field that copies another is no part of a document. It may be the only one that bleve stored.
	for name, list := range values {
		if f := d.schema.Fields[name]; len(f.CopyFrom) == 1 {
			if source := f.CopyFrom[0]; values[source] == nil {
				values[source] = list
			}
			delete(values, name)
		}
	}
	out.Fields = make(map[string]any, len(values))
	for name, list := range values {
		if len(list) == 1 {
			out.Fields[name] = list[0]
		} else {
			out.Fields[name] = list
		}
	}
	return out, err
}

// value returns a stored value, or nil if riffle has no such kind.
func value(f index.Field) (any, error) {
	switch f := f.(type) {
	case index.TextField:
		return f.Text(), nil
	case index.NumericField:
		return f.Number()
	case index.DateTimeField:
		t, _, err := f.DateTime()
		return t, err
	case index.BooleanField:
		return f.Boolean()
	}
	return nil, nil
}
