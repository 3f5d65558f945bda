package postings

import (
	"encoding/binary"
	"math/bits"
)

// A Peek looks into one block without unpacking it. For any block it finds the frequency of one
// posting; for bitsets and runs, also whether the block holds a document. When a query needs few
// documents of a block, this takes a fraction of the time of decoding. The fields are for reading
// only. Rows are as in the package comment, with at least GuardBytes of capacity after those of
// frequencies, if there are any.
type Peek struct {
	First     uint32 // lowest document that the block can hold
	Last      uint32
	Len       int // postings
	Kind      Kind
	FreqWidth uint   // bits of a frequency minus one, or freqsCoded
	Docs      []byte // rows of documents
	Freqs     []byte // rows of frequencies

	freqs Kind
}

// freqsCoded stands for the width of frequencies that are not packed: only TF reads them.
const freqsCoded = 64

// Peek sets p to block b. It finds less damage than Docs and Freqs do, but its results for a
// damaged block are harmless: see Find and TF.
func (l *List) Peek(b int, p *Peek) error {
	rows, err := l.Payload(b)
	if err != nil {
		return err
	}
	e, n := l.Enc[b], l.BlockLen(b)
	docs := RowBytes * e.docRows(n)
	p.First, p.Last, p.Len = l.before(b)+1, l.Last[b], n
	p.Kind, p.freqs, p.FreqWidth = e.Kind(), e.FreqKind(), freqsCoded
	if width, ok := e.packedFreqs(); ok {
		p.FreqWidth = uint(width)
	}
	p.Docs, p.Freqs = rows[:docs:docs], rows[docs:]
	return nil
}

// Searchable reports whether the block is a bitset or a run, as Find requires.
func (p *Peek) Searchable() bool { return p.Kind == Bitset || p.Kind == Run }

// Find returns the index of document doc among the postings of the block, counted from 0, or -1
// when the block does not hold it. For a damaged block, the index may exceed the block.
func (p *Peek) Find(doc uint32) int {
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
	i := bits.OnesCount64(word & (1<<(at%64) - 1))
	for rows = rows[:len(rows)-8]; len(rows) >= 8; rows = rows[8:] {
		i += bits.OnesCount64(binary.LittleEndian.Uint64(rows))
	}
	return i
}

// TF returns the frequency of posting i. It returns 0, which no posting has, when the block is
// damaged or has no such posting.
func (p *Peek) TF(i int) uint32 {
	if uint(i) >= uint(p.Len) {
		return 0
	}
	switch {
	case p.FreqWidth == 0:
		return 1
	case p.FreqWidth == freqsCoded:
		return p.codedTF(i)
	}
	return packedValue(p.Freqs, i, p.FreqWidth) + 1
}

// codedTF is TF for frequencies that are not packed.
func (p *Peek) codedTF(i int) uint32 {
	if p.freqs == PFor {
		if f, err := readPFor(p.Freqs); err == nil {
			return f.value(i)
		}
	} else if f, err := readRice(p.Freqs); err == nil {
		return f.value(i)
	}
	return 0
}

// SeekIn returns how many of the first n documents of an unpacked block are below doc.
func SeekIn(docs *[BlockSize]uint32, n int, doc uint32) int {
	return seekBlock(docs, n, doc)
}
