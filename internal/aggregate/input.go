package aggregate

import (
	"math/bits"
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

// sparse is the share of the documents of a tile, as a divisor, below which values are read one by
// one.
const sparse = 16

// join finds the values of the documents of an input.
func (r *reader) join(in *input, e *entries) error {
	e.docs, e.keys, e.lack, e.lacks = e.docs[:0], e.keys[:0], e.lack[:0], 0
	e.owners = e.owners[:0]
	zone, any := r.column.Zone(in.tile)
	if !any {
		e.lack = append(e.lack, in.owners...)
		e.lacks = in.n
		return nil
	}
	if zone.Docs == zone.Values && (in.n+len(in.docs))*sparse >= columns.TileDocs || r.tile == in.tile {
		if r.tile != in.tile {
			if err := r.column.Load(in.tile, columns.Least, &r.keys, &r.have); err != nil {
				return err
			}
			r.tile = in.tile
		}
		r.joinLoaded(in, e)
		return nil
	}
	if err := r.column.Select(in.tile, in.union(&r.room), columns.All, &r.chosen); err != nil {
		return err
	}
	if in.set != nil {
		e.docs, e.keys = append(e.docs, r.chosen.Docs...), append(e.keys, r.chosen.Keys...)
		e.lacks = in.n
		for i, d := range r.chosen.Docs {
			if i == 0 || d != r.chosen.Docs[i-1] {
				e.lacks--
			}
		}
		return nil
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

// joinLoaded is join for a tile that is loaded, with one value a document.
func (r *reader) joinLoaded(in *input, e *entries) {
	if in.set == nil {
		for i, d := range in.docs {
			if r.have[d/64]>>(d%64)&1 == 0 {
				e.lack = append(e.lack, in.owners[i])
				continue
			}
			e.docs, e.owners, e.keys = append(e.docs, d), append(e.owners, in.owners[i]), append(e.keys, r.keys[d])
		}
		return
	}
	n := 0
	for i, w := range in.set {
		n += bits.OnesCount64(w & r.have[i])
	}
	e.lacks = in.n - n
	if cap(e.docs) < n {
		e.docs = make([]uint16, columns.TileDocs)
	}
	if cap(e.keys) < n {
		e.keys = make([]uint64, columns.TileDocs)
	}
	e.docs, e.keys = e.docs[:n], e.keys[:n]
	at := 0
	for i, w := range in.set {
		w &= r.have[i]
		if w == ^uint64(0) {
			copy(e.keys[at:at+64], r.keys[64*i:])
			for bit, docs := 0, e.docs[at:at+64]; bit < len(docs); bit++ {
				docs[bit] = uint16(64*i + bit)
			}
			at += 64
			continue
		}
		for ; w != 0; w &= w - 1 {
			d := 64*i + bits.TrailingZeros64(w)
			e.docs[at], e.keys[at] = uint16(d), r.keys[d]
			at++
		}
	}
}
