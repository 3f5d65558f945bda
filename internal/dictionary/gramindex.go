package dictionary

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// gramNumbers numbers the trigrams of a page as they come: a hash table with open addressing, at most
// half full.
type gramNumbers struct {
	slots []gramSlot
	shift uint8
	grams []gramBlocksOf // by number
}

type gramSlot struct {
	gram   uint32
	number uint32 // plus one; 0 in a free slot
}

// A gramBlocksOf is what is known of the blocks of a trigram while an index is made.
type gramBlocksOf struct {
	gram  uint32
	last  int32 // block that has it, plus one
	bytes int32 // of its list of gaps
	at    int32 // where the list goes on in the index
}

// number returns the number of a trigram.
func (g *gramNumbers) number(gram uint32) uint32 {
	mask := len(g.slots) - 1
	for i := int(gram * 0x9e3779b1 >> g.shift); ; i++ {
		s := &g.slots[i&mask]
		if s.number == 0 {
			break
		}
		if s.gram == gram {
			return s.number - 1
		}
	}
	if 2*len(g.grams) >= len(g.slots) {
		g.resize(2 * len(g.slots))
	}
	g.grams = append(g.grams, gramBlocksOf{gram: gram})
	g.put(gram, uint32(len(g.grams)))
	return uint32(len(g.grams) - 1)
}

func (g *gramNumbers) put(gram, number uint32) {
	i, mask := int(gram*0x9e3779b1>>g.shift), len(g.slots)-1
	for g.slots[i&mask].number != 0 {
		i++
	}
	g.slots[i&mask] = gramSlot{gram, number}
}

func (g *gramNumbers) resize(size int) {
	g.slots, g.shift = make([]gramSlot, size), uint8(32-bits.TrailingZeros(uint(size)))
	for i := range g.grams {
		g.put(g.grams[i].gram, uint32(i+1))
	}
}

// gramIndex makes the index of a page: trigrams are counted, then the blocks of each are written.
func (p *page) gramIndex() *gramIndex {
	shift := uint8(0)
	for (len(p.ends)-1)>>shift >= gramBlocks {
		shift++
	}
	var g gramNumbers
	g.resize(1 << 12)
	var found []uint32 // numbers of trigrams of the blocks, without those that a block has already
	var blocks []int   // where each block ends in found
	for from := 0; from < len(p.ends); from += 1 << shift {
		block := int32(len(blocks) + 1)
		var before []byte
		for i := from; i < min(from+1<<shift, len(p.ends)); i++ {
			term := p.term(i)
			same := 0 // bytes at its beginning, which the term before has
			for same < len(term) && same < len(before) && term[same] == before[same] {
				same++
			}
			before = term
			for at := max(same-2, 0); at+2 < len(term); at++ {
				number := g.number(uint32(term[at])<<16 | uint32(term[at+1])<<8 | uint32(term[at+2]))
				if of := &g.grams[number]; of.last != block {
					of.bytes += (block-of.last-1)/longGap + 1
					of.last = block
					found = append(found, number)
				}
			}
		}
		blocks = append(blocks, len(found))
	}
	return newGramIndex(shift, g.grams, found, blocks)
}

// newGramIndex writes the lists of trigrams.
func newGramIndex(shift uint8, grams []gramBlocksOf, found []uint32, blocks []int) *gramIndex {
	x := &gramIndex{shift: shift, grams: make([]uint32, len(grams)), ends: make([]uint32, len(grams))}
	order := make([]uint64, len(grams)) // a trigram above its number
	for i := range grams {
		order[i] = uint64(grams[i].gram)<<32 | uint64(i)
	}
	slices.Sort(order)
	end := int32(0)
	for i, key := range order {
		of := &grams[uint32(key)]
		of.bytes = min(of.bytes, denseBytes)
		of.at, of.last = end, 0
		end += of.bytes
		x.grams[i], x.ends[i] = of.gram, uint32(end)
	}
	x.lists = make([]byte, end)
	begin := 0
	for block, end := range blocks {
		for _, number := range found[begin:end] {
			of := &grams[number]
			if of.bytes == denseBytes {
				x.lists[int(of.at)+block/8] |= 1 << (block % 8)
				continue
			}
			for between := block - int(of.last); ; between -= longGap {
				x.lists[of.at] = byte(min(between, longGap))
				of.at++
				if between < longGap {
					break
				}
			}
			of.last = int32(block + 1)
		}
		begin = end
	}
	return x
}

// le64 reads a word of a gramSet.
func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
