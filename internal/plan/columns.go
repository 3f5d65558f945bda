package plan

import "github.com/riffle-search/riffle/columns"

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
	return all, p.Rewriter(x, s).CheckColumn(part, field)
}
