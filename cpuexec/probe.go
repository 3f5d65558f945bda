package cpuexec

import (
	"math/bits"
	"sort"
	"unsafe"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/postings"
)

// lookUp adds the list's contributions to the candidates of some words of the tile. It drops
// candidates that cannot reach need, given the bound in rest on later contributions in their words.
// Candidates of other words must reach it anyway.
func (c *tileCursor) lookUp(words uint64, need uint32, rest *sums) error {
	if c.branch != nil {
		return c.lookUpBranch(words, need, rest, false)
	}
	p := &c.run.tiled.prober
	p.words, p.rest, p.need, p.optional = words, rest, uint64(need), 1
	return c.lookUpTile(p)
}

// require is lookUp for all candidates. It also drops those that the list does not hold.
func (c *tileCursor) require(need uint32, rest *sums) error {
	if c.branch != nil {
		return c.lookUpBranch(^uint64(0), need, rest, true)
	}
	p := &c.run.tiled.prober
	p.words, p.rest, p.need, p.optional = ^uint64(0), rest, uint64(need), 0
	return c.lookUpTile(p)
}

// lookUpTile looks up candidates of the current tile.
func (c *tileCursor) lookUpTile(p *probe) error {
	cs, last := &c.run.cands, c.list.Last
	p.at, p.kept, p.end = 0, 0, uint64(cs.n)
	p.aim(c)
	if c.exact {
		p.inSorted(cs, c.few.docs[c.from:c.to], c.few.impacts[c.from:c.to], c.weight, end)
		cs.n = int(p.kept)
		return nil
	}
	for b, until := -1, 0; p.at < p.end; {
		doc := cs.docs[p.at]
		asked := p.words>>(doc/wordDocs%64)&1 == 1 && !c.lacks(doc)
		if asked && b < 0 {
			b, until = c.blocksInTile()
		}
		for asked && b < until && last[b] < doc {
			b++
		}
		if !asked || b == until {
			p.keep(cs, doc, cs.score[p.at], 0)
		} else if err := c.lookUpBlock(p, b); err != nil {
			return err
		}
	}
	cs.n = int(p.kept)
	return nil
}

// lacks reports whether a bitmap shows that the list does not hold a document.
func (c *tileCursor) lacks(doc uint32) bool {
	return c.bitmap != nil && c.bitmap[doc/64]>>(doc%64)&1 == 0
}

// requireAnywhere is require for candidates of any tiles, in ascending order over calls. rest
// bounds what the remaining lists and the rank can still add.
func (c *tileCursor) requireAnywhere(need uint32, rest *sums) error {
	cs, p := &c.run.cands, &c.run.tiled.prober
	p.words, p.rest, p.need, p.optional = ^uint64(0), rest, uint64(need), 0
	p.at, p.kept, p.end = 0, 0, uint64(cs.n)
	p.aim(c)
	for p.at < p.end {
		c.at = c.list.Seek(c.at, cs.docs[p.at])
		if c.at == len(c.list.Last) {
			break
		}
		if err := c.lookUpBlock(p, c.at); err != nil {
			return err
		}
	}
	cs.n = int(p.kept)
	return nil
}

// A probe looks for candidates in one block after the other. Assembly uses it as 21 words of 8
// bytes, in this order.
type probe struct {
	docs, scores  *uint32 // the candidates
	at, end, kept uint64  // candidates [at, end) are still to be tested; earlier ones have become kept
	words         uint64  // words in which candidates are looked up
	rest          *sums
	need          uint64
	optional      uint64 // 1, or 0 to drop candidates that the list does not hold

	// Of the block:
	first, last uint64
	bits        *byte   // of a bitset
	sorted      *uint32 // the 128 documents of any other block
	postings    uint64
	freqs       *byte // readable for two rows from the beginning of any value
	width       uint64

	// Of the list:
	norms   *uint8
	impacts *[16][256]uint16
	k       *[256]float32
	weight  uint64

	before uint64 // bits of a bitset below those of the block
}

// keep adds the current candidate to those kept, if it can still reach need. hit is 1 when the list
// holds it, else 0.
func (p *probe) keep(cs *candidates, doc, score uint32, hit uint64) {
	cs.docs[p.kept], cs.score[p.kept] = doc, score
	p.at++
	if score+p.rest[doc/wordDocs%64] >= uint32(p.need) {
		p.kept += hit | p.optional
	}
}

// inSorted looks up candidates up to last in postings whose impacts are known.
func (p *probe) inSorted(cs *candidates, docs []uint32, impacts []uint16, weight, last uint32) {
	i := 0
	for p.at < p.end && cs.docs[p.at] <= last {
		doc, score, hit := cs.docs[p.at], cs.score[p.at], uint64(0)
		for i < len(docs) && docs[i] < doc {
			i++
		}
		if i < len(docs) && docs[i] == doc && p.words>>(doc/wordDocs%64)&1 == 1 {
			score += blockmax.Contribution(weight, impacts[i])
			hit = 1
		}
		p.keep(cs, doc, score, hit)
	}
}

// lookUpBlock looks up the candidates that block b may hold.
func (c *tileCursor) lookUpBlock(p *probe, b int) error {
	cs := &c.run.cands
	if c.scored == b {
		p.inSorted(cs, c.docs[:c.n], c.impacts[:c.n], c.weight, c.list.Last[b])
		return nil
	}
	if c.loaded != b && c.peeked != b && c.list.Once(b) {
		if err := c.read(b, false); err != nil {
			return err
		}
	}
	if c.loaded == b && !c.rest.Empty() {
		return c.lookUpRead(p)
	}
	if err := c.peekAt(b); err != nil {
		return err
	}
	if err := c.needNorms(cs.docs[p.at:p.end], c.list.Last[b]); err != nil {
		return err
	}
	k := &c.peek
	quick := hasProbe() && k.Kind != postings.Run && k.FreqWidth <= 31 && p.aimAt(k)
	bitset := k.Kind == postings.Bitset || quick && c.aimAtBitmap(p, b)
	if !bitset && !k.Searchable() {
		if err := c.load(b); err != nil {
			return err
		}
	}
	if !quick {
		return c.probePortable(p, b)
	}
	if !probeBlock(p, bitset) {
		return c.fail(&corrupt.Error{Block: b, Offset: 0, Reason: "a bitset of another number of postings"})
	}
	return nil
}

// lookUpRead is lookUpBlock for the loaded block, which has no rows. It reads the frequencies if the
// block holds a candidate.
func (c *tileCursor) lookUpRead(p *probe) error {
	cs, last, scored := &c.run.cands, c.list.Last[c.loaded], false
	for p.at < p.end && cs.docs[p.at] <= last {
		doc, score, hit := cs.docs[p.at], cs.score[p.at], uint64(0)
		if p.words>>(doc/wordDocs%64)&1 == 1 {
			if i := postings.SeekIn(&c.docs, c.n, doc); i < c.n && c.docs[i] == doc {
				if !scored {
					if err := c.loadFreqs(); err != nil {
						return err
					}
					scored = true
				}
				score += blockmax.Contribution(c.weight, c.table.Impact(c.run.tiled.freqs[i], c.code(doc)))
				hit = 1
			}
		}
		p.keep(cs, doc, score, hit)
	}
	return nil
}

// needNorms makes sure of the norms of the candidates up to last.
func (c *tileCursor) needNorms(docs []uint32, last uint32) error {
	if c.lazy.Complete() {
		return nil
	}
	n := sort.Search(len(docs), func(i int) bool { return docs[i] > last })
	if err := c.lazy.Need(docs[:n]); err != nil {
		return c.fail(err)
	}
	return nil
}

// bitmapCounts is the most words of a bitmap to count for finding postings of a block. That many
// take as long as unpacking the block.
const bitmapCounts = 24

// aimAtBitmap points the probe to the part of the list's bitmap that is block b. It returns false
// if there is no bitmap or the part is long. The probe must already point to the block.
func (c *tileCursor) aimAtBitmap(p *probe, b int) bool {
	from, to := p.first/64, p.last/64
	if c.bitmap == nil || to-from >= bitmapCounts {
		return false
	}
	p.before = uint64(bits.OnesCount64(c.bitmap[from] & (1<<(p.first%64) - 1)))
	p.first, p.bits = 64*from, (*byte)(unsafe.Pointer(&c.bitmap[from]))
	c.spend(b)
	return true
}

// aim points the probe to a list.
func (p *probe) aim(c *tileCursor) {
	cs := &c.run.cands
	p.docs, p.scores, p.sorted = &cs.docs[0], &cs.score[0], &c.docs[0]
	p.norms = unsafe.SliceData(c.norms)
	p.impacts, p.k = c.table.Arrays()
	p.weight = uint64(c.weight)
}

// zeroRows are the rows of frequencies that take no bits.
var zeroRows [2 * postings.RowBytes]byte

// aimAt points the probe to a block of the list. It returns false when assembly might read out of
// bounds.
func (p *probe) aimAt(k *postings.Peek) bool {
	p.before = 0
	p.first, p.last, p.postings = uint64(k.First), uint64(k.Last), uint64(k.Len)
	p.bits, p.width = unsafe.SliceData(k.Docs), uint64(k.FreqWidth)
	if k.FreqWidth == 0 {
		p.freqs = &zeroRows[0]
		return true
	}
	p.freqs = unsafe.SliceData(k.Freqs)
	return cap(k.Freqs)-len(k.Freqs) >= postings.GuardBytes
}

// forget drops references to the caller's data.
func (p *probe) forget() { *p = probe{} }

// probePortable is the Go variant of lookUpBlock, after its preparations.
func (c *tileCursor) probePortable(p *probe, b int) error {
	cs, last := &c.run.cands, c.list.Last[b]
	searchable := c.peek.Searchable()
	for p.at < p.end && cs.docs[p.at] <= last {
		doc, score, hit := cs.docs[p.at], cs.score[p.at], uint64(0)
		i := -1
		if p.words>>(doc/wordDocs%64)&1 == 1 {
			if searchable {
				i = c.peek.Find(doc)
			} else if at := postings.SeekIn(&c.docs, c.n, doc); at < c.n && c.docs[at] == doc {
				i = at
			}
		}
		if i >= 0 {
			tf := c.peek.TF(i)
			if tf == 0 {
				return c.fail(&corrupt.Error{Block: b, Offset: -1, Reason: "a posting that the block does not have"})
			}
			impact := c.table.Impact(tf, c.code(doc))
			c.check(b, doc, impact)
			score += blockmax.Contribution(c.weight, impact)
			hit = 1
		}
		p.keep(cs, doc, score, hit)
	}
	return nil
}

// peekAt points peek to block b.
func (c *tileCursor) peekAt(b int) error {
	if c.peeked == b {
		return nil
	}
	if err := c.list.Peek(b, &c.peek); err != nil {
		return c.fail(err)
	}
	c.peeked = b
	if c.peek.Searchable() {
		c.spend(b)
	}
	return nil
}
