package exectest

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// An Index is the content of a random index, in the plainest form and as executors see it.
type Index struct {
	Segments []Segment
	parts    []blockmax.Segment // without Accept and Tail
	tables   []*blockmax.Table  // of the fields
	known    *known             // what a round has found before, or nil
}

// A Segment is the content of one segment.
type Segment struct {
	Docs   uint32
	Wide   bool                  // several tiles of documents, in blocks of full size
	Terms  []map[uint32]uint32   // of each term: frequency by document
	Places []map[uint32][]uint32 // of each term: positions by document; nil if all are 0
	Sets   []map[uint32]bool     // the documents of each set
	Field  []int                 // of each term
	Norms  [][]uint8             // of each field: length code by document; nil for a field that keeps no lengths
	Lacks  []bool                // of each field: no document has it
	Rank   []uint16              // nil for none
}

const (
	terms  = 6
	fields = 2
	sets   = 2
)

// newIndex makes 1 to 4 segments, some of them spread over several tiles of
// documents or empty.
func newIndex(rng *rand.Rand) *Index {
	ix := new(Index)
	m := blockmax.BM25{K1: 1.2, B: 0.75 * float64(rng.IntN(2))}
	for range fields {
		ix.tables = append(ix.tables, blockmax.NewTable(m, 10))
	}
	ranked, base := rng.IntN(3) == 0, uint32(rng.IntN(2)*1000)
	for range 1 + rng.IntN(4) {
		s := newSegment(rng, ranked)
		ix.Segments = append(ix.Segments, s)
		ix.parts = append(ix.parts, ix.part(rng, &s, base))
		base += s.Docs + rng.Uint32N(3)
	}
	return ix
}

func newSegment(rng *rand.Rand, ranked bool) Segment {
	s := Segment{Docs: 1 + rng.Uint32N(150), Wide: rng.IntN(100) == 0}
	if s.Wide {
		s.Docs *= 100
	}
	spread := uint32(1)
	if !s.Wide && rng.IntN(8) == 0 { // few postings, but several tiles
		spread = 1 + rng.Uint32N(120)
		s.Docs *= spread
	}
	lengths := []uint8{3, 3, 10, 40}[rng.IntN(3):]
	for f := range fields {
		var norms []uint8
		if f == 0 || rng.IntN(2) == 0 {
			norms = make([]uint8, s.Docs)
			for d := range norms {
				norms[d] = lengths[rng.IntN(len(lengths))]
			}
			if rng.IntN(4) == 0 {
				slices.Sort(norms) // the best documents first, as tail bounds need them
			}
		}
		s.Norms = append(s.Norms, norms)
	}
	for t := range terms {
		s.Field = append(s.Field, t%fields)
		s.Terms = append(s.Terms, newPostings(rng, s.Docs, spread))
		s.Places = append(s.Places, newPlaces(rng, s.Terms[t]))
	}
	s.Lacks = slices.Repeat([]bool{true}, fields)
	for t, list := range s.Terms {
		s.Lacks[s.Field[t]] = s.Lacks[s.Field[t]] && len(list) == 0
	}
	for range sets {
		set := map[uint32]bool{}
		for d := range newPostings(rng, s.Docs, spread) {
			set[d] = true
		}
		s.Sets = append(s.Sets, set)
	}
	if ranked && rng.IntN(4) > 0 {
		s.Rank = make([]uint16, s.Docs)
		for d := range s.Rank {
			s.Rank[d] = uint16(rng.IntN(4)) * 20000
		}
	}
	return s
}

// newPostings makes a list from empty to full, evenly spread or in clumps, with frequencies that
// are mostly 1.
func newPostings(rng *rand.Rand, docs, spread uint32) map[uint32]uint32 {
	tfs := []uint32{1, 1, 1, 1, 2, 5, 20}[:1+rng.IntN(7)]
	density := []float64{0, 0.02, 0.1, 0.3, 0.7, 1}[rng.IntN(6)] / float64(spread)
	clumps := rng.IntN(3) == 0 // of 16, or of a third of the documents
	size := []uint32{16, 1 + docs/3}[rng.IntN(2)]
	list := make(map[uint32]uint32)
	for d := uint32(0); d < docs; d++ {
		if clumps && d/size%2 == 1 || rng.Float64() >= density {
			continue
		}
		list[d] = tfs[rng.IntN(len(tfs))]
	}
	return list
}

// newPlaces makes positions for the postings of a list, or nil for one without positions, as that of
// an exact term.
func newPlaces(rng *rand.Rand, list map[uint32]uint32) map[uint32][]uint32 {
	if rng.IntN(16) == 0 {
		return nil
	}
	places := make(map[uint32][]uint32, len(list))
	for _, d := range slices.Sorted(maps.Keys(list)) {
		places[d] = NewPositions(rng, list[d])
	}
	return places
}

// part is the segment as executors see it.
func (ix *Index) part(rng *rand.Rand, s *Segment, base uint32) blockmax.Segment {
	p := blockmax.Segment{Base: base, Docs: s.Docs, Rank: s.Rank}
	var columns []lazyColumn
	for _, norms := range s.Norms {
		columns = append(columns, newLazyColumn(rng, norms))
	}
	for f, column := range columns {
		p.Fields = append(p.Fields, blockmax.Lengths{Norms: column.codes, Lazy: column.tiles, None: s.Lacks[f]})
	}
	for t, list := range s.Terms {
		norms, lazy := s.Norms[s.Field[t]], columns[s.Field[t]]
		term := blockmax.Term{Norms: lazy.codes, Lazy: lazy.tiles, Table: ix.tables[s.Field[t]]}
		if len(list) > 0 {
			term.List = newList(rng, list, s.Places[t], norms, s.Wide)
			term.Bounds = boundsOf(term.List, term.Table)
		}
		p.Terms = append(p.Terms, term)
	}
	for _, docs := range s.Sets {
		if rng.IntN(2) == 0 {
			p.Sets = append(p.Sets, newTiles(rng, docs, s.Docs))
			continue
		}
		set := blockmax.Set{Count: len(docs)}
		if len(docs) > 0 || rng.IntN(2) == 0 {
			set.Bits = make([]uint64, (s.Docs+63)/64)
		}
		for d := range docs {
			set.Bits[d/64] |= 1 << (d % 64)
		}
		p.Sets = append(p.Sets, set)
	}
	if s.Rank != nil {
		p.RankTile = make([]uint16, (s.Docs+blockmax.TileDocs-1)/blockmax.TileDocs)
		for d, rank := range s.Rank {
			tile := &p.RankTile[d/blockmax.TileDocs]
			*tile = max(*tile, rank)
		}
	}
	return p
}

// A lazyColumn is a column of norms that perhaps has wrong codes in tiles that nobody has asked for.
type lazyColumn struct {
	codes []uint8
	tiles *blockmax.LazyNorms
}

func newLazyColumn(rng *rand.Rand, norms []uint8) lazyColumn {
	if norms == nil || rng.IntN(2) == 0 {
		return lazyColumn{codes: norms}
	}
	docs := uint32(len(norms))
	codes := bytes.Repeat([]byte{1}, len(norms)) // higher scores than those of any length
	asked := make([]bool, blockmax.Tiles(docs))
	var mu sync.Mutex
	return lazyColumn{codes, blockmax.NewLazyNorms(docs, func(tile uint32) error {
		mu.Lock()
		defer mu.Unlock()
		if !asked[tile] {
			asked[tile] = true
			from := tile * blockmax.TileDocs
			copy(codes[from:min(from+blockmax.TileDocs, docs)], norms[from:])
		}
		return nil
	})}
}

// newList is a list as a memory segment shows it, or as it is read back. Its blocks are small, or
// with full set of full size and of any codec.
func newList(rng *rand.Rand, list map[uint32]uint32, places map[uint32][]uint32, norms []uint8, full bool) *postings.List {
	codecs := []postings.Kind{postings.Packed, postings.Interpolative, postings.PFor, postings.Rice}
	b := postings.Builder{BlockSize: uint8(1 + rng.IntN(8)), Codec: codecs[rng.IntN(2)]}
	if full {
		b = postings.Builder{Codec: codecs[rng.IntN(len(codecs))]}
	}
	b.Positions = places != nil
	for _, d := range slices.Sorted(maps.Keys(list)) {
		code := uint8(1)
		if norms != nil {
			code = norms[d]
		}
		if places == nil {
			b.Add(d, list[d], code)
		} else {
			b.AddPositions(d, places[d], code)
		}
	}
	if rng.IntN(2) == 0 {
		return b.View(postings.MaxDoc)
	}
	e := b.Encode()
	l, err := postings.Open(e.Entry, stored{e})
	if err != nil {
		panic("BUG: a list does not open: " + err.Error())
	}
	return l
}

// boundsOf returns the bounds of a list of newList.
func boundsOf(l *postings.List, table *blockmax.Table) *blockmax.Bounds {
	b, err := blockmax.NewBounds(l, table)
	if err != nil {
		panic("BUG: a list in memory has no bounds: " + err.Error())
	}
	return b
}

// stored is an encoded list as its own Loader.
type stored struct{ e postings.Encoded }

func (s stored) Directory(part int) ([]byte, error) { return s.e.Directory[part], nil }

func (s stored) Chunk(chunk int) ([]byte, error) { return s.e.Chunks[chunk], nil }

func (s stored) PositionDirectory(part int) ([]byte, error) { return s.e.PositionDirectory[part], nil }

func (s stored) PositionChunk(chunk int) ([]byte, error) { return s.e.PositionChunks[chunk], nil }

func (s stored) ShortPositions(uint64) ([]byte, error) { return s.e.Positions, nil }

// String lists the postings of an index small enough to read.
func (ix *Index) String() string {
	var b strings.Builder
	for i, s := range ix.Segments {
		fmt.Fprintf(&b, "segment %d: base %d, %d documents\n", i, ix.parts[i].Base, s.Docs)
		if s.Docs > 64 {
			continue
		}
		for t, list := range s.Terms {
			fmt.Fprintf(&b, "  term %d:", t)
			for _, d := range slices.Sorted(maps.Keys(list)) {
				fmt.Fprintf(&b, " %d×%d", d, list[d])
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
