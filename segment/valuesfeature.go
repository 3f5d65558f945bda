package segment

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/corrupt"
)

// columnsFeature is the feature of a segment with columns of values. Its data are the fields that have
// one:
//
//	for each, by ascending name   varint   number of the field, plus one
//	  or, if it has no terms      varint   0
//	                              text     its name
//
// Columns are numbered in this order. The parts of a column (package columns) lie under its number, in keys
// of kind 85: its dictionary, then its values, then its directory. They are sealed values.
const columnsFeature = "columns"

// geoFeature is the required feature of a segment with a column that has points of the Earth, which
// earlier builds cannot read. It has no data.
const geoFeature = "geo points"

// A columnWriter writes the parts of one column.
type columnWriter struct {
	m     *merger
	name  string
	parts int
}

// beginColumn begins a column. They come by ascending name.
func (m *merger) beginColumn(name string) *columnWriter { return &columnWriter{m: m, name: name} }

// emit writes a part.
func (w *columnWriter) emit(part uint32, data []byte) error {
	w.parts++
	return w.m.seal(valuesKey(uint32(len(w.m.columns)), part), func(dst []byte) []byte { return append(dst, data...) })
}

// end ends the column, which a builder has finished. One without values has no part, and is none.
func (w *columnWriter) end(b *columns.Builder) {
	if w.parts > 0 {
		w.m.columns = append(w.m.columns, w.name)
		w.m.geo = w.m.geo || b.HasPlaces()
	}
}

// columnFeature appends the feature if there are columns.
func (m *merger) columnFeature(features []feature) []feature {
	if len(m.columns) == 0 {
		return features
	}
	var data []byte
	for _, name := range m.columns {
		if i, ok := findField(m.fields, name); ok {
			data = binary.AppendUvarint(data, uint64(i)+1)
		} else {
			data = appendText(append(data, 0), name)
		}
	}
	if m.geo {
		features = append(features, feature{name: geoFeature, required: true})
	}
	return append(features, feature{name: columnsFeature, required: true, kinds: []Kind{kindValues}, data: data})
}

// openColumns sets m.columns from the feature, if the segment has it.
func (m *meta) openColumns() error {
	for _, f := range m.features {
		if f.name != columnsFeature {
			continue
		}
		d := newDecoder(f.data)
		for d.left() > 0 && d.err == nil {
			var name string
			switch n := d.uint("number of a field with a column", math.MaxUint32); {
			case n > uint64(len(m.fields)):
				d.fail("field %d has a column; there are %d", n-1, len(m.fields))
			case n > 0:
				name = m.fields[n-1].Name
			default:
				name = string(d.text("name of a column"))
			}
			if n := len(m.columns); d.err == nil && n > 0 && name <= m.columns[n-1] {
				return corrupt.New(-1, "the column of %q follows that of %q", name, m.columns[n-1])
			}
			m.columns = append(m.columns, name)
		}
		return d.err
	}
	return nil
}

// Columns implements Reader.
func (d *Disk) Columns() []string { return d.meta.columns }

// Column implements Reader. It reads the directory, and other parts when they are needed. Each call opens
// the column anew.
func (d *Disk) Column(field string) (*columns.Column, error) {
	i, ok := slices.BinarySearch(d.meta.columns, field)
	if !ok {
		return nil, nil
	}
	return d.openColumn(uint32(i), func(part uint32) ([]byte, error) {
		payload, _, err := d.sealedOrLent(valuesKey(uint32(i), part))
		return payload, err
	})
}

// openColumn opens the column of a number, whose parts load reads.
func (d *Disk) openColumn(number uint32, load func(part uint32) ([]byte, error)) (*columns.Column, error) {
	directory, err := load(columns.DirectoryPart)
	if err != nil {
		return nil, err
	}
	c, err := columns.Open(directory, load)
	if err == nil && c.SegmentDocs() != int(d.meta.docs) {
		err = corrupt.New(-1, "a column of %d documents, want %d", c.SegmentDocs(), d.meta.docs)
	}
	if err != nil {
		return nil, d.at(err, valuesKey(number, columns.DirectoryPart))
	}
	return c, nil
}

// columnNames returns the names of the columns of all inputs, sorted.
func (m *merger) columnNames() []string {
	var names []string
	for _, in := range m.inputs {
		names = append(names, in.columns()...)
	}
	slices.SortFunc(names, strings.Compare)
	return slices.Compact(names)
}
