package cpuexec

import (
	"math"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/geo"
)

// Within a segment, documents are compared by codes: numbers that are lower for documents that come
// first. A key of an order becomes one component with a code, or two where a column has keys from 0 to
// the greatest number, so that no code is left for documents without a value.

// A codeKind is where the codes of a component come from.
type codeKind uint8

const (
	valueCode    codeKind = iota // of a column
	distanceCode                 // of a column of places
	missingCode                  // 0 or 1: whether a document has a value
	scoreCode
	idPlaceCode // of the places of ids among those of the segment
	idCode      // no code: the ids themselves are compared
)

// A component is a part of the sort key of a document in a segment.
type component struct {
	kind codeKind
	key  int // in Order.Keys
	desc bool

	from *geo.Origin // of a distanceCode

	// Of a valueCode; of a distanceCode but for first:
	column          *columns.Column // nil when all documents lack a value
	mode            SortMode
	least, greatest uint64 // keys of the column
	first           uint64 // code of the first of them
	missing         uint64 // code of documents without a value, if hasMissing
	hasMissing      bool
	missingFirst    bool // of a missingCode, too

	ids IDOrder // of an idPlaceCode, whose keys are places
}

// pick is the value that columns have to choose.
func (c *component) pick() columns.Pick {
	switch {
	case c.mode == LeastValue, c.column.Single():
		return columns.Least
	case c.mode == GreatestValue:
		return columns.Greatest
	}
	return columns.All
}

// span is the distance of the greatest from the least key.
func (c *component) span() uint64 { return c.greatest - c.least }

// code is the code of a key of the column.
func (c *component) code(key uint64) uint64 {
	if c.desc {
		return c.first + (c.greatest - key)
	}
	return c.first + (key - c.least)
}

// keyOf is the inverse of code.
func (c *component) keyOf(code uint64) uint64 {
	if c.desc {
		return c.greatest - (code - c.first)
	}
	return c.least + (code - c.first)
}

// keys returns the keys whose codes are in lo..hi, or none.
func (c *component) keys(lo, hi uint64) (from, to uint64, some bool) {
	if c.column == nil {
		return 0, 0, false
	}
	lo, hi = max(lo, c.first), min(hi, c.first+c.span())
	if lo > hi {
		return 0, 0, false
	}
	from, to = c.keyOf(lo), c.keyOf(hi)
	return min(from, to), max(from, to), true
}

// appendComponents appends the components of key i of an order in a segment of docs documents.
func (o *Order) appendComponents(to []component, i, segment int, docs uint32) []component {
	k := &o.Keys[i]
	c := component{key: i, desc: k.Desc, mode: k.Mode, missingFirst: k.MissingFirst}
	switch k.By {
	case ByScore:
		c.kind = scoreCode
		return append(to, c)
	case ByID:
		c.kind = idCode
		if o.IDs != nil && o.IDs[segment] != nil && docs > 0 {
			c.kind, c.ids, c.greatest = idPlaceCode, o.IDs[segment], uint64(docs-1)
		}
		return append(to, c)
	}
	c.column = k.Columns[segment]
	if c.column != nil && c.column.Docs() == 0 {
		c.column = nil
	}
	if c.column != nil {
		c.least, c.greatest = c.column.Bounds()
	}
	if k.From != nil {
		c.distances(k.From)
		return append(to, c)
	}
	if c.column == nil {
		c.hasMissing = true
		return append(to, c)
	}
	switch {
	case c.column.Full():
	case c.span() == math.MaxUint64:
		flag := c
		flag.kind = missingCode
		to = append(to, flag)
		c.hasMissing = true // then all that is left is equal
	case k.MissingFirst:
		c.hasMissing, c.first = true, 1
	default:
		c.hasMissing, c.missing = true, c.span()+1
	}
	return append(to, c)
}

// flag is the code of a missingCode.
func (c *component) flag(missing bool) uint64 {
	if missing == c.missingFirst {
		return 0
	}
	return 1
}

// A place tells where a value stands among the codes of a component.
type place uint8

const (
	at     place = iota // it has the code
	below               // it has none: lower codes come before it, and the others after
	behind              // all codes come before it
)

// locate returns the place of a value among the codes of a component.
func (c *component) locate(v *KeyValue) (code uint64, p place, err error) {
	switch c.kind {
	case missingCode:
		return c.flag(v.Missing), at, nil
	case scoreCode:
		return c.scoreCode(v.Value.Key), at, nil
	case idPlaceCode:
		return c.locateID(v.Value.Term)
	case idCode:
		return 0, at, nil
	}
	switch {
	case v.Missing && c.hasMissing:
		return c.missing, at, nil
	case v.Missing && c.missingFirst:
		return 0, below, nil
	case v.Missing:
		return 0, behind, nil
	case c.column == nil && c.missingFirst: // all documents come first
		return 0, behind, nil
	case c.column == nil:
		return 0, below, nil
	case c.kind == distanceCode:
		bits, _ := v.Value.In(columns.Float)
		return c.distanceOf(columns.KeyFloat(bits)), at, nil
	}
	key, past, exact, err := keyAbove(c.column, &v.Value)
	above, under := past || key > c.greatest, !past && key <= c.least
	switch {
	case err != nil:
		return 0, below, err
	case exact && key >= c.least && key <= c.greatest:
		return c.code(key), at, nil
	case !c.desc && above, c.desc && under: // all keys come first
		code = c.first + c.span() + 1
		if code == 0 {
			return 0, behind, nil // there is no such code
		}
		return code, below, nil
	case above, under:
		return c.first, below, nil
	case c.desc:
		return c.code(key) + 1, below, nil
	}
	return c.code(key), below, nil
}

// locateID is locate for an id.
func (c *component) locateID(id string) (code uint64, p place, err error) {
	above, found, err := c.ids.PlaceOfID(id)
	switch key := uint64(above); {
	case err != nil:
		return 0, below, err
	case found:
		return c.code(key), at, nil
	case c.desc:
		return c.greatest + 1 - key, below, nil
	default:
		return key, below, nil
	}
}

// scoreCode is the code of a score.
func (c *component) scoreCode(score uint64) uint64 {
	if c.desc {
		return math.MaxUint32 - score
	}
	return score
}

// bestFirst reports whether the best scores come first: bounds of scores then bound the codes.
func (c *component) bestFirst() bool { return c.kind == scoreCode && c.desc }

// keyAbove returns the least key of a column's kind that is not below a value, and whether it is that
// value; past says that there is none.
func keyAbove(c *columns.Column, v *columns.Value) (key uint64, past, exact bool, err error) {
	if d := c.Dictionary(); d != nil {
		var room [64]byte
		ord, found, err := d.Find(v.AppendTerm(room[:0]))
		return uint64(ord), ord == d.Len(), found, err
	}
	if key, ok := v.In(c.Kind()); ok {
		return key, false, true, nil
	}
	low, high := uint64(0), uint64(math.MaxUint64)
	if columns.Compare(columns.Value{Kind: c.Kind(), Key: high}, *v) < 0 {
		return 0, true, false, nil
	}
	for low < high {
		middle := low + (high-low)/2
		if columns.Compare(columns.Value{Kind: c.Kind(), Key: middle}, *v) >= 0 {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low, false, false, nil
}

// flagged reports whether a missingCode tells which documents lack a value.
func (c *component) flagged() bool {
	return c.kind == valueCode && c.column != nil && c.hasMissing && c.span() == math.MaxUint64
}

// loadAll is the fewest documents of a tile for which all its keys are read.
const loadAll = tileDocs / 4

// A codeScratch is memory to read codes with.
type codeScratch struct {
	has bitset
	sel columns.Selection

	metres []float64 // of a document

	idPlaces [tileDocs]uint32
}

// read reads the codes of the n documents of a set, in a tile, into codes by document of the tile. It
// reads scores only for a scoreCode, and codes of ids are 0.
func (c *component) read(tile int, set *bitset, n int, scores *scores, codes *[tileDocs]uint64, scratch *codeScratch) error {
	has := (*[64]uint64)(&scratch.has)
	switch {
	case c.kind == idCode:
		set.each(func(d uint32) { codes[d] = 0 })
		return nil
	case c.kind == scoreCode:
		set.each(func(d uint32) { codes[d] = c.scoreCode(uint64(scores[d])) })
		return nil
	case c.kind == idPlaceCode:
		return c.readIDPlaces(tile, set, n, codes, scratch)
	case c.column == nil:
		set.each(func(d uint32) { codes[d] = c.missing })
		return nil
	case c.kind == missingCode:
		if _, err := c.column.Have(tile, has); err != nil {
			return err
		}
		set.each(func(d uint32) { codes[d] = c.flag(has[d/64]>>(d%64)&1 == 0) })
		return nil
	case c.kind == distanceCode:
		return c.readDistances(tile, set, codes, scratch)
	case n >= loadAll && c.pick() != columns.All:
		if err := c.column.Load(tile, c.pick(), codes, has); err != nil {
			return err
		}
		set.each(func(d uint32) {
			if has[d/64]>>(d%64)&1 == 1 {
				codes[d] = c.code(codes[d])
			} else {
				codes[d] = c.missing
			}
		})
		return nil
	}
	if c.hasMissing {
		set.each(func(d uint32) { codes[d] = c.missing })
	}
	if err := c.column.Select(tile, (*[64]uint64)(set), c.pick(), &scratch.sel); err != nil {
		return err
	}
	docs, keys := scratch.sel.Docs, scratch.sel.Keys
	for at := 0; at < len(docs); {
		d, from := docs[at], at
		for at++; at < len(docs) && docs[at] == d; at++ {
		}
		codes[d%tileDocs] = c.code(keys[(from+at-1)/2])
	}
	return nil
}

// allIDPlaces is the fewest documents of a tile for which all its places of ids are read. One takes 10
// to 20 ns, and all of random ids 15 us.
const allIDPlaces = tileDocs / 8

// readIDPlaces is read for an idPlaceCode.
func (c *component) readIDPlaces(tile int, set *bitset, n int, codes *[tileDocs]uint64, scratch *codeScratch) (err error) {
	if n >= allIDPlaces {
		if _, err = c.ids.IDPlaces(tile, &scratch.idPlaces); err == nil {
			set.each(func(d uint32) { codes[d] = c.code(uint64(scratch.idPlaces[d])) })
		}
		return err
	}
	set.each(func(d uint32) {
		place, fault := c.ids.IDPlace(uint32(tile)*tileDocs + d)
		if fault != nil {
			err = fault
		}
		codes[d] = c.code(uint64(place))
	})
	return err
}

// decode sets the values of a place to those that codes stand for. The place has its score.
func (p *Place) decode(comps []component, codes []uint64, id func() string) (err error) {
	for i, code := range codes {
		c := &comps[i]
		v := &p.Keys[c.key]
		switch {
		case c.kind == missingCode:
			v.Missing = code == c.flag(true)
		case c.kind == scoreCode:
			v.Value = columns.OfUint(uint64(p.Score))
		case c.kind == idCode, c.kind == idPlaceCode:
			v.Value = columns.Value{Kind: columns.Terms, Term: id()}
		case v.Missing: // says a missingCode
		case c.column == nil, c.hasMissing && !c.flagged() && code == c.missing:
			v.Missing = true
		case c.kind == distanceCode:
			v.Value = columns.OfFloat(c.metres(code))
		default:
			if v.Value, err = c.column.Value(c.keyOf(code)); err != nil {
				return err
			}
		}
	}
	return nil
}
