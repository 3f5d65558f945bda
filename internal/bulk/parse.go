package bulk

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/jsonl"
	"github.com/riffle-search/riffle/internal/live"
)

// A worker parses and inverts blocks. One goroutine uses it.
type worker struct {
	iv     *document.Inverter
	parser jsonl.Parser
	doc    jsonl.Document
	flat   document.Flattener
	copied map[string]bool // fields that others copy
}

func newWorker(s *document.Schema, o *live.Options) *worker {
	w := &worker{iv: document.NewInverter(s, o.RankField, s.Resolver(o.Analyzer), false), parser: jsonl.Parser{Borrow: true}, copied: map[string]bool{}}
	for _, f := range s.Fields {
		for _, from := range f.CopyFrom {
			w.copied[from] = true
		}
	}
	return w
}

// parse inverts the documents of a block. It stops when ctx is done.
func (w *worker) parse(ctx context.Context, b *docBlock) {
	in := &b.input
	if in.bad {
		b.faults = append(b.faults, in.err)
		in.err = nil
	}
	for _, d := range in.docs {
		if ctx.Err() != nil {
			return
		}
		if err := w.value(b, d); err != nil {
			b.faults = append(b.faults, err)
		}
	}
	jsonl.Lines(in.lines, in.first, func(number int, line []byte) bool {
		if err := w.line(b, line); err != nil {
			b.faults = append(b.faults, atLine(err, in.file, number))
		}
		return ctx.Err() == nil
	})
}

// atLine adds the file and line to a fault.
func atLine(err error, file string, line int) error {
	var bad *jsonl.LineError
	if errors.As(err, &bad) {
		return &InputError{File: file, Line: line, Column: bad.Column, Err: errors.New(bad.Reason)}
	}
	return &InputError{File: file, Line: line, Err: err}
}

// value inverts a document that is a Go value.
func (w *worker) value(b *docBlock, d Document) error {
	w.flat.Reset()
	if err := w.flat.Flatten(d.Doc); err != nil {
		var de *document.Error
		if errors.As(err, &de) {
			de.ID = d.ID
			return err
		}
		return &document.Error{ID: d.ID, Err: err}
	}
	return w.invert(b, d.ID, w.flat.Values)
}

// line inverts a document that is a line of JSON.
func (w *worker) line(b *docBlock, line []byte) error {
	if err := w.parser.Parse(line, &w.doc); err != nil {
		return err
	}
	f := &w.flat
	f.Reset()
	for i := range w.doc.Fields {
		field := &w.doc.Fields[i]
		switch v := field.Value.(type) {
		case []string:
			for _, s := range v {
				f.Put(document.Text(field.Name, s))
			}
		case []any:
			for _, e := range v {
				w.put(field.Name, e)
			}
		default:
			w.put(field.Name, v)
		}
	}
	id := w.doc.ID
	if b.input.prefix != "" {
		id = b.input.prefix + id
	}
	if f.Err != nil {
		var de *document.Error
		if errors.As(f.Err, &de) {
			de.ID = strings.Clone(id)
		}
		return f.Err
	}
	// In the order of Batch.Put, which sorts the entries of a map by name.
	slices.SortStableFunc(f.Values, func(a, b document.Value) int { return strings.Compare(a.Name, b.Name) })
	return w.invert(b, id, f.Values)
}

// put adds a single value of a line to the current document.
func (w *worker) put(name string, v any) {
	switch v := v.(type) {
	case string:
		w.flat.Put(document.Text(name, v))
	case int64:
		w.flat.Put(document.Int(name, v))
	case uint64:
		w.flat.Put(document.Uint(name, v))
	case float64:
		w.flat.AddFloat(name, v)
	case bool:
		w.flat.Put(document.Bool(name, v))
	}
}

// invert adds a document to the chunk of a block.
func (w *worker) invert(b *docBlock, id string, vals []document.Value) error {
	if err := document.CheckID(id); err != nil {
		return err
	}
	if err := w.iv.Invert(&b.chunk, id, vals); err != nil {
		return err
	}
	for i := range vals {
		v := &vals[i]
		if v.Kind != document.KindText {
			continue
		}
		if f, known := w.iv.Schema.Fields[v.Name]; w.iv.Indexes(v, f, known) || w.iv.Stores(v, f, known) || w.copied[v.Name] {
			b.textBytes += int64(len(v.Str))
		}
	}
	return nil
}
