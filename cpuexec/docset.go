package cpuexec

// A docSet is a set of documents of the current segment, as a leaf of a tree. It knows in which
// tiles of a sheet and in which words of a tile it has documents.
type docSet struct {
	bits []uint64

	sheet, tile  uint32 // of tiles and words; all ones for none
	tiles, words uint64
}

func newDocSet(bits []uint64, docs uint32) *docSet {
	return &docSet{bits: bits[:(docs+63)/64], sheet: ^uint32(0), tile: ^uint32(0)}
}

// of returns the words of the set from a document on, at most n.
func (s *docSet) of(lo uint32, n int) []uint64 {
	words := s.bits[min(int(lo/wordDocs), len(s.bits)):]
	return words[:min(n, len(words))]
}

// inTiles returns the tiles of the sheet at lo that have documents of the set. A nil set has none.
func (s *docSet) inTiles(lo uint32) uint64 {
	if s == nil {
		return 0
	}
	if s.sheet != lo {
		s.sheet, s.tiles = lo, 0
		for t := range uint32(sheetDocs / tileDocs) {
			some := uint64(0)
			for _, word := range s.of(lo+t*tileDocs, tileDocs/wordDocs) {
				some |= word
			}
			s.tiles |= (some | -some) >> 63 << t
		}
	}
	return s.tiles
}

// inWords returns the words of the tile at lo that have documents of the set. A nil set has none.
func (s *docSet) inWords(lo uint32) uint64 {
	if s == nil {
		return 0
	}
	if s.tile != lo {
		s.tile, s.words = lo, 0
		for i, word := range s.of(lo, tileDocs/wordDocs) {
			s.words |= (word | -word) >> 63 << i
		}
	}
	return s.words
}

// common sets matches to the documents of mask that are in the set, in the tile at lo.
func (s *docSet) common(mask, matches *bitset, lo uint32) {
	*matches = bitset{}
	if s == nil {
		return
	}
	for i, word := range s.of(lo, tileDocs/wordDocs) {
		matches[i] = word & mask[i]
	}
}
