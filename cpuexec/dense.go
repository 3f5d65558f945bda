package cpuexec

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/postings"
)

// How many candidates, looked up one by one at some 7 ns, cost as much as making the bits of a
// block: if it is already bits, and if it must be unpacked.
const (
	bitsCost   = 2
	unpackCost = 8
)

// andBits is andWords by bitsets. It intersects documents before it scores them, the shortest lists
// first, while more remain than are worth looking up one by one.
func (r *run) andBits(lists []*tileCursor, words uint64, need uint32) error {
	set := &r.win.matches
	for w := words; w != 0; w &= w - 1 {
		i := bits.TrailingZeros64(w) & 63
		set[i] = r.at.accepted(r.win.base, i)
	}
	left, err := r.intersectAll(lists, set, words)
	if r.out.counting && err == nil {
		return r.countLeft(lists, set, words, left)
	}
	if err == nil {
		r.cands.list(set, r.win.base, left)
	}
	for ; words != 0; words &= words - 1 {
		set[bits.TrailingZeros64(words)&63] = 0
	}
	if err != nil {
		return err
	}
	r.out.work.DocsScored += int64(r.cands.n)
	return r.requireAll(lists, need)
}

// countLeft counts the documents in the set of the words that are also in the lists not yet
// intersected. It empties all words.
func (r *run) countLeft(lists []*tileCursor, set *bitset, words, left uint64) error {
	r.win.fill()
	for w := words; w != 0; w &= w - 1 {
		i := bits.TrailingZeros64(w) & 63
		set[i] &= r.win.all[i] & r.at.accepted(r.win.base, i) & -(left >> i & 1)
	}
	r.cands.list(set, r.win.base, left)
	for ; words != 0; words &= words - 1 {
		set[bits.TrailingZeros64(words)&63] = 0
	}
	for i, c := range slices.Backward(lists) {
		if !c.intersected && r.cands.n > 0 {
			if err := c.require(0, &r.tiled.prefix[i]); err != nil {
				return err
			}
		}
	}
	r.out.total += r.cands.n
	return nil
}

// intersectAll removes from set the documents that a list lacks, and returns the words that are not
// empty. It skips lists for which that does not pay, and does not mark them as intersected.
func (r *run) intersectAll(lists []*tileCursor, set *bitset, words uint64) (left uint64, err error) {
	for i := len(lists) - 1; i >= 0 && words != 0; i-- {
		c := lists[i]
		c.intersected = i == len(lists)-1 && r.at.seg.Accept == nil || set.count(words) > c.costOfBits(words)
		if !c.intersected {
			continue
		}
		if words, err = c.intersect(set, words); err != nil {
			return 0, err
		}
	}
	return words, nil
}

// searchable reports whether a block is a bitset or a run, which need no unpacking.
func searchable(e postings.Encoding) bool {
	k := e.Kind()
	return k == postings.Bitset || k == postings.Run
}

// costOfBits is the cost, in candidates, of making bits of the blocks with documents of the words.
func (c *tileCursor) costOfBits(words uint64) (cost int) {
	switch {
	case c.bitmap != nil:
		return bitsCost
	case c.exact:
		return unpackCost
	}
	from, to := c.blocksInTile()
	for b := from; b < to; b++ {
		switch {
		case words&c.wordsOf(b, c.run.win.base) == 0:
		case searchable(c.list.Enc[b]):
			cost += bitsCost
		default:
			cost += unpackCost
		}
	}
	return cost
}

// intersect removes from set the documents of the words that the list lacks, and returns the words
// that are not empty.
func (c *tileCursor) intersect(set *bitset, words uint64) (left uint64, err error) {
	held := &c.run.tiled.held
	if c.bitmap != nil {
		held = (*bitset)(c.bitmap[c.run.win.base/64:])
		return set.keep(held, words), nil
	}
	for w := words; w != 0; w &= w - 1 {
		held[bits.TrailingZeros64(w)&63] = 0
	}
	if err := c.mark(held, words); err != nil {
		return 0, err
	}
	c.run.win.marks.flush(held)
	return set.keep(held, words), nil
}

// keep intersects the set with held in the words, and returns the words that are not empty.
func (b *bitset) keep(held *bitset, words uint64) (left uint64) {
	for ; words != 0; words &= words - 1 {
		i := bits.TrailingZeros64(words) & 63
		if b[i] &= held[i]; b[i] != 0 {
			left |= 1 << i
		}
	}
	return left
}

// mark adds to set the documents of the words that the list holds, some of them only when run.marks
// are flushed. It may also add documents of the list in other words.
func (c *tileCursor) mark(set *bitset, words uint64) error {
	if c.bitmap != nil {
		held := (*bitset)(c.bitmap[c.run.win.base/64:])
		for ; words != 0; words &= words - 1 {
			i := bits.TrailingZeros64(words) & 63
			set[i] |= held[i]
		}
		return nil
	}
	if c.exact {
		c.run.win.marks.mark(c.few.docs[c.from:c.to])
		return nil
	}
	base := c.run.win.base
	from, to := c.blocksInTile()
	for b := from; b < to; b++ {
		in := words & c.wordsOf(b, base)
		if in == 0 {
			continue
		}
		if !searchable(c.list.Enc[b]) {
			if c.loaded != b { // with rows, because what remains is looked up in the block again
				if err := c.read(b, true); err != nil {
					return err
				}
			}
			i, j := c.inTile(b)
			c.run.win.marks.mark(c.docs[i:j])
			continue
		}
		if err := c.peekAt(b); err != nil {
			return err
		}
		if k := &c.peek; k.Kind == postings.Bitset && bits.OnesCount64(in) > 3 {
			orRows(set[:], k.Docs, int(k.First)-int(base))
			continue
		}
		for ; in != 0; in &= in - 1 {
			i := bits.TrailingZeros64(in) & 63
			set[i] |= bitsFrom(&c.peek, base+uint32(wordDocs*i))
		}
	}
	return nil
}

// orRows adds the set bits of rows to a set. The lowest bit of rows is bit at of the set. Some bits
// may lie before or after the set.
func orRows(set []uint64, rows []byte, at int) {
	if skip := -at / 64; at < 0 && skip > 0 {
		rows, at = rows[min(8*skip, len(rows)):], at+64*skip
	}
	carry := uint64(0)
	if at < 0 && len(rows) >= 8 { // the first word lies partly before the set
		carry = binary.LittleEndian.Uint64(rows) >> -at
		rows, at = rows[8:], at+64
	}
	shift := uint(at) % 64
	to := set[min(at/64, len(set)):]
	for i := range to {
		if len(rows) < 8 {
			to[i] |= carry
			return
		}
		word := binary.LittleEndian.Uint64(rows)
		rows = rows[8:]
		to[i] |= word<<shift | carry
		carry = word >> 1 >> (63 - shift)
	}
}

// count returns the number of documents in the words.
func (b *bitset) count(words uint64) (n int) {
	for ; words != 0; words &= words - 1 {
		n += bits.OnesCount64(b[bits.TrailingZeros64(words)&63])
	}
	return n
}

// list makes candidates of the documents in the words, without a score.
func (cs *candidates) list(set *bitset, base uint32, words uint64) {
	n := 0
	for ; words != 0; words &= words - 1 {
		i := bits.TrailingZeros64(words) & 63
		first := base + uint32(wordDocs*i)
		for b := set[i]; b != 0; b &= b - 1 {
			cs.docs[n%tileDocs], cs.score[n%tileDocs] = first+uint32(bits.TrailingZeros64(b)), 0
			n++
		}
	}
	cs.n = n
}

// bitsFrom returns which of the 64 documents beginning with first a bitset or a run holds.
func bitsFrom(k *postings.Peek, first uint32) uint64 {
	if k.Kind == postings.Run {
		return spanOf(int64(k.Last)-int64(k.Len)+1-int64(first), int64(k.Last)-int64(first))
	}
	if first < k.First {
		if k.First-first >= 64 {
			return 0
		}
		return binary.LittleEndian.Uint64(k.Docs) << (k.First - first)
	}
	at := first - k.First
	rows := k.Docs[min(at/64*8, uint32(len(k.Docs))):]
	if len(rows) < 8 {
		return 0
	}
	word := binary.LittleEndian.Uint64(rows) >> (at % 64)
	if len(rows) >= 16 {
		word |= binary.LittleEndian.Uint64(rows[8:]) << (64 - at%64)
	}
	return word
}

// spanOf returns bits from to to, clipped to the 64 bits.
func spanOf(from, to int64) uint64 {
	from, to = max(from, 0), min(to, 63)
	if from > to {
		return 0
	}
	return ^uint64(0) << from & (^uint64(0) >> (63 - to))
}
