package postings

import (
	"encoding/binary"
	"math/bits"
)

// A Peek looks into one block without unpacking it: whether it holds a document, for
// blocks that are bitsets or runs, and the frequency of one posting, for all. Where few
// documents of a block are asked for, this takes a fraction of the time. The fields are
// for reading only; the rows are as the package comment has them, with GuardBytes or more of
// capacity behind those of frequencies, if there are any.
type Peek struct {
	First     uint32 // lowest document that the block can hold
	Last      uint32
	Len       int // postings
	Kind      Kind
	FreqWidth uint
	Docs      []byte // rows of documents
	Freqs     []byte // rows of frequencies
}

// Peek sets p to block b. It finds less damage than Docs and Freqs do, but what it says of a
// damaged block is harmless: see Rank and TF.
func (l *List) Peek(b int, p *Peek) error {
	rows, err := l.Payload(b)
	if err != nil {
		return err
	}
	e, n := l.Enc[b], l.BlockLen(b)
	docs := RowBytes * e.DocRows(n)
	p.First, p.Last, p.Len = l.before(b)+1, l.Last[b], n
	p.Kind, p.FreqWidth = e.Kind(), uint(e.FreqWidth())
	p.Docs, p.Freqs = rows[:docs:docs], rows[docs:]
	return nil
}

// Ranks reports whether the block is a bitset or a run, which Rank needs.
func (p *Peek) Ranks() bool { return p.Kind != Packed }

// Rank returns which posting of the block document doc is, counted from 0, or -1 when the
// block does not hold it. Of a damaged block the number may be one that the block
// does not have.
func (p *Peek) Rank(doc uint32) int {
	if doc < p.First || doc > p.Last {
		return -1
	}
	if p.Kind != Bitset {
		return max(-1, int(doc)-int(p.Last)+p.Len-1)
	}
	at := doc - p.First
	rows := p.Docs[:8*(at/64)+8]
	word := binary.LittleEndian.Uint64(rows[len(rows)-8:])
	if word>>(at%64)&1 == 0 {
		return -1
	}
	rank := bits.OnesCount64(word & (1<<(at%64) - 1))
	for rows = rows[:len(rows)-8]; len(rows) >= 8; rows = rows[8:] {
		rank += bits.OnesCount64(binary.LittleEndian.Uint64(rows))
	}
	return rank
}

// TF returns the frequency of posting i, or 0, which no posting has, when the block is
// damaged or has no such posting.
func (p *Peek) TF(i int) uint32 {
	if uint(i) >= uint(p.Len) {
		return 0
	}
	if p.FreqWidth == 0 {
		return 1
	}
	// The value begins at bit at of its lane. What a row of the lane does not hold of
	// it is in the next.
	at := uint(i/4) * p.FreqWidth
	lane := p.Freqs[int(at/32)*RowBytes+i%4*4:]
	v := uint64(binary.LittleEndian.Uint32(lane))
	if len(lane) >= RowBytes+4 {
		v |= uint64(binary.LittleEndian.Uint32(lane[RowBytes:])) << 32
	}
	return uint32(v>>(at%32))&uint32(1<<p.FreqWidth-1) + 1
}

// SeekIn returns how many of the first n documents of an unpacked block are below doc.
func SeekIn(docs *[BlockSize]uint32, n int, doc uint32) int {
	return seekBlock(docs, n, doc)
}
