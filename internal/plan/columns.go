package plan

import (
	"context"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/internal/datemath"
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
	if found && s.Gather == nil {
		return all, nil
	}
	return all, p.Rewriter(x, s).CheckColumn(part, field)
}

// CheckColumn reports why the values of a field cannot be had by document, if that is so. part names
// who wants them, in errors.
func (rw *Rewriter) CheckColumn(part, field string) error {
	if field == "" {
		return Errorf(part, "is empty")
	}
	if t, err := rw.traitsOf(field, aspectColumn); err != nil || t&hasColumn != 0 {
		return err
	}
	f, declared := rw.iv.Schema.Fields[field]
	if !declared || !f.NoIndex {
		if err := rw.checkField(part, field); err != nil {
			return err
		}
	}
	if (declared || rw.hasField(field)) && rw.isText(field) {
		return Errorf(part, "field %q is text, which has no column; index it as a keyword, too, under another name", document.ShortName(field))
	}
	if rw.allowUnknown && !declared || rw.iv.Schema.HasColumn(field) {
		return nil
	}
	return Errorf(part, "field %q has no column: ask for one by Field.Column or Schema.Columns, and Reindex", document.ShortName(field))
}

// RangeBound returns a bound of a range of a field's column, for Range.From and Range.To alike: see
// riffle.Range. With up, the last instant of what a text says is meant.
func (rw *Rewriter) RangeBound(part, field string, x any, timeZone string, up bool) (columns.Value, error) {
	v, err := rw.boundValue(part, field, x, timeZone, up)
	if err != nil {
		return columns.Value{}, err
	}
	return v.Column(), nil
}

// boundValue is RangeBound before the column, which rounds places.
func (rw *Rewriter) boundValue(part, field string, x any, timeZone string, up bool) (v document.Value, err error) {
	zone, err := datemath.Zone(timeZone)
	if err != nil {
		return v, Errorf(part, "%w", err)
	}
	if v, err = valueOf(field, x); err != nil {
		return v, Errorf(part, "field %q: %#v is not a value", field, x)
	}
	if v, err = rw.rangeBound(field, v, zone, up); err != nil {
		return v, Errorf(part, "field %q: %w", field, err)
	}
	return v, nil
}

// FilterSet returns the documents of a segment that pass a filter, as a bitmap that must not be
// changed; nil stands for none. The index may cache it.
func FilterSet(ctx context.Context, x Index, c Clause, o *Settings, segment int) ([]uint64, error) {
	s := shape{filter: []Clause{c}}
	filter := filterOf(s.filter, nil)
	text := filter.setText()
	f := x.Filter(segment, text)
	if f == nil {
		set, err := newFilterMaker(ctx, x, s, o).make(segment)
		if err != nil {
			return nil, err
		}
		f = cache.NewFilter(set, x.Segment(segment).Reader().Docs())
		x.KeepFilter(segment, text, f)
	}
	set, _ := f.Documents()
	return set, nil
}
