package segment

import "github.com/riffle-search/riffle/columns"

// Updates are values that documents of a merge's input have got since they were added, in columns and in
// stored documents.
type Updates interface {
	// Columns lists the fields whose columns differ from the reader's.
	Columns() []string

	// Column returns the column of a field with the updates, or nil when no document has a value. c is that
	// of the reader, nil when it has none.
	Column(field string, c *columns.Column) (*columns.Column, error)

	// Stored returns the stored bytes of a document with the updates. data are those of the reader, which it
	// returns where there are none.
	Stored(doc uint32, data []byte) ([]byte, error)
}

// columns returns the fields of the input that have a column, in any order.
func (in *Input) columns() []string {
	names := in.Reader.Columns()
	if in.Updates != nil {
		names = append(names[:len(names):len(names)], in.Updates.Columns()...)
	}
	return names
}

// column returns the column of a field of the input, or nil.
func (in *Input) column(field string) (*columns.Column, error) {
	c, err := in.Reader.Column(field)
	if err != nil || in.Updates == nil {
		return c, err
	}
	return in.Updates.Column(field, c)
}

// storedOf returns the stored bytes of a document of the input.
func (in *Input) storedOf(doc uint32) ([]byte, error) {
	data, err := in.Reader.Stored(doc)
	if err != nil || in.Updates == nil {
		return data, err
	}
	return in.Updates.Stored(doc, data)
}
