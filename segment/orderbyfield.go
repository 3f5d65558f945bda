package segment

import (
	"cmp"
	"slices"

	"github.com/riffle-search/riffle/columns"
)

// sortByField orders m.from by the values of m.order.Field: each document by its least one, or in
// descending order by its greatest. Documents without a value come last. Ties keep the order of arrival.
func (m *merger) sortByField() error {
	c := &columnMerger{merger: m, pace: pace{cores: m.opts.Cores}}
	if err := c.open(m.order.Field); err != nil {
		return err
	}
	// Keys of the inputs compare as those of one column, which nobody keeps.
	c.builder = columns.NewBuilder(c.kind, func(uint32, []byte) error { return nil })
	if err := c.prepare(); err != nil {
		return err
	}
	type place struct {
		key   uint64
		doc   uint32 // in order of arrival
		lacks bool   // a value
	}
	places := make([]place, len(m.from))
	for doc := range places {
		places[doc] = place{doc: uint32(doc), lacks: true}
	}
	for i, col := range c.inputs {
		if col == nil {
			continue
		}
		numbers := m.maps[i]
		err := c.each(i, func(old uint32, keys []uint64) error {
			keys = c.converted(i, keys)
			p := &places[numbers[old]]
			if p.key, p.lacks = keys[0], false; m.order.Descending {
				p.key = ^keys[len(keys)-1]
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		switch {
		case a.lacks != b.lacks && a.lacks:
			return 1
		case a.lacks != b.lacks:
			return -1
		case a.key != b.key:
			return cmp.Compare(a.key, b.key)
		}
		return cmp.Compare(a.doc, b.doc)
	})
	from := make([]origin, len(places))
	for doc, p := range places {
		from[doc] = m.from[p.doc]
	}
	m.from = from
	return nil
}
