package function

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/geo"
)

// A Source is what a part reads in a segment.
type Source struct {
	Column *columns.Column // of a Factor and a Decay; nil when no document has a value. Of Random: see there
	Accept []uint64        // documents to which the part applies; nil for all
	None   bool            // it applies to none

	// ID appends the id of a document, of Random without a field.
	ID func(dst []byte, doc uint32) ([]byte, error)
}

// A Segment has the numbers of the documents of a segment. It computes them when they are asked for: those of
// a whole tile once many of its documents were.
type Segment struct {
	f       *Function
	sources []source
	docs    uint32
	scale   float64 // a value times this is its fraction

	highest uint32
	table   *Table
	err     atomic.Pointer[error]
}

// wholeTile is how many documents of a tile are computed one by one. To compute all takes as long as some
// 600 alone.
const wholeTile = 512

// New returns the numbers of a segment of docs documents. Sources are parallel to the parts. Scale must be
// called before there are fractions.
func New(f *Function, sources []Source, docs uint32) (*Segment, error) {
	s := &Segment{f: f, docs: docs}
	for i := range sources {
		src, err := newSource(&f.Parts[i], sources[i], docs)
		if err != nil {
			return nil, err
		}
		s.sources = append(s.sources, src)
	}
	return s, nil
}

// Scale says that fractions are of 1<<exponent, and where numbers are kept. Those of a table belong to the
// same function, exponent and values.
func (s *Segment) Scale(exponent int, table *Table) {
	s.scale, s.table = math.Ldexp(1, 32-exponent), table
	s.highest = s.boundOf(func(src *source) float64 { return src.most })
	s.leaveOutFar()
}

// Greatest bounds the values of the function in a segment. It is independent of the origin of a Decay, and
// of what Random comes to, so that scales seldom change.
func (s *Segment) Greatest() float64 {
	return s.value(func(src *source) float64 {
		if src.part.Kind == Factor {
			return src.most
		}
		return 1
	})
}

// value bounds the function by bounds of its parts.
func (s *Segment) value(most func(*source) float64) float64 {
	values := make([]float64, len(s.sources))
	for i := range s.sources {
		if !s.sources[i].None {
			values[i] = most(&s.sources[i])
		}
	}
	return s.f.bound(values, s.always)
}

// always reports whether a part applies to all documents.
func (s *Segment) always(part int) bool {
	return s.sources[part].Accept == nil && !s.sources[part].None
}

// boundOf is value as a fraction.
func (s *Segment) boundOf(most func(*source) float64) uint32 { return s.roundUp(s.value(most)) }

// roundUp returns a bound on values as a fraction, with room for errors of rounding.
func (s *Segment) roundUp(bound float64) uint32 {
	x := bound * s.scale
	if x >= math.MaxUint32-1 {
		return s.cut(math.MaxUint32)
	}
	return s.cut(uint32(x) + 1)
}

// fraction returns a value as a fraction.
func (s *Segment) fraction(value float64) uint32 {
	if x := value * s.scale; x < math.MaxUint32 {
		return s.cut(uint32(x))
	}
	return s.cut(math.MaxUint32)
}

// cut drops the bits that do not count.
func (s *Segment) cut(fraction uint32) uint32 {
	if s.f.Coarse {
		return fraction &^ 0xffff
	}
	return fraction
}

// Highest is not below the number of any document.
func (s *Segment) Highest() uint32 { return s.highest }

// Bound is not below the number of any document of a tile, and 0 for a tile that the segment does not have.
func (s *Segment) Bound(tile uint32) uint32 {
	if int(tile) >= len(s.table.tiles) {
		return 0
	}
	of := &s.table.tiles[tile]
	if known := of.bound.Load(); known > 0 {
		return uint32(known - 1)
	}
	b := s.boundOf(func(src *source) float64 { return src.bound(int(tile)) })
	of.bound.Store(uint64(b) + 1)
	return b
}

// BoundSheet is not below the number of any document of a sheet of 64 tiles.
func (s *Segment) BoundSheet(sheet uint32) uint32 {
	return s.boundOf(func(src *source) float64 { return src.boundSheet(int(sheet)) })
}

// Err returns the first error of a column or of an id.
func (s *Segment) Err() error {
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *Segment) fail(err error) { s.err.CompareAndSwap(nil, &err) }

// Of returns the number of a document. After an error it is 0.
func (s *Segment) Of(doc uint32) uint32 {
	tile := doc / columns.TileDocs
	of := &s.table.tiles[tile]
	if known := of.all.Load(); known != nil {
		return known[doc%columns.TileDocs]
	}
	if of.asked.Add(1) > wholeTile {
		return s.Tile(tile)[doc%columns.TileDocs]
	}
	v, err := s.combined(doc, s.sources)
	if err != nil {
		s.fail(err)
		return 0
	}
	return s.fraction(v)
}

// Value returns the value of a document.
func (s *Segment) Value(doc uint32) (float64, error) { return s.combined(doc, s.exact()) }

// combined is Value by these sources: exact ones, or those of the segment, which leave out what is far.
func (s *Segment) combined(doc uint32, sources []source) (float64, error) {
	c := combination{f: s.f}
	for i := range sources {
		src := &sources[i]
		if !src.applies(doc) {
			continue
		}
		v, err := src.value(doc)
		if err != nil {
			return 0, err
		}
		c.add(src.part, v)
	}
	return c.result(), nil
}

// PartValue returns the value of a part for a document, with its weight, and whether it applies.
func (s *Segment) PartValue(part int, doc uint32) (v float64, applies bool, err error) {
	src := &s.exact()[part]
	if !src.applies(doc) {
		return 0, false, nil
	}
	v, err = src.value(doc)
	return src.part.Weight * v, true, err
}

// Tile returns the numbers of all documents of a tile, which must not be changed.
func (s *Segment) Tile(tile uint32) *[columns.TileDocs]uint32 {
	if known := s.Known(tile); known != nil {
		return known
	}
	numbers := new([columns.TileDocs]uint32)
	if s.fill(tile, numbers) {
		s.table.tiles[tile].keep(numbers)
	}
	return numbers
}

// Known returns what Tile does if it is known, else nil.
func (s *Segment) Known(tile uint32) *[columns.TileDocs]uint32 {
	if int(tile) >= len(s.table.tiles) {
		return nil
	}
	return s.table.tiles[tile].all.Load()
}

// Ranks returns the upper 16 bits of the numbers of all documents, and the highest of each tile.
func (s *Segment) Ranks() (ranks, tiles []uint16, err error) {
	ranks, tiles = make([]uint16, s.docs), make([]uint16, len(s.table.tiles))
	var numbers [columns.TileDocs]uint32
	for t := range tiles {
		s.fill(uint32(t), &numbers)
		of := ranks[t*columns.TileDocs : min((t+1)*columns.TileDocs, len(ranks))]
		for d := range of {
			of[d] = uint16(numbers[d] >> 16)
			tiles[t] = max(tiles[t], of[d])
		}
	}
	return ranks, tiles, s.Err()
}

// fill sets numbers to those of the documents of a tile. It returns false after an error.
func (s *Segment) fill(tile uint32, numbers *[columns.TileDocs]uint32) (ok bool) {
	w := rooms.Get().(*room)
	defer rooms.Put(w)
	base := tile * columns.TileDocs
	n := min(columns.TileDocs, s.docs-base)
	for d := range w.combined[:n] {
		w.combined[d] = combination{f: s.f}
	}
	ok = true
	for i := range s.sources {
		src := &s.sources[i]
		if src.None {
			continue
		}
		if err := src.tile(tile, n, w); err != nil {
			s.fail(err)
			ok = false
			clear(w.values[:])
		}
		for d := range n {
			if src.applies(base + d) {
				w.combined[d].add(src.part, w.values[d])
			}
		}
	}
	for d := range n {
		numbers[d] = s.fraction(w.combined[d].result())
	}
	return ok
}

// A room is what Tile needs.
type room struct {
	combined [columns.TileDocs]combination
	values   [columns.TileDocs]float64
	keys     [columns.TileDocs]uint64
	have     [64]uint64
	all      columns.Selection
}

var rooms = sync.Pool{New: func() any { return new(room) }}

// A source is a part in a segment.
type source struct {
	Source
	part *Part
	most float64 // no value of a document is above, without Weight
	ln   float64 // of a Decay: the logarithm of AtScale

	far *geo.Window // places that are not in it have the number 0; nil where that is not known

	// Of a column of kind Terms, which mixes types: its numbers lie in these bounds.
	least, greatest float64
}

func newSource(p *Part, in Source, docs uint32) (s source, err error) {
	s = source{Source: in, part: p, ln: math.Log(p.AtScale)}
	if s.Column != nil && s.Column.Kind() == columns.Terms && p.Kind == Factor {
		if s.least, s.greatest, err = numbersOf(s.Column); err != nil {
			return s, err
		}
	}
	switch {
	case s.None:
	case p.Kind == Factor || p.Kind == Decay:
		if s.Column != nil {
			least, greatest := s.Column.Bounds()
			s.most = s.between(least, greatest)
		}
		if s.Column == nil || s.Column.Docs() < int(docs) {
			s.most = max(s.most, s.missing())
		}
	default:
		s.most = 1
	}
	return s, nil
}

// numbersOf returns the least and the greatest number of a column of kind Terms, or 0 without any.
func numbersOf(c *columns.Column) (least, greatest float64, err error) {
	any := columns.Bound{Open: true}
	first := columns.Bound{Value: columns.OfFloat(math.Inf(-1))}
	lo, hi, ok, err := c.Keys(first, any)
	if err != nil || !ok {
		return 0, 0, err
	}
	hi = min(hi, uint64(c.Dictionary().Len()-1))
	if least, err = number(c, lo); err == nil {
		greatest, err = number(c, hi)
	}
	return least, greatest, err
}

func (s *source) applies(doc uint32) bool {
	return !s.None && (s.Accept == nil || s.Accept[doc/64]>>(doc%64)&1 == 1)
}

// missing is the value of a document without a value in the column.
func (s *source) missing() float64 {
	if s.part.Kind == Factor {
		return s.part.modify(s.part.Missing)
	}
	return 1
}

// bound bounds the values of a tile.
func (s *source) bound(tile int) float64 {
	if s.part.Kind != Factor && s.part.Kind != Decay {
		return s.most
	}
	if s.Column == nil {
		return s.missing()
	}
	z, ok := s.Column.Zone(tile)
	if !ok {
		return s.missing()
	}
	b := s.between(z.Least, z.Greatest)
	if z.Docs < min(columns.TileDocs, s.Column.SegmentDocs()-tile*columns.TileDocs) {
		b = max(b, s.missing())
	}
	return b
}

// boundSheet bounds the values of 64 tiles.
func (s *source) boundSheet(sheet int) float64 {
	if s.part.Kind != Factor && s.part.Kind != Decay {
		return s.most
	}
	b := 0.0
	if s.Column == nil || !s.Column.Full() {
		b = s.missing()
	}
	if s.Column == nil {
		return b
	}
	if least, greatest, ok := s.Column.SheetBounds(sheet); ok {
		b = max(b, s.between(least, greatest))
	}
	return b
}

// between bounds the values of keys from least to greatest.
func (s *source) between(least, greatest uint64) float64 {
	terms := s.Column.Kind() == columns.Terms
	if s.part.Kind == Decay {
		if terms {
			return 1
		}
		return s.part.decay(s.distanceTo(least, greatest), s.ln)
	}
	from, to := s.least, s.greatest
	if !terms {
		from, to = numberOf(s.Column.Kind(), least), numberOf(s.Column.Kind(), greatest)
	}
	if math.IsNaN(to) { // which is behind all numbers
		to = math.Inf(1)
	}
	if math.IsNaN(from) {
		return s.part.modify(0)
	}
	return max(s.part.modify(from), s.part.modify(to)) // one of the ends, whether it rises or falls
}

// distanceTo is the least distance from the origin to the keys from least to greatest.
func (s *source) distanceTo(least, greatest uint64) float64 {
	a, b := s.distance(least), s.distance(greatest)
	if math.IsNaN(a) || math.IsNaN(b) {
		return 0
	}
	if s.part.Origin.Kind == columns.Place {
		near, _ := s.part.Place.Between(least, greatest)
		return near
	}
	if s.below(least) && !s.below(greatest) {
		return 0
	}
	return min(a, b)
}

// below reports whether a key is below the origin.
func (s *source) below(key uint64) bool {
	o := s.part.Origin
	return columns.Compare(columns.Value{Kind: s.Column.Kind(), Key: key}, o) < 0
}

// distance is how far a key is from the origin; NaN for a value of another type.
func (s *source) distance(key uint64) float64 {
	return s.part.distance(columns.Value{Kind: s.Column.Kind(), Key: key})
}

// distance is how far a value is from the origin of a Decay; NaN for one of another type.
func (p *Part) distance(v columns.Value) float64 {
	o := p.Origin
	switch {
	case o.Kind == columns.Place && v.Kind == columns.Place:
		return p.Place.ToKey(v.Key)
	case o.Kind == columns.Time && v.Kind == columns.Time:
		return float64(max(v.Key, o.Key) - min(v.Key, o.Key))
	}
	return math.Abs(numberOf(v.Kind, v.Key) - numberOf(o.Kind, o.Key)) // NaN unless both are numbers
}

// numberOf returns the number of a key; NaN for that of an instant or a place.
func numberOf(kind columns.Kind, key uint64) float64 {
	switch kind {
	case columns.Int:
		return float64(columns.KeyInt(key))
	case columns.Uint, columns.Bool:
		return float64(key)
	case columns.Float:
		return columns.KeyFloat(key)
	}
	return math.NaN()
}

// number is numberOf for any column: NaN for what is not a number.
func number(c *columns.Column, key uint64) (float64, error) {
	if c.Kind() != columns.Terms {
		return numberOf(c.Kind(), key), nil
	}
	v, err := termOf(c, key)
	if err != nil || v.Kind == columns.Terms {
		return math.NaN(), err
	}
	return numberOf(v.Kind, v.Key), nil
}

// termOf returns the value of a key of a column of kind Terms.
func termOf(c *columns.Column, key uint64) (columns.Value, error) {
	term, err := c.Dictionary().AppendTerm(nil, key)
	if err != nil {
		return columns.Value{}, err
	}
	return columns.ParseTerm(term)
}

// ofKey returns the value of a key, without Weight.
func (s *source) ofKey(key uint64) (float64, error) {
	if s.far != nil && !s.far.Has(key) {
		return 0, nil
	}
	if s.part.Kind == Factor {
		v, err := number(s.Column, key)
		return s.part.modify(v), err
	}
	if s.Column.Kind() != columns.Terms {
		return s.part.decay(s.distance(key), s.ln), nil
	}
	v, err := termOf(s.Column, key)
	if err != nil {
		return 0, err
	}
	return s.part.decay(s.part.distance(v), s.ln), nil
}

// value returns the value of a document, without Weight.
func (s *source) value(doc uint32) (float64, error) {
	switch {
	case s.part.Kind == Fixed:
		return 1, nil
	case s.part.Kind == Random:
		return s.random(doc)
	case s.Column == nil:
		return s.missing(), nil
	case s.Column.Single() || s.part.Kind == Factor:
		var keys [1]uint64
		var have [1]bool
		docs := [1]uint32{doc}
		if err := s.Column.Gather(docs[:], columns.Least, keys[:], have[:]); err != nil || !have[0] {
			return s.missing(), err
		}
		return s.ofKey(keys[0])
	}
	var room [16]uint64
	keys, err := s.Column.Append(room[:0], doc)
	if err != nil || len(keys) == 0 {
		return s.missing(), err
	}
	return s.best(keys)
}

// best is the value of a Decay for the nearest of several keys.
func (s *source) best(keys []uint64) (best float64, err error) {
	for _, key := range keys {
		v, err := s.ofKey(key)
		if err != nil {
			return 0, err
		}
		best = max(best, v)
	}
	return best, nil
}

// random is the value of Random for a document.
func (s *source) random(doc uint32) (float64, error) {
	var room [64]byte
	id := room[:0]
	if s.ID != nil {
		id, err := s.ID(id, doc)
		return chance(hash(s.part.Seed, id)), err
	}
	if s.Column == nil {
		return 0, nil
	}
	var keys [1]uint64
	var have [1]bool
	docs := [1]uint32{doc}
	if err := s.Column.Gather(docs[:], columns.Least, keys[:], have[:]); err != nil || !have[0] {
		return 0, err
	}
	v := columns.Value{Kind: s.Column.Kind(), Key: keys[0]}
	if v.Kind == columns.Terms {
		term, err := s.Column.Dictionary().AppendTerm(id, v.Key)
		if err != nil {
			return 0, err
		}
		id = term
	} else {
		id = v.AppendTerm(id)
	}
	return chance(hash(s.part.Seed, id)), nil
}

// tile sets w.values to those of the first n documents of a tile.
func (s *source) tile(tile, n uint32, w *room) (err error) {
	base, values := tile*columns.TileDocs, &w.values
	switch {
	case s.part.Kind == Fixed || s.part.Kind == Random:
		for d := range n {
			if !s.applies(base + d) {
				continue
			}
			if values[d], err = s.value(base + d); err != nil {
				return err
			}
		}
		return nil
	case s.Column == nil:
		for d := range n {
			values[d] = s.missing()
		}
		return nil
	}
	missing := s.missing()
	if s.Column.Single() || s.part.Kind == Factor {
		keys, have := &w.keys, &w.have
		if err := s.Column.Load(int(tile), columns.Least, keys, have); err != nil {
			return err
		}
		last, known := uint64(0), false // equal keys in succession are computed once
		value := 0.0
		for d := range n {
			if have[d/64]>>(d%64)&1 == 0 {
				values[d] = missing
				continue
			}
			if !known || keys[d] != last {
				if value, err = s.ofKey(keys[d]); err != nil {
					return err
				}
				last, known = keys[d], true
			}
			values[d] = value
		}
		return nil
	}
	all := &w.all
	if err := s.Column.Select(int(tile), nil, columns.All, all); err != nil {
		return err
	}
	for d := range n {
		values[d] = missing
	}
	for i := 0; i < len(all.Docs); {
		end := i + 1
		for end < len(all.Docs) && all.Docs[end] == all.Docs[i] {
			end++
		}
		if values[all.Docs[i]], err = s.best(all.Keys[i:end]); err != nil {
			return err
		}
		i = end
	}
	return nil
}
