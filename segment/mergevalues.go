package segment

import (
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
)

// mergeValues writes the columns of values of all inputs.
func (m *merger) mergeValues() error {
	workers := m.opts.Workers
	if m.order.Kind != Arrival { // each holds all keys of a column
		workers = int(min(int64(workers), m.opts.MemoryBytes/(16*int64(m.docs)+1)))
	}
	return m.eachColumn(m.columnNames(), workers, func(name string, emit func(part uint32, data []byte) error) (*columns.Builder, error) {
		c := &columnMerger{merger: m, pace: pace{cores: m.opts.Cores}}
		err := c.merge(name, emit)
		return c.builder, err
	})
}

// A columnMerger merges the columns of a field. The new column has the kind of the values that are left,
// and only their terms: it is the same whatever segments they came from.
//
// It holds 4 bytes for each term of each input and, in an order other than that of arrival, 8 bytes for each
// document and for each value.
type columnMerger struct {
	*merger
	inputs  []*columns.Column // nil where an input has none
	kind    columns.Kind
	used    [][]uint32                // by input of kind Terms: usedTerm for the terms of live documents, else 0
	convert []func(key uint64) uint64 // by input: from its keys to those of the new column; nil for none
	builder *columns.Builder
	tile    columns.Selection
	keys    []uint64 // of a document
	pace    pace
}

// open opens the columns of the inputs, and chooses the kind of the new one.
func (c *columnMerger) open(name string) error {
	for _, in := range c.merger.inputs {
		col, err := in.column(name)
		if err != nil {
			return err
		}
		c.inputs = append(c.inputs, col)
	}
	c.convert = make([]func(uint64) uint64, len(c.inputs))
	return c.choose()
}

func (c *columnMerger) merge(name string, emit func(part uint32, data []byte) error) error {
	if err := c.open(name); err != nil {
		return err
	}
	c.builder = columns.NewBuilder(c.kind, emit)
	err := c.prepare()
	switch {
	case err != nil:
	case c.order.Kind == Arrival:
		err = c.addInTurn()
	default:
		err = c.addInOrder()
	}
	if err == nil {
		err = c.builder.Finish(c.docs)
	}
	return err
}

// each calls visit for the live documents of an input that have a value, with its keys.
func (c *columnMerger) each(input int, visit func(old uint32, keys []uint64) error) error {
	col, numbers := c.inputs[input], c.maps[input]
	for tile := range col.Tiles() {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if err := col.Select(tile, nil, columns.All, &c.tile); err != nil {
			return err
		}
		docs, keys := c.tile.Docs, c.tile.Keys
		c.pace.add(len(docs))
		for i := 0; i < len(docs); {
			end := i + 1
			for end < len(docs) && docs[end] == docs[i] {
				end++
			}
			old := uint32(tile)*blockmax.TileDocs + uint32(docs[i])
			if numbers[old] != NoDoc {
				if err := visit(old, keys[i:end]); err != nil {
					return err
				}
			}
			i = end
		}
	}
	return nil
}

// choose chooses the kind of the new column: that of its values, whatever kinds the inputs have.
func (c *columnMerger) choose() error {
	c.used = make([][]uint32, len(c.inputs))
	same, kind := true, columns.Kind(0)
	for _, col := range c.inputs {
		if col != nil {
			same, kind = same && (kind == 0 || kind == col.Kind()), col.Kind()
		}
	}
	if same && (kind == columns.Int || kind == columns.Bool || kind == columns.Time || kind == columns.Place) {
		c.kind = kind // as is any part of it
		return nil
	}
	var mix columns.Mix
	for i, col := range c.inputs {
		if col == nil {
			continue
		}
		var err error
		if col.Kind() == columns.Terms {
			err = c.mixTerms(&mix, i)
		} else {
			err = c.each(i, func(_ uint32, keys []uint64) error {
				for _, k := range keys {
					mix.AddKey(col.Kind(), k)
				}
				return nil
			})
		}
		if err != nil {
			return err
		}
	}
	c.kind = mix.Kind()
	return nil
}

// mixTerms adds the terms that live documents of an input have, and sets c.used.
func (c *columnMerger) mixTerms(mix *columns.Mix, input int) error {
	dictionary := c.inputs[input].Dictionary()
	used := make([]uint32, dictionary.Len())
	err := c.each(input, func(_ uint32, keys []uint64) error {
		for _, k := range keys {
			used[k] = usedTerm
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.used[input] = used
	last := len(used) - 1
	for last >= 0 && used[last] == 0 {
		last--
	}
	if last < 0 {
		return nil
	}
	term, err := dictionary.AppendTerm(nil, uint64(last))
	if err != nil {
		return err
	}
	v := columns.Value{Kind: columns.Terms, Term: string(term)}
	if mix.Add(v); mix.Kind() == columns.Terms {
		return nil // strings come last, and most have some
	}
	return dictionary.Each(0, last, func(ordinal int, term []byte) error {
		if used[ordinal] != 0 {
			mix.Add(columns.Value{Kind: columns.Terms, Term: string(term)})
		}
		return nil
	})
}

// prepare sets convert, and writes the dictionary of a column of terms.
func (c *columnMerger) prepare() error {
	if c.kind == columns.Terms {
		return c.mergeTerms()
	}
	for i, col := range c.inputs {
		switch {
		case col == nil || col.Kind() == c.kind:
		case col.Kind() == columns.Terms:
			used, keys := c.used[i], make([]uint64, len(c.used[i]))
			err := col.Dictionary().Each(0, len(used), func(ordinal int, term []byte) error {
				if used[ordinal] != 0 {
					keys[ordinal], _ = columns.Value{Kind: columns.Terms, Term: string(term)}.In(c.kind)
				}
				return nil
			})
			if err != nil {
				return err
			}
			c.convert[i] = func(key uint64) uint64 { return keys[key] }
		default:
			c.convert[i] = func(key uint64) uint64 {
				key, _ = columns.Value{Kind: col.Kind(), Key: key}.In(c.kind)
				return key
			}
		}
	}
	return nil
}

// mergeTerms writes the dictionary: the terms that live documents have.
func (c *columnMerger) mergeTerms() error {
	w := walk[*valueTerms]{key: (*valueTerms).Term, pace: pace{cores: c.opts.Cores}}
	defer w.close()
	for i, col := range c.inputs {
		if col == nil {
			continue
		}
		it, err := c.termsOf(i)
		if err == nil {
			err = w.add(i, it)
		}
		if err != nil {
			return err
		}
	}
	var last []byte
	next := uint32(0)
	for steps := 0; !w.done(); steps++ {
		if steps%1024 == 0 && c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		_, it := w.top()
		if term := it.Term(); next == 0 || string(term) != string(last) {
			if err := c.builder.Term(term); err != nil {
				return err
			}
			last = append(last[:0], term...)
			next++
		}
		it.number(next - 1)
		if err := w.next(); err != nil {
			return err
		}
	}
	return nil
}

// termsOf returns the terms of the values of an input, and sets convert so that it has their ordinals.
func (c *columnMerger) termsOf(input int) (*valueTerms, error) {
	col := c.inputs[input]
	if col.Kind() == columns.Terms {
		it := &valueTerms{dictionary: col.Dictionary(), ordinals: c.used[input]}
		c.convert[input] = func(key uint64) uint64 { return uint64(it.ordinals[key]) }
		return it, nil
	}
	// The keys of another kind are in the order of their terms.
	var keys []uint64
	err := c.each(input, func(_ uint32, some []uint64) error {
		if keys = append(keys, some...); len(keys) == cap(keys) { // many are alike
			slices.Sort(keys)
			keys = slices.Compact(keys)
		}
		return nil
	})
	slices.Sort(keys)
	keys = slices.Compact(keys)
	it := &valueTerms{kind: col.Kind(), keys: keys, ordinals: make([]uint32, len(keys))}
	for i := range it.ordinals {
		it.ordinals[i] = usedTerm
	}
	c.convert[input] = func(key uint64) uint64 {
		at, _ := slices.BinarySearch(keys, key)
		return uint64(it.ordinals[at])
	}
	return it, err
}

// usedTerm stands for the new ordinal of a term that has none yet. Terms with ordinal 0 are unused.
const usedTerm = 1

// valueTerms walks the terms of the column of an input that live documents have, and notes their new
// ordinals.
type valueTerms struct {
	dictionary *columns.Dictionary
	kind       columns.Kind // of keys, without a dictionary
	keys       []uint64
	ordinals   []uint32 // by old ordinal, or of keys: usedTerm or 0 before the walk, then the new ones
	next       int
	term       []byte
	err        error

	batch []byte // terms of the dictionary, from ordinal first on
	ends  []int  // of these, in batch
	first int
}

// dictionaryBatch is how many terms of a dictionary are read at once.
const dictionaryBatch = 256

// Next steps to the next term.
func (t *valueTerms) Next() bool {
	for t.next < len(t.ordinals) && t.ordinals[t.next] == 0 {
		t.next++
	}
	if t.next == len(t.ordinals) || t.err != nil {
		return false
	}
	if t.dictionary != nil {
		t.term = t.read(t.next)
	} else {
		t.term = columns.Value{Kind: t.kind, Key: t.keys[t.next]}.AppendTerm(t.term[:0])
	}
	t.next++
	return t.err == nil
}

// read returns a term of the dictionary. Ordinals ascend.
func (t *valueTerms) read(ordinal int) []byte {
	if ordinal >= t.first+len(t.ends) {
		t.batch, t.ends, t.first = t.batch[:0], t.ends[:0], ordinal
		t.err = t.dictionary.Each(ordinal, min(ordinal+dictionaryBatch, len(t.ordinals)), func(_ int, term []byte) error {
			t.batch = append(t.batch, term...)
			t.ends = append(t.ends, len(t.batch))
			return nil
		})
		if t.err != nil {
			return nil
		}
	}
	i, start := ordinal-t.first, 0
	if i > 0 {
		start = t.ends[i-1]
	}
	return t.batch[start:t.ends[i]]
}

// Term is the current term.
func (t *valueTerms) Term() []byte { return t.term }

// number notes the new ordinal of the current term.
func (t *valueTerms) number(ordinal uint32) { t.ordinals[t.next-1] = ordinal }

func (t *valueTerms) Err() error   { return t.err }
func (t *valueTerms) Close() error { return nil }

// converted returns keys of an input as those of the new column.
func (c *columnMerger) converted(input int, keys []uint64) []uint64 {
	convert := c.convert[input]
	if convert == nil {
		return keys
	}
	c.keys = c.keys[:0]
	for _, k := range keys {
		c.keys = append(c.keys, convert(k))
	}
	return c.keys
}

// addInTurn adds the documents of the inputs in order of arrival.
func (c *columnMerger) addInTurn() error {
	for i, col := range c.inputs {
		if col == nil {
			continue
		}
		numbers := c.maps[i]
		err := c.each(i, func(old uint32, keys []uint64) error { return c.builder.Add(numbers[old], c.converted(i, keys)...) })
		if err != nil {
			return err
		}
	}
	return nil
}

// addInOrder adds the documents of the inputs in their new order.
func (c *columnMerger) addInOrder() error {
	from := make([]uint64, c.docs+1) // of each new document: where its values begin, in keys
	pass := func(visit func(input int, doc uint32, keys []uint64) error) error {
		for i, col := range c.inputs {
			if col == nil {
				continue
			}
			numbers := c.maps[i]
			if err := c.each(i, func(old uint32, keys []uint64) error { return visit(i, numbers[old], keys) }); err != nil {
				return err
			}
		}
		return nil
	}
	err := pass(func(_ int, doc uint32, keys []uint64) error {
		from[doc+1] = uint64(len(keys))
		return nil
	})
	if err != nil {
		return err
	}
	for doc := range c.docs {
		from[doc+1] += from[doc]
	}
	all := make([]uint64, from[c.docs])
	err = pass(func(input int, doc uint32, keys []uint64) error {
		copy(all[from[doc]:from[doc+1]], c.converted(input, keys))
		return nil
	})
	for doc := uint32(0); doc < c.docs && err == nil; doc++ {
		if doc%blockmax.TileDocs == 0 {
			c.pace.add(blockmax.TileDocs)
			err = c.ctx.Err()
		}
		if keys := all[from[doc]:from[doc+1]]; len(keys) > 0 && err == nil {
			err = c.builder.Add(doc, keys...)
		}
	}
	return err
}
