package cpuexec

import (
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/postings"
)

// bitmapSparsest is the most documents per posting for which a list may get a bitmap. It is then
// that many bits per posting.
const bitmapSparsest = 64

// bitmapWords is the length of the bitmaps of the current segment: whole tiles.
func (at *part) bitmapWords() int { return tiles(at.seg.Docs) * tileDocs / 64 }

// learn gives the cursor the bitmap of its list, if there is one. It makes the bitmap once more
// blocks have been decoded or looked into, including spent, than making it takes.
func (c *tileCursor) learn(spent int64) error {
	if c.bitmap = c.list.Bitmap(); c.bitmap == nil {
		if !c.dense() || !c.list.Spend(spent) {
			return nil
		}
		return c.makeBitmap()
	}
	if len(c.bitmap) != c.run.at.bitmapWords() {
		c.bitmap = nil // the list belongs to a segment that grows
	}
	return nil
}

// makeBitmap decodes the whole list.
func (c *tileCursor) makeBitmap() error {
	set := make([]uint64, c.run.at.bitmapWords())
	for b := range c.list.Blocks() {
		if err := c.read(b, false); err != nil {
			return err
		}
		setAll(set, c.docs[:c.n])
	}
	if err := c.checkBitmap(set); err != nil {
		return err
	}
	c.bitmap = set
	c.list.KeepBitmap(set)
	return nil
}

// checkBitmap returns an error unless set has as many documents as the list.
func (c *tileCursor) checkBitmap(set []uint64) error {
	if n := countCommon([][]uint64{set}); n != c.list.Count {
		return c.fail(corrupt.New(-1, "the blocks have %d documents, the list has %d", n, c.list.Count))
	}
	return nil
}

// setAll adds documents, in ascending order, to a set. Its first bit is document 0. Each word is
// stored once for each document and never loaded again, because a load would wait for the store.
func setAll(set []uint64, docs []uint32) {
	at := docs[0] / 64
	word := set[at]
	for _, doc := range docs {
		if doc/64 != at {
			word = 0
		}
		at = doc / 64
		word |= 1 << (doc % 64)
		set[at] = word
	}
}

// dense reports whether the list may get a bitmap.
func (c *tileCursor) dense() bool {
	return int64(c.list.Count)*bitmapSparsest >= int64(c.run.at.seg.Docs)
}

// markAll adds documents [lo, hi) of the list to set. The first bit of set is document lo, and set
// has a word for all.
func (c *tileCursor) markAll(set []uint64, lo, hi uint32) error {
	for b := c.list.Seek(0, lo); b < len(c.list.Last) && c.first(b) < hi; b++ {
		c.list.Need(b, b+1)
		if c.list.Enc[b].Kind() == postings.Bitset {
			if err := c.peekAt(b); err != nil {
				return err
			}
			orRows(set, c.peek.Docs, int(c.peek.First)-int(lo))
			continue
		}
		if err := c.load(b); err != nil {
			return err
		}
		for _, doc := range clip(c.docs[:c.n], lo, hi) {
			at := doc - lo
			set[at/64] |= 1 << (at % 64)
		}
	}
	return nil
}

// clip returns those of the ascending documents that are in [lo, hi).
func clip(docs []uint32, lo, hi uint32) []uint32 {
	if docs[0] < lo {
		docs = docs[search(docs, lo):]
	}
	if n := len(docs); n > 0 && docs[n-1] >= hi {
		docs = docs[:search(docs, hi)]
	}
	return docs
}

// wanted is the cost, in blocks, of the missing bitmap of the list while AND of the lists is
// counted. It is all blocks of the range if the lists could be intersected as bitmaps, else zero.
func (c *tileCursor) wanted(lists []*tileCursor) int64 {
	if !c.run.out.counting || c.list.Bitmap() != nil {
		return 0
	}
	for _, other := range lists {
		if !other.dense() {
			return 0
		}
	}
	return int64(c.blocksAtWork())
}

func allBitmaps(lists []*tileCursor) bool {
	for _, c := range lists {
		if c.bitmap == nil {
			return false
		}
	}
	return true
}

// blocksAtWork is how many blocks of the list have documents of the current range.
func (c *tileCursor) blocksAtWork() int {
	from := c.list.Seek(0, c.run.at.from)
	return min(c.list.Seek(from, c.run.at.to-1)+1, len(c.list.Last)) - from
}
