package cpuexec

import (
	"cmp"

	"github.com/riffle-search/riffle/columns"
)

// A TileOrder compares documents of one segment in an Order, for a caller that finds the documents
// itself, tile by tile. It ignores Order.After.
type TileOrder struct {
	order   *Order
	segment int
	base    uint32 // global number of the first document
	tile    int    // whose codes are loaded
	comps   []component
	codes   [][tileDocs]uint64 // of the components, for documents of the tile
	scores  *scores
	scratch codeScratch
	err     error // of an id
}

// An Ordered is a document that a TileOrder compares.
type Ordered struct {
	Doc   uint32 // global number
	Score uint32 // 0 unless a key is the score
	Codes []uint64

	id    []byte
	known bool // id is
}

// InSegment returns the order among the documents of a segment of the plan, the first of which has a
// global number, and of which there are docs. Its columns must be those of the keys of the order.
func (o *Order) InSegment(segment int, base, docs uint32) *TileOrder {
	t := &TileOrder{order: o, segment: segment, base: base}
	for i := range o.Keys {
		t.comps = o.appendComponents(t.comps, i, segment, docs)
	}
	t.codes = make([][tileDocs]uint64, len(t.comps))
	return t
}

// Load reads what documents of a set have for the keys. The set is of a tile, and has n documents.
// Scores are those of the tile's documents; they are read only if the order is by scores, too.
func (t *TileOrder) Load(tile int, set *[tileDocs / 64]uint64, n int, scored *[tileDocs]uint32) error {
	t.tile, t.scores = tile, (*scores)(scored)
	if !t.order.Scored() {
		t.scores = nil
	}
	for i := range t.comps {
		if err := t.comps[i].read(tile, (*bitset)(set), n, t.scores, &t.codes[i], &t.scratch); err != nil {
			return err
		}
	}
	return nil
}

// Document sets to to document d of the tile, which is of the set that was loaded.
func (t *TileOrder) Document(d int, to *Ordered) {
	to.Doc, to.Score, to.id, to.known = t.base+uint32(t.tile*tileDocs+d), 0, nil, false
	if t.scores != nil {
		to.Score = t.scores[d]
	}
	to.Codes = to.Codes[:0]
	for i := range t.codes {
		to.Codes = append(to.Codes, t.codes[i][d])
	}
}

// Compare is negative when a comes before b. An id that cannot be read is an error of Place.
func (t *TileOrder) Compare(a, b *Ordered) int {
	for i, code := range a.Codes {
		if code != b.Codes[i] {
			return cmp.Compare(code, b.Codes[i])
		}
		if c := &t.comps[i]; c.kind == idCode {
			if d := c.compareIDs(t.id(a), t.id(b)); d != 0 {
				return d
			}
		}
	}
	return cmp.Compare(a.Doc, b.Doc)
}

func (t *TileOrder) id(d *Ordered) []byte {
	if !d.known {
		id, err := t.order.ID(nil, t.segment, d.Doc-t.base)
		if err != nil && t.err == nil {
			t.err = err
		}
		d.id, d.known = id, true
	}
	return d.id
}

// Place returns the place of a document, which compares with those of other segments.
func (t *TileOrder) Place(d *Ordered) (Place, error) {
	p := Place{Doc: d.Doc, Score: d.Score, Keys: make([]KeyValue, len(t.order.Keys))}
	if err := p.decode(t.comps, d.Codes, func() string { return string(t.id(d)) }); err != nil {
		return p, err
	}
	return p, t.err
}

// Tiles have as many documents here as there.
var _ [columns.TileDocs]uint32 = [tileDocs]uint32{}
