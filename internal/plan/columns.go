package plan

import (
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/document"
)

// Columns returns the columns of a field in the segments of an index, for a part of a query or its
// options that needs one. That of a segment where no document has a value is nil. A field whose values
// have no column is an error that says how to get one.
func (p *Preparer) Columns(x Index, s *Settings, part, field string) ([]*columns.Column, error) {
	all := make([]*columns.Column, x.Segments())
	found := false
	for i := range all {
		c, err := x.Column(i, field)
		if err != nil {
			return nil, err
		}
		all[i], found = c, found || c != nil
	}
	if found {
		return all, nil
	}
	schema := p.rw.iv.Schema
	f, declared := schema.Fields[field]
	rw := p.Rewriter(x, s)
	switch kept := schema.HasColumn(field); {
	case declared && f.Type == document.TextField:
		return nil, Errorf(part, "field %q is text, which has no column; index it also as a keyword, under another name", document.ShortName(field))
	case declared && !kept:
		return nil, Errorf(part, "field %q has no column of values: set Field.Column in the schema, and Reindex", document.ShortName(field))
	case !rw.hasField(field) && kept && declared:
		return all, nil // no document has it yet
	case !rw.hasField(field):
		return all, rw.checkField(part, field)
	case !kept:
		return nil, Errorf(part, "field %q has no column of values: set Field.Column or Schema.Columns, and Reindex", document.ShortName(field))
	case rw.isText(field):
		return nil, Errorf(part, "field %q is text, which has no column; declare it as a keyword, and Reindex", document.ShortName(field))
	}
	return all, nil
}
