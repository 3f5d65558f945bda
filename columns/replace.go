package columns

import (
	"slices"
	"strings"
	"sync"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// A Patch gives some documents of a column other values.
type Patch struct {
	Docs   *Column // the documents that have a value here are those of the patch
	Values *Column // what these have; nil when none of them has a value
}

// Replace returns a column of a segment of docs documents in which the documents of a patch have its
// values, and the others those of c. c may be nil for a column without values, and so is the result when no
// document is left with one. The result shares with c, which stays as it is, all tiles that the patch
// leaves alone; the others are encoded and lie in memory.
//
// Values that the kind of c cannot hold, or terms that its dictionary lacks, make that all of c is encoded
// anew.
func Replace(c *Column, docs uint32, with Patch) (*Column, error) {
	c, convert, err := conformed(c, docs, with.Values)
	if err != nil || c == nil {
		return nil, err
	}
	r := replacers.Get().(*replacer)
	defer replacers.Put(r)
	d := &directory{
		kind: c.d.kind, docs: docs, chunks: c.d.chunks, sums: c.d.sums, inlined: c.d.inlined, terms: c.d.terms,
		tiles: make([]tile, 0, len(c.d.tiles)+len(with.Docs.d.tiles)),
	}
	rest := c.d.tiles
	for i := range with.Docs.d.tiles {
		number := with.Docs.d.tiles[i].number
		at, has := slices.BinarySearchFunc(rest, number, func(t tile, n uint32) int { return int(t.number) - int(n) })
		d.tiles = append(d.tiles, rest[:at]...)
		if rest = rest[at:]; has {
			rest = rest[1:]
		}
		length := int(min(TileDocs, int64(docs)-int64(number)*TileDocs))
		if err := r.merge(c, with, int(number), length, convert); err != nil {
			return nil, err
		}
		if len(r.pending.docs) > 0 {
			t, data := r.pending.encode(nil, length)
			t.data = guarded(data)
			d.tiles = append(d.tiles, t)
		}
	}
	d.tiles = append(d.tiles, rest...)
	if len(d.tiles) == 0 {
		return nil, nil
	}
	d.sumUp()
	return &Column{d: d, load: c.load, chunks: c.chunks, checked: c.checked, compared: c.compared, differ: c.differ, dictionary: c.dictionary}, nil
}

// A replacer merges tiles.
type replacer struct {
	old, new Selection
	set      [tileWords]uint64
	keys     []uint64
	pending  pending
}

var replacers = sync.Pool{New: func() any { return new(replacer) }}

// merge makes the tile of a number pending.
func (r *replacer) merge(c *Column, with Patch, number, length int, convert func(uint64) uint64) error {
	if _, err := with.Docs.Have(number, &r.set); err != nil {
		return err
	}
	if err := c.Select(number, nil, All, &r.old); err != nil {
		return err
	}
	r.new.Docs, r.new.Keys = r.new.Docs[:0], r.new.Keys[:0]
	if with.Values != nil {
		if err := with.Values.Select(number, nil, All, &r.new); err != nil {
			return err
		}
	}
	if n := len(r.new.Docs); n > 0 && int(r.new.Docs[n-1]) >= length {
		return corrupt.New(-1, "a patch of document %d of %d in tile %d", r.new.Docs[n-1], length, number)
	}
	r.pending.reset()
	r.pending.number = uint32(number)
	old, new := 0, 0
	for old < len(r.old.Docs) || new < len(r.new.Docs) {
		if new == len(r.new.Docs) || old < len(r.old.Docs) && r.old.Docs[old] < r.new.Docs[new] {
			doc, from := r.old.Docs[old], old
			for old < len(r.old.Docs) && r.old.Docs[old] == doc {
				old++
			}
			if r.set[doc/64]>>(doc%64)&1 == 0 {
				r.pending.add(doc, r.old.Keys[from:old])
			}
			continue
		}
		doc := r.new.Docs[new]
		r.keys = r.keys[:0]
		for ; new < len(r.new.Docs) && r.new.Docs[new] == doc; new++ {
			r.keys = append(r.keys, convert(r.new.Keys[new]))
		}
		if r.set[doc/64]>>(doc%64)&1 == 1 {
			r.pending.add(doc, r.keys)
		}
	}
	return nil
}

// conformed returns a column with the values of c whose kind and dictionary hold all values of another,
// too, and how to turn keys of the other into its own. The column is nil when both have no value.
func conformed(c *Column, docs uint32, other *Column) (_ *Column, convert func(uint64) uint64, err error) {
	same := func(key uint64) uint64 { return key }
	switch {
	case other == nil:
		return c, same, nil
	case c == nil:
		d := &directory{kind: other.d.kind, docs: docs, terms: other.d.terms}
		return &Column{d: d, dictionary: other.dictionary}, same, nil
	}
	for range 2 {
		if convert, err = c.keysOf(other); err != nil || convert != nil {
			return c, convert, err
		}
		if c, err = c.widened(docs, other); err != nil {
			return nil, nil, err
		}
	}
	panic("BUG: columns: a column that was widened is too narrow")
}

// keysOf returns how to turn the keys of another column into those of c, or nil when c lacks one.
func (c *Column) keysOf(other *Column) (convert func(uint64) uint64, err error) {
	from, to := other.d.kind, c.d.kind
	switch {
	case from == to && from != Terms, other.dictionary != nil && other.dictionary == c.dictionary:
		return func(key uint64) uint64 { return key }, nil
	case from == Terms && to == Terms:
		used, terms, err := other.terms()
		ordinals := make([]uint64, other.dictionary.Len())
		for i, term := range terms {
			at, found, err := c.dictionary.Find([]byte(term))
			if err != nil || !found {
				return nil, err
			}
			ordinals[used[i]] = uint64(at)
		}
		return func(key uint64) uint64 { return ordinals[key] }, err
	}
	keys, all := map[uint64]uint64{}, true
	err = other.eachKey(func(key uint64) error {
		if _, known := keys[key]; known || !all {
			return nil
		}
		v, err := other.Value(key)
		if err != nil {
			return err
		}
		at, ok := uint64(0), false
		if to != Terms {
			at, ok = v.In(to)
		} else {
			var ord int
			ord, ok, err = c.dictionary.Find(v.AppendTerm(nil))
			at = uint64(ord)
		}
		keys[key], all = at, all && ok
		return err
	})
	if err != nil || !all {
		return nil, err
	}
	return func(key uint64) uint64 { return keys[key] }, nil
}

// eachKey calls f with the keys of all values.
func (c *Column) eachKey(f func(key uint64) error) error {
	var s Selection
	for i := range c.d.tiles {
		if err := c.Select(int(c.d.tiles[i].number), nil, All, &s); err != nil {
			return err
		}
		for _, key := range s.Keys {
			if err := f(key); err != nil {
				return err
			}
		}
	}
	return nil
}

// distinctKeys returns the keys of all values, ascending, each once.
func (c *Column) distinctKeys() (keys []uint64, err error) {
	if c.d.kind == Terms {
		used := make([]bool, c.dictionary.Len())
		err = c.eachKey(func(key uint64) error { used[key] = true; return nil })
		for key, is := range used {
			if is {
				keys = append(keys, uint64(key))
			}
		}
		return keys, err
	}
	most := 1 << 16
	err = c.eachKey(func(key uint64) error {
		if keys = append(keys, key); len(keys) >= most { // many are alike
			slices.Sort(keys)
			keys = slices.Compact(keys)
			most = max(most, 2*len(keys))
		}
		return nil
	})
	slices.Sort(keys)
	return slices.Compact(keys), err
}

// widened returns a column in memory with the values of c, of a kind and with a dictionary that hold the
// values of another column, too. It has no terms that no document has.
func (c *Column) widened(docs uint32, other *Column) (*Column, error) {
	kind := Terms
	if c.d.kind != Terms && other.d.kind != Terms {
		var mix Mix
		for _, col := range [...]*Column{c, other} {
			if err := col.eachKey(func(key uint64) error { mix.AddKey(col.d.kind, key); return nil }); err != nil {
				return nil, err
			}
		}
		kind = mix.Kind()
	}
	b := NewBuilder(kind, nil)
	convert := func(key uint64) uint64 {
		key, _ = Value{Kind: c.d.kind, Key: key}.In(kind)
		return key
	}
	if kind == Terms {
		var err error
		if convert, err = addTerms(b, c, other); err != nil {
			return nil, err
		}
	}
	var s Selection
	var keys []uint64
	for i := range c.d.tiles {
		number := c.d.tiles[i].number
		if err := c.Select(int(number), nil, All, &s); err != nil {
			return nil, err
		}
		for at := 0; at < len(s.Docs); {
			doc := s.Docs[at]
			keys = keys[:0]
			for ; at < len(s.Docs) && s.Docs[at] == doc; at++ {
				keys = append(keys, convert(s.Keys[at]))
			}
			if err := b.Add(number*TileDocs+uint32(doc), keys...); err != nil {
				return nil, err
			}
		}
	}
	return b.View(docs)
}

// addTerms gives a builder the terms of all values of two columns. It returns how to turn keys of the first
// into ordinals.
func addTerms(b *Builder, c, other *Column) (convert func(uint64) uint64, err error) {
	keys, mine, err := c.terms()
	if err != nil {
		return nil, err
	}
	_, others, err := other.terms()
	if err != nil {
		return nil, err
	}
	ordinals := make([]uint64, len(keys))
	for i, n := 0, uint64(0); i < len(mine) || len(others) > 0; n++ {
		order := 1 // of the next one of mine and of others
		if i < len(mine) {
			if order = -1; len(others) > 0 {
				order = strings.Compare(mine[i], others[0])
			}
		}
		term := ""
		if order >= 0 {
			term, others = others[0], others[1:]
		}
		if order <= 0 {
			term, ordinals[i] = mine[i], n
			i++
		}
		if err := b.Term([]byte(term)); err != nil {
			return nil, err
		}
	}
	if c.d.kind != Terms {
		return func(key uint64) uint64 {
			at, _ := slices.BinarySearch(keys, key)
			return ordinals[at]
		}, nil
	}
	byKey := make([]uint64, c.dictionary.Len())
	for i, key := range keys {
		byKey[key] = ordinals[i]
	}
	return func(key uint64) uint64 { return byKey[key] }, nil
}

// terms returns the keys of all values, ascending, each once, and their terms.
func (c *Column) terms() (keys []uint64, terms []string, err error) {
	if keys, err = c.distinctKeys(); err != nil {
		return nil, nil, err
	}
	if c.d.kind != Terms {
		for _, key := range keys {
			terms = append(terms, string(Value{Kind: c.d.kind, Key: key}.AppendTerm(nil)))
		}
		return keys, terms, nil
	}
	err = c.dictionary.Each(0, c.dictionary.Len(), func(ord int, term []byte) error {
		if len(terms) < len(keys) && keys[len(terms)] == uint64(ord) {
			terms = append(terms, string(term))
		}
		return nil
	})
	return keys, terms, err
}

// FromValues returns the column of documents that ascend, in memory, or nil when none has a value. The
// values of document docs[i] end before values[ends[i]], and may come in any order. The kind is that of a Mix.
func FromValues(segmentDocs uint32, docs, ends []uint32, values []Value) (*Column, error) {
	if len(values) == 0 {
		return nil, nil
	}
	var mix Mix
	for i := range values {
		mix.Add(values[i])
	}
	kind := mix.Kind()
	b := NewBuilder(kind, nil)
	keys := make([]uint64, len(values))
	if kind == Terms {
		terms := make([]string, len(values))
		for i := range values {
			terms[i] = string(values[i].AppendTerm(nil))
		}
		sorted := slices.Clone(terms)
		slices.Sort(sorted)
		sorted = slices.Compact(sorted)
		for _, term := range sorted {
			if err := b.Term([]byte(term)); err != nil {
				return nil, err
			}
		}
		for i, term := range terms {
			at, _ := slices.BinarySearch(sorted, term)
			keys[i] = uint64(at)
		}
	} else {
		for i := range values {
			keys[i], _ = values[i].In(kind)
		}
	}
	from := uint32(0)
	for i, end := range ends {
		if err := b.Add(docs[i], keys[from:end]...); err != nil {
			return nil, err
		}
		from = end
	}
	return b.View(segmentDocs)
}

// Parts gives the parts of the column to emit, as a Builder does that encodes its values.
func (c *Column) Parts(emit func(part uint32, data []byte) error) error {
	b := NewBuilder(c.d.kind, emit)
	if c.dictionary != nil {
		err := c.dictionary.Each(0, c.dictionary.Len(), func(_ int, term []byte) error { return b.Term(term) })
		if err != nil {
			return err
		}
	}
	if b.begin(); b.err != nil {
		return b.err
	}
	for i := range c.d.tiles {
		t := c.d.tiles[i]
		data, err := c.payload(&t)
		if err != nil {
			return err
		}
		t.data, t.chunk, t.at = nil, uint32(len(b.chunks)), uint32(len(b.chunk))
		b.tiles = append(b.tiles, t)
		if b.chunk = append(b.chunk, data[:t.layout().size]...); len(b.chunk) >= chunkBytes {
			if err := b.endChunk(); err != nil {
				return err
			}
		}
	}
	return b.Finish(c.d.docs)
}
