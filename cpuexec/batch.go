package cpuexec

import (
	"encoding/binary"
	"math/bits"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/postings"
)

// Candidates of a proximity are verified many at a time, list by list. What costs much for one candidate
// is then shared by those of the same block: where the positions of its postings begin, how many
// documents precede each word of 64, and unpacking.

// batchDocs is the most candidates that are verified together. With more, a threshold would rise less
// often.
const batchDocs = 128

// A batch is some candidates, in ascending order.
type batch struct {
	number uint64 // no other batch of the run has it
	docs   []uint32
	codes  [batchDocs]uint8  // their length codes, where scores are needed
	freqs  [batchDocs]uint64 // of those that match, in units of 1/proximity.One

	live [batchDocs]uint8 // the numbers of those that may match; after verification, of those that do
	n    int              // how many these are

	// Of those of a block:
	found [batchDocs]uint8 // their postings
	at    [batchDocs]uint32
}

// begin makes the batch one of other candidates.
func (b *batch) begin(docs []uint32) {
	b.number++
	b.docs, b.n = docs, len(docs)
	for i := range docs {
		b.live[i&127] = uint8(i)
	}
}

// Occurrences are the positions of a word in candidates of a batch.
type occurrences struct {
	batch uint64 // its number
	from  [batchDocs]uint32
	count [batchDocs]uint32
	all   []uint16 // those of a candidate are all[from:][:count]; the first is of none
	width int      // no position has more bits
}

// of returns the positions in a candidate of the batch.
func (o *occurrences) of(slot uint8) []uint16 {
	return o.all[o.from[slot&127]:][:o.count[slot&127]]
}

// gather finds the positions of the list in the candidates of a batch. It drops those that the list does
// not hold, or with an impact below floor. It is not narrow, and the batch is not as it was, if a position
// may have more than 16 bits.
func (c *tileCursor) gather(b *batch, table *blockmax.Table, floor uint16) (narrow bool, err error) {
	o := c.places
	if o == nil {
		o = new(occurrences)
		c.places = o
	}
	if o.batch == b.number {
		return true, nil // the word comes twice
	}
	o.batch, o.all, o.width = b.number, append(o.all[:0], 0), 0
	if !c.reading {
		c.readPlaces()
	}
	c.sought = end // place does not know of the blocks that are placed here
	kept := 0
	for i := 0; i < b.n; {
		doc := b.docs[b.live[i]]
		blk := c.seekPlaced(doc)
		if blk == len(c.list.Last) {
			break
		}
		n, j, err := c.findIn(b, blk, i, kept)
		if err == nil && n > 0 {
			n, err = c.raise(b, blk, kept, n, table, floor)
		}
		if err != nil {
			return false, err
		}
		i = j
		if n == 0 {
			continue
		}
		if err := c.countPlaces(blk); err != nil {
			return false, err
		}
		all, width, err := c.positions.Gather(o.all, blk, b.found[:n], b.at[:n])
		if o.all = all; err != nil {
			return false, c.fail(err)
		}
		if width > 16 {
			return false, nil
		}
		o.width = max(o.width, width)
		for k, slot := range b.live[kept : kept+n] {
			posting := b.found[k&127]
			o.from[slot&127] = b.at[k&127]
			o.count[slot&127] = c.positions.Start[posting+1] - c.positions.Start[posting]
		}
		kept += n
	}
	b.n = kept
	return true, nil
}

// seekPlaced places the block that may hold a document, and returns its number.
func (c *tileCursor) seekPlaced(doc uint32) int {
	b := c.placed
	if b >= 0 && doc <= c.list.Last[b] && doc >= c.first(b) {
		return b
	}
	from := max(b, 0)
	if b >= 0 && doc < c.first(b) {
		from = 0
	}
	if b = c.list.Seek(from, doc); b < len(c.list.Last) {
		c.placed = b
	}
	return b
}

// findIn finds the candidates of a batch from i on in block blk, up to j, which is beyond it. The n that it
// holds are then from to on, and found has their postings.
func (c *tileCursor) findIn(b *batch, blk, i, to int) (n, j int, err error) {
	ranks := &c.run.ranks
	switch {
	case searchable(c.list.Enc[blk]):
		if err := c.peekAt(blk); err != nil {
			return 0, 0, err
		}
		if !ranks.ofBitset(&c.peek) {
			return c.findOneByOne(b, blk, i, to)
		}
	case c.loaded != blk && c.bitmap != nil && ranks.ofBitmap(c.bitmap, c.first(blk), c.list.Last[blk]):
		c.spend(blk)
	default:
		return c.findLoaded(b, blk, i, to)
	}
	most, last := 0, c.list.Last[blk]
	for j = i; j < b.n; j++ {
		slot := b.live[j&127]
		doc := b.docs[slot&127]
		if doc > last {
			break
		}
		at := doc - ranks.base
		word := ranks.words[at/64&63]
		rank := ranks.before[at/64&63] + uint8(bits.OnesCount64(word&(1<<(at%64)-1)))
		b.live[(to+n)&127], b.found[n&127] = slot, rank
		held := int(word >> (at % 64) & 1)
		most = max(most, int(rank)+held)
		n += held
	}
	if most > c.list.BlockLen(blk) {
		return 0, 0, c.failAt(blk)
	}
	return n, j, nil
}

// failAt is the error of a block that leads to a posting behind its last.
func (c *tileCursor) failAt(blk int) error {
	return c.fail(&corrupt.Error{Block: blk, Offset: -1, Reason: "a posting that the block does not have"})
}

// fewOfBlock is how many candidates of a block are sought one by one. To go through all documents takes as
// long.
const fewOfBlock = 2

// findLoaded is findIn by way of the documents of the block.
func (c *tileCursor) findLoaded(b *batch, blk, i, to int) (n, j int, err error) {
	if err := c.load(blk); err != nil {
		return 0, 0, err
	}
	at, last := 0, c.list.Last[blk]
	few := i+fewOfBlock >= b.n || b.docs[b.live[i+fewOfBlock]] > last
	for j = i; j < b.n; j++ {
		slot := b.live[j&127]
		doc := b.docs[slot&127]
		if doc > last {
			break
		}
		if few {
			at = postings.SeekIn(&c.docs, c.n, doc)
		} else {
			for at < c.n && c.docs[at&127] < doc {
				at++
			}
		}
		b.live[(to+n)&127], b.found[n&127] = slot, uint8(at)
		if at < c.n && c.docs[at&127] == doc {
			n++
		}
	}
	return n, j, nil
}

// findOneByOne is findIn for a block to which peek points.
func (c *tileCursor) findOneByOne(b *batch, blk, i, to int) (n, j int, err error) {
	last := c.list.Last[blk]
	for j = i; j < b.n; j++ {
		slot := b.live[j&127]
		doc := b.docs[slot&127]
		if doc > last {
			break
		}
		at := c.peek.Find(doc)
		if at >= c.peek.Len {
			return 0, 0, c.failAt(blk)
		}
		if at >= 0 {
			b.live[(to+n)&127], b.found[n&127] = slot, uint8(at)
			n++
		}
	}
	return n, j, nil
}

// raise drops those of the n candidates from kept on, which are found in block blk, that have an impact below
// floor. It returns how many are left.
func (c *tileCursor) raise(b *batch, blk, kept, n int, table *blockmax.Table, floor uint16) (left int, err error) {
	if floor == 0 {
		return n, nil
	}
	if n == 1 && !c.isRead(blk) {
		if err := c.peekAt(blk); err != nil {
			return 0, err
		}
		tf := c.peek.TF(int(b.found[0]))
		if tf == 0 {
			return 0, c.failAt(blk)
		}
		if table.Impact(tf, b.codes[b.live[kept]&127]) < floor {
			n = 0
		}
		return n, nil
	}
	if err := c.countPlaces(blk); err != nil {
		return 0, err
	}
	starts := &c.positions.Start
	for k, slot := range b.live[kept : kept+n] {
		posting := b.found[k&127]
		b.live[(kept+left)&127], b.found[left&127] = slot, posting
		impact := table.Impact(starts[posting+1]-starts[posting], b.codes[slot&127])
		left += int(uint32(int32(floor)-1-int32(impact)) >> 31) // which way it goes is unpredictable
	}
	return left, nil
}

// isRead reports whether a block is loaded and has no rows.
func (c *tileCursor) isRead(blk int) bool { return c.loaded == blk && !c.rest.Empty() }

// countPlaces finds where the positions of each posting of a block begin.
func (c *tileCursor) countPlaces(blk int) error {
	rest := postings.Code{}
	if c.isRead(blk) {
		rest = c.rest
	}
	if err := c.positions.CountRead(blk, rest); err != nil {
		return c.fail(err)
	}
	return nil
}

// A ranker tells how many documents of a block are below one: it has the documents as bits, and how many
// are set before each word.
type ranker struct {
	base   uint32 // the document of the first bit
	words  [64]uint64
	before [64]uint8 // modulo 256
}

// ofBitmap makes the ranker one of a block, documents first to last of a list's bitmap, if these are not
// many.
func (r *ranker) ofBitmap(bitmap []uint64, first, last uint32) bool {
	from, to := first/64, last/64
	if to-from >= bitmapCounts {
		return false
	}
	r.base = 64 * from
	sum := -bits.OnesCount64(bitmap[from] & (1<<(first%64) - 1))
	for i, word := range bitmap[from : to+1] {
		r.words[i&63], r.before[i&63] = word, uint8(sum)
		sum += bits.OnesCount64(word)
	}
	return true
}

// ofBitset makes the ranker one of a block that is a bitset, if it is not long.
func (r *ranker) ofBitset(k *postings.Peek) bool {
	if k.Kind != postings.Bitset || len(k.Docs)/8 >= bitmapCounts {
		return false
	}
	r.base = k.First
	sum := 0
	for i := range len(k.Docs) / 8 {
		word := binary.LittleEndian.Uint64(k.Docs[8*i:])
		r.words[i&63], r.before[i&63] = word, uint8(sum)
		sum += bits.OnesCount64(word)
	}
	return true
}
