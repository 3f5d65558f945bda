package cpuexec

import (
	"math/bits"

	"github.com/riffle-search/riffle/blockmax"
)

// A docSet is a set of documents of the current segment, as a leaf of a tree. It knows in which
// tiles of a sheet and in which words of a tile it has documents. A set that comes as tiles is made
// where it is looked at: each tile once, as long as the run stays in its sheet.
type docSet struct {
	bits []uint64 // of the segment; with source, of the sheet at base

	source blockmax.TileSet // or nil
	base   uint32           // the document of the first of bits
	made   uint64           // with source, tiles of the sheet that bits has

	sheet, tile  uint32 // of tiles and words; all ones for none
	tiles, words uint64
}

// docSets are those of the current segment that come as tiles. Their memory is kept.
type docSets struct {
	pool []*docSet
	used int
}

func (d *docSets) close() {
	for _, s := range d.pool[:d.used] {
		s.source = nil
	}
	d.used = 0
}

// docSet returns a set of the current segment.
func (r *run) docSet(of *blockmax.Set) *docSet {
	if of.Tiles == nil {
		return &docSet{bits: of.Bits[:(r.at.seg.Docs+63)/64], sheet: ^uint32(0), tile: ^uint32(0)}
	}
	d := &r.docSets
	if d.used == len(d.pool) {
		d.pool = append(d.pool, &docSet{bits: make([]uint64, sheetDocs/64)})
	}
	s := d.pool[d.used]
	d.used++
	*s = docSet{bits: s.bits, source: of.Tiles, base: ^uint32(0), sheet: ^uint32(0), tile: ^uint32(0)}
	return s
}

// need makes those of some tiles of the sheet at lo that were not made yet.
func (s *docSet) need(lo uint32, tiles uint64) error {
	if s.source == nil {
		return nil
	}
	if s.base != lo {
		s.base, s.made = lo, 0
	}
	missing := tiles &^ s.made
	if missing == 0 {
		return nil
	}
	within := s.inTiles(lo)
	for ; missing != 0; missing &= missing - 1 {
		t := bits.TrailingZeros64(missing)
		set := (*[tileDocs / 64]uint64)(s.bits[t*tileDocs/64:])
		if within>>t&1 == 0 {
			*set = [tileDocs / 64]uint64{}
		} else if _, err := s.source.Tile(int(lo/tileDocs)+t, set); err != nil {
			return err
		}
		s.made |= 1 << t
	}
	return nil
}

// of returns the words of the set from a document on, at most n. They must have been made.
func (s *docSet) of(lo uint32, n int) []uint64 {
	words := s.bits[min(int((lo-s.base)/wordDocs), len(s.bits)):]
	return words[:min(n, len(words))]
}

// span returns the words of the set in a span.
func (s *docSet) span(of span) ([]uint64, error) {
	first := of.lo / tileDocs % 64
	last := (of.hi - 1) / tileDocs % 64
	if err := s.need(of.lo&^(sheetDocs-1), ^uint64(0)<<first&(^uint64(0)>>(63-last))); err != nil {
		return nil, err
	}
	return s.of(of.lo, int((of.hi-of.lo+63)/64)), nil
}

// inTiles returns the tiles of the sheet at lo that have documents of the set, or that may have some if
// the set comes as tiles. A nil set has none.
func (s *docSet) inTiles(lo uint32) uint64 {
	if s == nil {
		return 0
	}
	if s.sheet == lo {
		return s.tiles
	}
	s.sheet, s.tiles = lo, 0
	if s.source != nil {
		s.tiles = s.source.Within(int(lo / sheetDocs))
		return s.tiles
	}
	for t := range uint32(sheetDocs / tileDocs) {
		some := uint64(0)
		for _, word := range s.of(lo+t*tileDocs, tileDocs/wordDocs) {
			some |= word
		}
		s.tiles |= (some | -some) >> 63 << t
	}
	return s.tiles
}

// inWords returns the words of the tile at lo that have documents of the set. If they cannot be made,
// it returns all words, and common will fail. A nil set has none.
func (s *docSet) inWords(lo uint32) uint64 {
	if s == nil {
		return 0
	}
	if s.tile == lo {
		return s.words
	}
	if err := s.need(lo&^(sheetDocs-1), 1<<(lo/tileDocs%64)); err != nil {
		return ^uint64(0)
	}
	s.tile, s.words = lo, 0
	for i, word := range s.of(lo, tileDocs/wordDocs) {
		s.words |= (word | -word) >> 63 << i
	}
	return s.words
}

// common sets matches to the documents of mask that are in the set, in the tile at lo.
func (s *docSet) common(mask, matches *bitset, lo uint32) error {
	*matches = bitset{}
	if s == nil {
		return nil
	}
	if err := s.need(lo&^(sheetDocs-1), 1<<(lo/tileDocs%64)); err != nil {
		return err
	}
	for i, word := range s.of(lo, tileDocs/wordDocs) {
		matches[i] = word & mask[i]
	}
	return nil
}
