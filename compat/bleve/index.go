package bleve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/analysis"
)

// An Index is a riffle index with bleve's terms. Its methods may be called by many goroutines.
type Index struct {
	name      string
	m         *Mapping
	engine    *riffle.Engine
	mostTerms int // riffle.Options.MaxTerms
	cache     columnCache
	byValues  bool // sorts by stored values although there are columns: for tests
}

// Options configures Open. A nil *Options is valid.
type Options struct {
	// Name is in every hit. The default is the directory, as in bleve.
	Name string

	// Engine are options of the riffle index. Schema, Analyzers, AllowUnknownFields and MaxFields are
	// set by Open.
	Engine *riffle.Options
}

// Open opens an index, or makes one. The mapping must be the one that it was made with: unlike bleve, an
// index does not store it.
//
// An index may as well be opened by riffle.Open, without its mapping, if this mapping defines no
// analyzers. Queries for terms find there what they find here.
func Open(dir string, m *Mapping, o *Options) (*Index, error) {
	if o == nil {
		o = &Options{}
	}
	var opts riffle.Options
	if o.Engine != nil {
		opts = *o.Engine
	}
	text := riffle.Field{Type: riffle.FieldText, NoStore: true}
	opts.Schema = &riffle.Schema{Analyzer: TermsAnalyzer, Fields: map[string]riffle.Field{allField: text, plainField(allField): text, idField: text}}
	m.columns.declare(opts.Schema.Fields)
	opts.Analyzers = map[string]analysis.Analyzer{TermsAnalyzer: valueAnalyzer{m}}
	opts.AllowUnknownFields = true
	opts.MaxFields = riffle.MaxMaxFields
	e, err := riffle.Open(dir, &opts)
	if err != nil {
		return nil, err
	}
	name := o.Name
	if name == "" {
		name = dir
	}
	mostTerms := opts.MaxTerms
	if mostTerms == 0 {
		mostTerms = riffle.DefaultMaxTerms
	}
	return &Index{name: name, m: m, engine: e, mostTerms: mostTerms}, nil
}

// Close closes the index.
func (x *Index) Close() error { return x.engine.Close() }

// Engine returns the riffle index.
func (x *Index) Engine() *riffle.Engine { return x.engine }

// A Document is a document to be indexed.
type Document struct {
	ID   string
	JSON []byte // an object
}

// Put adds documents, or replaces those with their ids, all or none. An error names the document.
func (x *Index) Put(ctx context.Context, docs ...Document) error {
	var b riffle.Batch
	for _, d := range docs {
		var value any
		err := json.Unmarshal(d.JSON, &value)
		var fields map[string]any
		if err == nil {
			fields, err = x.m.fields(d.ID, value)
		}
		if err != nil {
			return fmt.Errorf("bleve: document %q: %w", d.ID, err)
		}
		b.Put(d.ID, fields)
	}
	return x.engine.Apply(ctx, &b)
}

// Delete removes documents.
func (x *Index) Delete(ctx context.Context, ids ...string) error {
	var b riffle.Batch
	for _, id := range ids {
		b.Delete(id)
	}
	return x.engine.Apply(ctx, &b)
}

// Document returns the stored fields of a document, as a request for all fields does.
func (x *Index) Document(ctx context.Context, id string) (map[string]any, error) {
	fields, err := x.engine.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	values, err := decodeFields(fields)
	if err != nil {
		return nil, err
	}
	var h Hit
	h.load([]string{"*"}, values)
	return h.Fields, nil
}

// decodeFields returns the values of a stored document.
func decodeFields(fields map[string]any) (values []*value, err error) {
	for name, stored := range fields {
		list, ok := stored.([]any)
		if !ok {
			list = []any{stored}
		}
		for _, s := range list {
			text, ok := s.(string)
			if !ok {
				return nil, fmt.Errorf("field %q: %w", name, errEncoding)
			}
			v, err := decode(strings.TrimSuffix(name, separator), text)
			if err != nil {
				return nil, fmt.Errorf("field %q: %w", name, err)
			}
			values = append(values, &v)
		}
	}
	return values, nil
}

// Search answers a request in bleve's JSON. An error names the place in the request.
func (x *Index) Search(ctx context.Context, request []byte) (*Result, error) {
	return Alias{x}.Search(ctx, request)
}

// An Alias searches several indexes as one, as bleve's does: each has its own statistics, and their
// hits are merged. All have the mapping of the first.
type Alias []*Index

// ErrNoIndex is the error of an Alias without indexes.
var ErrNoIndex = errors.New("bleve: the alias has no index")
