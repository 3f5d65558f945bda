package segment

import (
	"slices"
	"strings"

	"github.com/riffle-search/riffle/columns"
)

// valuesFor returns the columns that those of a chunk are added to, some of which may be new.
func (b *Bulk) valuesFor(c *Chunk) []*gatheredValues {
	var into []*gatheredValues
	for _, cv := range c.values {
		if cv.values.len() == 0 {
			into = append(into, nil)
			continue
		}
		g := b.valuesByName[cv.name]
		if g == nil {
			g = &gatheredValues{name: strings.Clone(cv.name)}
			if b.valuesByName == nil {
				b.valuesByName = make(map[string]*gatheredValues)
			}
			b.valuesByName[g.name] = g
			b.values = append(b.values, g)
		}
		into = append(into, g)
	}
	return into
}

// addValues adds every n-th column of a chunk from the given one on.
func addValues(c *Chunk, into []*gatheredValues, from, n int, base uint32) {
	for i := from; i < len(into); i += n {
		if g := into[i]; g != nil {
			g.begin(c.values[i])
			g.add(c.values[i], 0, c.values[i].values.len(), base)
		}
	}
}

// writeBulkValues writes the columns of values.
func (m *merger) writeBulkValues(v *bulkView) error {
	return m.eachColumn(v.Columns(), m.opts.Workers, func(name string, emit func(part uint32, data []byte) error) (*columns.Builder, error) {
		if err := m.ctx.Err(); err != nil {
			return nil, err
		}
		g := v.valuesByName[name]
		e, err := encodeValues(g.values, &g.terms, g.mix.Kind(), 0, emit)
		if err != nil {
			return nil, err
		}
		return e.builder, e.builder.Finish(m.docs)
	})
}

// Columns implements Reader.
func (v *bulkView) Columns() []string {
	var names []string
	for _, g := range v.values {
		names = append(names, g.name)
	}
	slices.Sort(names)
	return names
}

// Column implements Reader. Each call makes it anew.
func (v *bulkView) Column(field string) (*columns.Column, error) {
	g := v.valuesByName[field]
	if g == nil {
		return nil, nil
	}
	e, err := encodeValues(g.values, &g.terms, g.mix.Kind(), 0, nil)
	if err != nil {
		return nil, err
	}
	return e.builder.View(v.docs)
}
