package main

import (
	"cmp"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/collection"
	"github.com/riffle-search/riffle/postings"
)

// Copies of gpuexec's constants (kernels/layout.cuh, flats.go).
const (
	stripsOfTile = 32
	cellsOfStrip = 8
	flatShare    = 256 // a list is made flat when it has at least one posting for this many strips
	bestOfOr     = 64  // tiles that are scored first
	bestOfAnd    = 16  // likewise
	noBound      = ^uint32(0)
)

// A grid is a query in the form in which the kernels over flat lists bound it (kernels/flat.cuh):
// its one segment in tiles, tiles in strips, strips in cells.
type grid struct {
	plan                 *collection.Plan
	all                  bool // a document must have all lists
	cells, strips, tiles level
}

// A level is all groups of 1<<shift documents.
type level struct {
	shift    uint32
	bound    []uint32 // on the scores in each, or noBound where nothing can match
	postings []uint32 // of all lists, in each
	lists    []uint32 // that have postings there
}

func newLevel(shift uint32, groups int) level {
	return level{shift, make([]uint32, groups), make([]uint32, groups), make([]uint32, groups)}
}

// wins reports whether a document of group i can have a key of at least threshold, by its bound.
func (l *level) wins(i int, bound uint32, threshold uint64) bool {
	return bound != noBound && keyOf(blockmax.Hit{Score: bound, Doc: uint32(i) << l.shift}) >= threshold
}

// newGrid reads all lists of a query whose documents are in one segment, in tiles of 1<<shift
// documents.
func newGrid(p *collection.Plan, shift uint32) (*grid, error) {
	s := &p.Segments[0]
	tiles := int((uint64(s.Docs) + 1<<shift - 1) >> shift)
	g := &grid{
		plan: p, all: p.Mode == blockmax.And,
		cells: newLevel(shift-8, tiles*stripsOfTile*cellsOfStrip), strips: newLevel(shift-5, tiles*stripsOfTile), tiles: newLevel(shift, tiles),
	}
	for t := range s.Terms {
		if err := g.addList(&s.Terms[t], p.Weights[t]); err != nil {
			return nil, err
		}
	}
	for _, l := range []*level{&g.cells, &g.strips, &g.tiles} {
		for i, lists := range l.lists {
			if lists == 0 || g.all && int(lists) < len(s.Terms) {
				l.bound[i] = noBound
			}
		}
	}
	return g, nil
}

// addList adds the bounds of a list: bytes for each cell and strip. If it has fewer postings than
// there are strips, its nonempty cells take the byte of their strip. If it is too short to be flat,
// all strips and cells take the byte of their tile.
func (g *grid) addList(t *collection.Term, weight uint32) error {
	cells := make([]uint8, len(g.cells.bound))
	err := eachPosting(t, func(doc, impact uint32) {
		cell := doc >> g.cells.shift
		cells[cell] = max(cells[cell], boundByte(impact))
		g.cells.postings[cell]++
		g.strips.postings[doc>>g.strips.shift]++
		g.tiles.postings[doc>>g.tiles.shift]++
	})
	if err != nil {
		return err
	}
	strips, tiles := highest(cells, cellsOfStrip), highest(cells, cellsOfStrip*stripsOfTile)
	switch {
	case t.List.Count*flatShare < len(strips):
		for i := range strips {
			strips[i] = tiles[i/stripsOfTile]
		}
		for i := range cells {
			cells[i] = tiles[i/stripsOfTile/cellsOfStrip]
		}
	case t.List.Count < len(strips):
		for i, bound := range cells {
			if bound != 0 {
				cells[i] = strips[i/cellsOfStrip]
			}
		}
	}
	g.cells.add(cells, weight)
	g.strips.add(strips, weight)
	g.tiles.add(tiles, weight)
	return nil
}

// boundByte is bound_byte of kernels/flat.cuh.
func boundByte(impact uint32) uint8 { return uint8(max(1, (impact+256)/257)) }

// highest returns the highest byte of each group of each bytes.
func highest(bytes []uint8, each int) (out []uint8) {
	for group := range slices.Chunk(bytes, each) {
		out = append(out, slices.Max(group))
	}
	return out
}

// add adds the bounds of a list, a byte for each group, 0 where it has no posting.
func (l *level) add(bytes []uint8, weight uint32) {
	for i, bound := range bytes {
		if bound != 0 {
			l.bound[i] += blockmax.Contribution(weight, uint16(bound)*257)
			l.lists[i]++
		}
	}
}

// eachPosting calls do with all documents of a list, and their impacts.
func eachPosting(t *collection.Term, do func(doc, impact uint32)) error {
	for b := range t.List.Blocks() {
		if err := eachOfBlock(t, b, do); err != nil {
			return err
		}
	}
	return nil
}

func eachOfBlock(t *collection.Term, block int, do func(doc, impact uint32)) error {
	var docs, freqs [postings.BlockSize]uint32
	n, err := t.List.Docs(block, &docs)
	if err != nil {
		return err
	}
	if _, err := t.List.Freqs(block, &freqs); err != nil {
		return err
	}
	for i, doc := range docs[:n] {
		code := uint8(1)
		if t.Norms != nil {
			code = t.Norms[doc]
		}
		do(doc, uint32(t.Table.Impact(freqs[i], code)))
	}
	return nil
}

// A seed is a tile, and the highest bound of its strips.
type seed struct{ tile, bound uint32 }

// tilesByStrips returns the tiles where something can match, the best first.
func (g *grid) tilesByStrips() (seeds []seed) {
	for tile := range g.tiles.bound {
		s, there := seed{tile: uint32(tile)}, false
		for _, bound := range g.stripsOf(tile) {
			if bound != noBound {
				s.bound, there = max(s.bound, bound), true
			}
		}
		if there {
			seeds = append(seeds, s)
		}
	}
	slices.SortFunc(seeds, func(x, y seed) int { return cmp.Or(cmp.Compare(y.bound, x.bound), cmp.Compare(x.tile, y.tile)) })
	return seeds
}

func (g *grid) stripsOf(tile int) []uint32 { return g.strips.bound[tile*stripsOfTile:][:stripsOfTile] }

// firstTiles is how many tiles are scored first.
func (g *grid) firstTiles() int {
	if g.all {
		return bestOfAnd
	}
	return bestOfOr
}

// bestStrips returns the best strip of each of the best tiles.
func (g *grid) bestStrips() (strips []uint32) {
	tiles := g.tilesByStrips()
	for _, s := range tiles[:min(len(tiles), g.firstTiles())] {
		at := slices.Index(g.stripsOf(int(s.tile)), s.bound)
		strips = append(strips, s.tile*stripsOfTile+uint32(at))
	}
	return strips
}

// seeds returns the seeds of kernels/plan.cu: the best tile of each residue class of tile numbers,
// and its strips that are nearly as good as the best.
func (g *grid) seeds() (strips []uint32) {
	taken := make([]bool, g.firstTiles())
	for _, s := range g.tilesByStrips() {
		class := int(s.tile) % len(taken)
		if taken[class] {
			continue
		}
		taken[class] = true
		for i, bound := range g.stripsOf(int(s.tile)) {
			if bound != noBound && bound >= s.bound-s.bound/8 {
				strips = append(strips, s.tile*stripsOfTile+uint32(i))
			}
		}
	}
	return strips
}

// keysIn returns the keys of all matching documents in some strips.
func (g *grid) keysIn(strips []uint32) (keys []uint64, err error) {
	width := uint32(1) << g.strips.shift
	slots := make([]int32, len(g.strips.bound)) // 0, or one more than the strip's index in strips
	for i, strip := range strips {
		slots[strip] = int32(i + 1)
	}
	scores, lists := make([]uint32, uint32(len(strips))*width), make([]uint8, uint32(len(strips))*width)
	terms := g.plan.Segments[0].Terms
	for t := range terms {
		err := g.eachNear(&terms[t], slots, func(doc, impact uint32) {
			if slot := slots[doc>>g.strips.shift]; slot != 0 {
				at := uint32(slot-1)*width + doc&(width-1)
				scores[at] += blockmax.Contribution(g.plan.Weights[t], uint16(impact))
				lists[at]++
			}
		})
		if err != nil {
			return nil, err
		}
	}
	for at, n := range lists {
		if n > 0 && (!g.all || int(n) == len(terms)) {
			doc := strips[uint32(at)/width]*width + uint32(at)&(width-1)
			keys = append(keys, keyOf(blockmax.Hit{Score: scores[at], Doc: doc}))
		}
	}
	return keys, nil
}

// eachNear calls do with all postings of the blocks that touch a strip with a slot.
func (g *grid) eachNear(t *collection.Term, slots []int32, do func(doc, impact uint32)) error {
	first := uint32(0)
	for b, last := range t.List.Last {
		if slices.ContainsFunc(slots[first>>g.strips.shift:last>>g.strips.shift+1], func(slot int32) bool { return slot != 0 }) {
			if err := eachOfBlock(t, b, do); err != nil {
				return err
			}
		}
		first = last + 1
	}
	return nil
}
