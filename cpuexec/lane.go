package cpuexec

import (
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/invariants"
	"github.com/riffle-search/riffle/postings"
)

// Documents are looked at on three levels of 64: a word is 64 documents, a tile 64
// words (4,096 documents), a sheet 64 tiles (262,144 documents). So one bit mask
// picks words of a tile, or tiles of a sheet.
const (
	wordDocs  = blockmax.WordDocs
	tileDocs  = blockmax.TileDocs
	sheetDocs = 64 * tileDocs
)

// exactPostings is how many postings of a sheet a list may have to be decoded at
// once. It costs about as much as looking at the bounds of the sheet's tiles would,
// and tells more. A test lowers it, so that its small lists go all ways.
var exactPostings = 1024

// coarse bounds, in units of the lane, what a list contributes in each word of a tile
// or in each tile of a sheet: 0 where it has no posting.
type coarse [64]uint8

// A tiling is what a run needs to go tile by tile.
type tiling struct {
	lanes     []*lane
	laneCount int     // lanes[:laneCount] belong to the segment at work
	lanesOpen bool    // they have been opened
	sheet     uint32  // first document of the sheet that they are at, or noSheet
	tiles     uint64  // the tiles of the sheet where one of them has postings
	common    uint64  // those where all have
	active    []*lane // those with postings in the tile at work, weakest first

	tileSums sums        // bounds of the tiles of the sheet
	prefix   []sums      // prefix[i] has the bounds of active[:i] in the words of the tile, added up
	masks    []laneWords // of active
	rest     sums        // what lists that are not essential can add in each word
	freqs    [postings.BlockSize]uint32
	prober   probe
	held     bitset // what a lane holds
	marks    marks
}

// noSheet is where no sheet begins.
const noSheet = ^uint32(0)

// laneWords says in which words of the tile a lane has postings, and in which of them
// it is essential.
type laneWords struct{ present, essential uint64 }

// openLanes returns a lane for every term the segment has, opened at the first call,
// in order of the terms.
func (r *run) openLanes() ([]*lane, error) {
	t := &r.tiling
	if t.lanesOpen {
		return t.lanes[:t.laneCount], nil
	}
	for i := range r.seg.Terms {
		if _, err := r.openLane(i); err != nil {
			return nil, err
		}
	}
	t.lanesOpen = true
	return t.lanes[:t.laneCount], nil
}

// openLane opens a lane for term i, or returns nil when the segment lacks it.
func (r *run) openLane(i int) (*lane, error) {
	term := &r.seg.Terms[i]
	if term.Bounds == nil || term.List.Blocks() == 0 {
		return nil, nil
	}
	if err := r.checkList(i); err != nil {
		return nil, err
	}
	t := &r.tiling
	if t.laneCount == len(t.lanes) {
		t.lanes = append(t.lanes, new(lane))
	}
	c := t.lanes[t.laneCount]
	t.laneCount++
	c.reset(r, i, term)
	return c, nil
}

// close drops the lanes of the segment at work, and what belongs to the caller.
func (t *tiling) close() {
	for _, c := range t.lanes[:t.laneCount] {
		c.forget()
	}
	t.laneCount, t.lanesOpen, t.sheet = 0, false, noSheet
	t.prober.forget()
}

// checkList refuses a list that names documents which the segment does not have.
func (r *run) checkList(t int) error {
	l := r.seg.Terms[t].List
	if last := l.Last[l.Blocks()-1]; last >= r.seg.Docs {
		return &ListError{r.index, t, corrupt.New(-1, "the list ends at document %d of %d", last, r.seg.Docs)}
	}
	return nil
}

// A lane is one list of one segment, seen sheet by sheet and tile by tile. Sheets come in
// ascending order, the tiles of a sheet in any.
//
// The bounds of a lane are from the list's ranges if it has them, from its blocks
// if not, and from the postings themselves where there are few.
type lane struct {
	run    *run
	term   int
	list   *postings.List
	bounds *blockmax.Bounds
	ranges *blockmax.Ranges // nil while the list has none
	table  *blockmax.Table
	norms  []uint8
	weight uint32
	max    uint32 // no posting of the list contributes more
	unit   uint32 // coarse * unit bounds contributions
	bound  uint32 // no posting of the tile at hand contributes more

	plain bool // only documents matter: bounds are more or less than 0 and say no more

	tiles   *coarse // of the sheet
	inTiles uint64  // where there are postings
	exact   bool    // all postings of the sheet are in few
	few     decoded
	blocks  int // blocks[blocks:] are behind the sheets before, when there are no ranges

	words    *coarse // of the tile
	inWords  uint64  // where there are postings, for trees
	from, to int     // the blocks that can have documents of the tile; postings of few if exact
	at       int     // block or posting of few that the last document asked for was in
	packed   int     // blocks with documents of the words asked for that are packed

	peeked int // block that peek looks into, or -1
	peek   postings.Peek

	loaded  int // block whose documents are in docs, or -1
	scored  int // block whose impacts are in impacts, or -1
	n       int // postings in docs
	docs    [postings.BlockSize]uint32
	impacts [postings.BlockSize]uint16

	spent int64     // times that a block was decoded
	seen  []uint64  // a bit for each block, set when it has been decoded
	own   [2]coarse // where tiles and words lie when they are not in ranges
}

// decoded are all postings that a lane has in a sheet.
type decoded struct {
	docs    []uint32
	impacts []uint16
	starts  [65]int    // where each tile begins, and the one behind the sheet
	words   [64]coarse // bounds of the words of each tile
}

func (c *lane) reset(r *run, t int, term *blockmax.Term[*postings.List]) {
	c.run, c.term = r, t
	c.list, c.bounds, c.table, c.norms = term.List, term.Bounds, term.Table, term.Norms
	c.ranges = term.Bounds.Refined()
	c.weight = r.plan.Weights[t]
	c.max = blockmax.Contribution(c.weight, term.Bounds.List)
	c.unit = blockmax.CoarseUnit(c.weight)
	c.blocks, c.peeked, c.loaded, c.scored, c.spent = 0, -1, -1, -1, 0
	c.exact, c.plain, c.at = false, false, 0
	c.seen = slices.Grow(c.seen[:0], c.list.Blocks()/64+1)[:c.list.Blocks()/64+1]
	clear(c.seen)
}

// forget drops what belongs to the caller of the run.
func (c *lane) forget() {
	c.list, c.bounds, c.ranges, c.table, c.norms, c.tiles, c.words = nil, nil, nil, nil, nil, nil, nil
	c.peek = postings.Peek{}
}

// first is the lowest document that block b can hold, by the directory.
func (c *lane) first(b int) uint32 {
	if b == 0 {
		return 0
	}
	return c.list.Last[b-1] + 1
}

// load decodes the documents of block b.
func (c *lane) load(b int) error {
	if c.loaded == b {
		return nil
	}
	n, err := c.list.Docs(b, &c.docs)
	if err != nil {
		return c.fail(err)
	}
	for i := n; i < len(c.docs); i++ {
		c.docs[i] = end // for searches that know no n
	}
	c.loaded, c.scored, c.n = b, -1, n
	c.spend(b)
	return nil
}

// spend notes that block b is decoded, or looked into.
func (c *lane) spend(b int) {
	c.spent++
	word, bit := &c.seen[b/64], uint64(1)<<(b%64)
	if *word&bit == 0 {
		*word |= bit
		c.run.work.BlocksDecoded++
	}
}

// score computes the impacts of the loaded block.
func (c *lane) score() error {
	if c.scored == c.loaded {
		return nil
	}
	if err := c.impactsOf(c.loaded, c.docs[:c.n], &c.impacts); err != nil {
		return err
	}
	c.scored = c.loaded
	return nil
}

// impactsOf computes the impacts of block b, whose documents are given.
func (c *lane) impactsOf(b int, docs []uint32, dst *[postings.BlockSize]uint16) error {
	if err := c.loadFreqs(b); err != nil {
		return err
	}
	impacts(dst, docs, &c.run.freqs, c.norms, c.table)
	return nil
}

// loadFreqs decodes the frequencies of block b to run.freqs.
func (c *lane) loadFreqs(b int) error {
	freqs := &c.run.freqs
	if _, err := c.list.Freqs(b, freqs); err != nil {
		return c.fail(err)
	}
	if invariants.Enabled && c.loaded == b {
		for i, doc := range c.docs[:c.n] {
			c.check(b, doc, c.table.Impact(freqs[i], c.code(doc)))
		}
	}
	return nil
}

// check holds a posting of block b against the bounds of the block and of its extent.
func (c *lane) check(b int, doc uint32, impact uint16) {
	if invariants.Enabled {
		invariants.Check(impact <= c.bounds.Block[b], "document %d has impact %d for term %d, above the bound %d of block %d", doc, impact, c.term, c.bounds.Block[b], b)
		extent := c.bounds.Extent[b/postings.ExtentBlocks]
		invariants.Check(c.bounds.Block[b] <= extent, "the bound of block %d of term %d is above its extent's", b, c.term)
		if c.ranges != nil {
			word := c.ranges.Word[doc/wordDocs]
			invariants.Check(blockmax.Coarse(impact) <= word, "document %d has impact %d for term %d, above the bound %d of its word", doc, impact, c.term, word)
		}
	}
}

// code is the length code of a document's field.
func (c *lane) code(doc uint32) uint8 {
	if c.norms == nil {
		return 1
	}
	return c.norms[doc]
}

func (c *lane) fail(err error) error {
	c.run.win.torn = true
	return &ListError{c.run.index, c.term, err}
}
