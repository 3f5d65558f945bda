package cpuexec

import (
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/invariants"
	"github.com/riffle-search/riffle/postings"
)

// The three levels of 64 documents, words and tiles (see the package comment).
const (
	wordDocs  = blockmax.WordDocs
	tileDocs  = blockmax.TileDocs
	sheetDocs = 64 * tileDocs
)

// exactPostings is the most postings in a sheet for which a list is decoded at once. That takes
// about as long as reading the bounds of all tiles, and tells more. OR on terabyte05 takes 18.2 µs
// with 512, 16.9 with 1,024 and 21.9 with 2,048. A test lowers it, so that its small lists take all
// paths.
var exactPostings = 1024

// coarse bounds, in units of the cursor, a list's contributions in each word of a tile or in each
// tile of a sheet. It is 0 where the list has no posting.
type coarse [64]uint8

// A tileCursor is one list of one segment, read sheet by sheet and tile by tile. Sheets come in
// ascending order, the tiles of a sheet in any.
//
// Its bounds are from the list's ranges if it has them, from its blocks
// if not, and from the postings themselves where there are few.
type tileCursor struct {
	run      *run
	branch   *branch // nil for a list; otherwise the cursor stands for it
	cost     uint64  // roughly how many documents it has, for trees
	unscored bool    // of a branch: only matches are needed
	term     int
	list     *postings.List
	bounds   *blockmax.Bounds
	ranges   *blockmax.Ranges // nil until the list has ranges
	table    *blockmax.Table
	norms    []uint8
	lazy     *blockmax.LazyNorms
	weight   uint32
	max      uint32            // no posting of the list contributes more
	unit     uint32            // coarse * unit bounds contributions
	bound    uint32            // no posting of the current tile contributes more
	profile  *blockmax.Profile // of the plan, or nil

	plain  bool     // scores are not needed: a bound is zero or not, and means nothing more
	raw    bool     // frequencies are needed where all postings of a sheet are decoded
	bare   bool     // where all postings of a sheet are decoded, nothing but these is needed, tile by tile
	bitmap []uint64 // of the list; nil if there is none or it is not needed

	tiles   *coarse // of the sheet
	inTiles uint64  // where there are postings
	sheet   uint32  // its first document
	exact   bool    // all postings of the sheet are in few
	few     decoded
	blocks  int  // first block not in earlier sheets, for lists without ranges
	narrow  bool // extents bound tiles and words of the sheet, for lists without ranges

	words       *coarse // of the tile
	inWords     uint64  // where there are postings, for trees
	tile        uint32  // its first document, if unlocated
	unlocated   bool    // from and to are not known: see blocksInTile
	from, to    int     // the blocks that can have documents of the tile; if exact, its postings in few
	at          int     // block, or posting of few, of the last lookup
	intersected bool    // its postings in the tile, for AND

	peeked int // block to which peek points, or -1
	peek   postings.Peek

	loaded  int           // block whose documents are in docs, or -1
	rest    postings.Code // its frequencies, if it has been read without making rows
	scored  int           // block whose impacts are in impacts, or -1
	n       int           // postings in docs
	docs    [postings.BlockSize]uint32
	impacts [postings.BlockSize]uint16

	positions *postings.Positions // of a word of a proximity; nil until they are needed
	sought    uint32              // that document
	posting   int                 // its index in that block, or -1
	reading   bool                // positions is of the list
	placed    int                 // block of the last document whose place was wanted, or -1
	places    *occurrences        // in candidates that are verified together; nil until they are needed

	spent int64     // times that a block was decoded
	seen  []uint64  // a bit for each block that has been decoded
	own   [2]coarse // tiles and words, when they are not in ranges
}

// decoded are all postings of a list in a sheet.
type decoded struct {
	docs    []uint32
	impacts []uint16
	freqs   []uint32   // if the list is raw
	starts  [65]int    // first posting of each tile, and of what follows the sheet
	words   [64]coarse // bounds of the words of each tile
}

func (c *tileCursor) reset(r *run, t int, term *blockmax.Term) {
	c.run, c.term, c.profile = r, t, r.query.plan.Profile
	c.list, c.bounds, c.table = term.List, term.Bounds, term.Table
	c.norms, c.lazy = term.Norms, term.Lazy
	c.ranges = term.Bounds.Refined()
	c.weight = r.query.plan.Weights[t]
	c.max = blockmax.Contribution(c.weight, term.Bounds.List)
	c.unit = blockmax.CoarseUnit(c.weight)
	c.blocks, c.peeked, c.loaded, c.scored, c.spent = 0, -1, -1, -1, 0
	c.narrow, c.unlocated, c.placed, c.reading, c.sought = false, false, -1, false, end
	c.bare = false
	c.exact, c.plain, c.raw, c.at, c.bitmap, c.sheet = false, false, false, 0, nil, noSheet
	c.seen = slices.Grow(c.seen[:0], c.list.Blocks()/64+1)[:c.list.Blocks()/64+1]
	clear(c.seen)
}

// forget drops references to the caller's data.
func (c *tileCursor) forget() {
	c.list, c.bounds, c.ranges, c.table, c.norms, c.lazy = nil, nil, nil, nil, nil, nil
	c.tiles, c.words, c.bitmap = nil, nil, nil
	c.peek, c.rest, c.profile = postings.Peek{}, postings.Code{}, nil
	if c.positions != nil {
		c.positions.Reset(nil)
	}
}

// first is the lowest document that block b can hold, according to the directory.
func (c *tileCursor) first(b int) uint32 {
	return c.list.First(b)
}

// load decodes the documents of block b. At the first use of a block it makes no rows.
func (c *tileCursor) load(b int) error {
	if c.loaded == b {
		return nil
	}
	return c.read(b, !c.list.Once(b))
}

// read decodes the documents of block b. If the list has no rows of it, and need not make them, rest
// has its frequencies.
func (c *tileCursor) read(b int, rows bool) error {
	n, rest, err := c.docsOf(b, rows, &c.docs)
	if err != nil {
		return err
	}
	for i := n; i < len(c.docs); i++ {
		c.docs[i] = end // for searches that do not know n
	}
	c.loaded, c.rest, c.scored, c.n = b, rest, -1, n
	return nil
}

// docsOf is read for any memory.
func (c *tileCursor) docsOf(b int, rows bool, dst *[postings.BlockSize]uint32) (n int, rest postings.Code, err error) {
	if rows {
		n, err = c.list.Docs(b, dst)
	} else {
		n, rest, err = c.list.ReadDocs(b, dst)
	}
	if err != nil {
		return 0, rest, c.fail(err)
	}
	c.spend(b)
	return n, rest, nil
}

// spend notes that block b has been decoded or looked into.
func (c *tileCursor) spend(b int) {
	c.spent++
	if c.seen[b/64]>>(b%64)&1 == 0 {
		c.see(b)
	}
}

// see notes that block b has been decoded for the first time. It is apart from spend so that the compiler inlines that.
func (c *tileCursor) see(b int) {
	c.seen[b/64] |= 1 << (b % 64)
	c.run.out.work.BlocksDecoded++
	if c.profile != nil {
		c.profile.Decode(c.run.at.index, c.term, b)
	}
}

// compare notes that the bounds of blocks [from, to), or of words in them, are compared with the
// threshold.
func (c *tileCursor) compare(from, to int) {
	if c.profile != nil {
		c.profile.Compare(c.run.at.index, c.term, from, to)
	}
}

// blockMax is the highest impact of block b, for a comparison with the threshold.
func (c *tileCursor) blockMax(b int) uint16 {
	c.bounds.Need(b, b+1)
	c.compare(b, b+1)
	return c.bounds.Block[b]
}

// score computes the impacts of the loaded block.
func (c *tileCursor) score() error {
	if c.scored == c.loaded {
		return nil
	}
	if err := c.impactsOf(c.loaded, c.rest, &c.docs, c.n, &c.impacts); err != nil {
		return err
	}
	c.scored = c.loaded
	return nil
}

// impactsOf computes the impacts of block b, given what docsOf has returned.
func (c *tileCursor) impactsOf(b int, rest postings.Code, docs *[postings.BlockSize]uint32, n int, dst *[postings.BlockSize]uint16) error {
	if err := c.freqsOf(b, rest, docs[:n]); err != nil {
		return err
	}
	impacts(dst, docs, &c.run.tiled.freqs, n, c.norms, c.table)
	return nil
}

// loadFreqs decodes the frequencies of the loaded block to run.freqs, and makes sure of the norms of
// its documents.
func (c *tileCursor) loadFreqs() error { return c.freqsOf(c.loaded, c.rest, c.docs[:c.n]) }

// freqsOf is loadFreqs for block b, given its documents and what docsOf has returned.
func (c *tileCursor) freqsOf(b int, rest postings.Code, docs []uint32) error {
	if err := c.lazy.Need(docs); err != nil {
		return c.fail(err)
	}
	freqs := &c.run.tiled.freqs
	if _, err := c.list.ReadFreqs(b, rest, freqs); err != nil {
		return c.fail(err)
	}
	if invariants.Enabled && c.loaded == b {
		for i, doc := range c.docs[:c.n] {
			c.check(b, doc, c.table.Impact(freqs[i], c.code(doc)))
		}
	}
	return nil
}

// check compares a posting of block b with the bounds of the block and of its extent.
func (c *tileCursor) check(b int, doc uint32, impact uint16) {
	if invariants.Enabled {
		c.bounds.Need(b, b+1)
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
func (c *tileCursor) code(doc uint32) uint8 {
	if c.norms == nil {
		return 1
	}
	return c.norms[doc]
}

func (c *tileCursor) fail(err error) error {
	c.run.win.torn = true
	return &ListError{c.run.at.index, c.term, err}
}
