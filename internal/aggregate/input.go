package aggregate

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/riffle-search/riffle/columns"
)

const (
	tileDocs  = columns.TileDocs
	tileWords = tileDocs / 64
)

type tileSet = [tileWords]uint64

// An input is documents of a tile for a node, with their owners: a set with one owner, or pairs in
// ascending order of documents. In pairs a document may have several owners.
type input struct {
	tile      int
	all       *tileSet // all documents of the tile that exist
	docsOfAll int      // their number
	set       *tileSet // with one owner; nil for pairs
	list      []uint16 // the documents of set, ascending, where they come as a list; else nil
	n         int      // documents of set
	owner     uint32

	docs   []uint16
	owners []uint32
}

func count(set *tileSet) (n int) {
	for _, w := range set {
		n += bits.OnesCount64(w)
	}
	return n
}

// countBetween counts the documents of a set from one on up to another.
func countBetween(set *tileSet, from, end int) (n int) {
	for i := from / 64; 64*i < end; i++ {
		w := set[i]
		if from > 64*i {
			w &= ^uint64(0) << (from - 64*i)
		}
		if end < 64*i+64 {
			w &= 1<<(end-64*i) - 1
		}
		n += bits.OnesCount64(w)
	}
	return n
}

// whole returns set, or nil when it has all documents of the tile, as methods of a column want it.
func (in *input) whole() *tileSet {
	if in.n == in.docsOfAll {
		return nil
	}
	return in.set
}

// union returns the set of the documents of the input, in room if need be.
func (in *input) union(room *tileSet) *tileSet {
	if in.set != nil {
		return in.set
	}
	clear(room[:])
	for _, d := range in.docs {
		room[d/64] |= 1 << (d % 64)
	}
	return room
}

// Entries are the values of the documents of an input, in order of documents; of a document, in
// ascending order for each owner.
type entries struct {
	docs   []uint16
	owners []uint32 // nil when the input is a set
	keys   []uint64
	lack   []uint32 // owners of documents without a value, of pairs
	lacks  int      // number of documents without a value, of a set
}

// A reader reads the values of a column by tile. Several nodes of a state share it.
type reader struct {
	column *columns.Column
	tile   int // whose keys are in keys; -1 for none
	keys   [columns.TileDocs]uint64
	have   tileSet
	chosen columns.Selection
	room   tileSet
}

var (
	readers     = sync.Pool{New: func() any { return new(reader) }}
	entriesPool = sync.Pool{New: func() any { return new(entries) }}
)

// sparse is the share of the documents of a tile, as a divisor, below which the values of pairs are read
// one by one.
const sparse = 16

// join finds the values of the documents of an input.
func (r *reader) join(in *input, e *entries) error {
	e.docs, e.keys, e.lack, e.lacks = e.docs[:0], e.keys[:0], e.lack[:0], 0
	e.owners = e.owners[:0]
	zone, some := r.column.Zone(in.tile)
	switch {
	case !some:
		e.lack = append(e.lack, in.owners...)
		e.lacks = in.n
		return nil
	case in.set != nil:
		return r.joinSet(in, e)
	case zone.Docs == zone.Values && len(in.docs)*sparse >= columns.TileDocs || r.tile == in.tile:
		return r.joinLoaded(in, e)
	}
	return r.joinChosen(in, e)
}

// joinSet is join for a set.
func (r *reader) joinSet(in *input, e *entries) error {
	s := columns.Selection{Docs: e.docs, Keys: e.keys}
	err := r.column.Select(in.tile, in.whole(), columns.All, &s)
	e.docs, e.keys = s.Docs, s.Keys
	if e.lacks = in.n - len(e.docs); r.column.Single() {
		return err
	}
	for i, d := range e.docs[min(1, len(e.docs)):] {
		if d == e.docs[i] {
			e.lacks++
		}
	}
	return err
}

// joinLoaded is join for pairs, in a tile with one value a document: all of its values are read.
func (r *reader) joinLoaded(in *input, e *entries) error {
	if r.tile != in.tile {
		if err := r.column.Load(in.tile, columns.Least, &r.keys, &r.have); err != nil {
			return err
		}
		r.tile = in.tile
	}
	if r.column.Full() {
		e.docs, e.owners = append(e.docs, in.docs...), append(e.owners, in.owners...)
		e.keys = slices.Grow(e.keys, len(in.docs))[:len(in.docs)]
		for i, d := range in.docs {
			e.keys[i] = r.keys[d%tileDocs]
		}
		return nil
	}
	for i, d := range in.docs {
		if r.have[d/64]>>(d%64)&1 == 0 {
			e.lack = append(e.lack, in.owners[i])
			continue
		}
		e.docs, e.owners, e.keys = append(e.docs, d), append(e.owners, in.owners[i]), append(e.keys, r.keys[d])
	}
	return nil
}

// joinChosen is join for pairs: only the values of their documents are read.
func (r *reader) joinChosen(in *input, e *entries) error {
	if err := r.column.Select(in.tile, in.union(&r.room), columns.All, &r.chosen); err != nil {
		return err
	}
	at := 0
	for i, d := range in.docs {
		for at < len(r.chosen.Docs) && r.chosen.Docs[at] < d {
			at++
		}
		if at == len(r.chosen.Docs) || r.chosen.Docs[at] != d {
			e.lack = append(e.lack, in.owners[i])
			continue
		}
		for j := at; j < len(r.chosen.Docs) && r.chosen.Docs[j] == d; j++ {
			e.docs, e.owners, e.keys = append(e.docs, d), append(e.owners, in.owners[i]), append(e.keys, r.chosen.Keys[j])
		}
	}
	return nil
}
