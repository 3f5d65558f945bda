package postings

import (
	"encoding/binary"
	"math/bits"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// Rows take time to make, and fresh memory. A block that is needed once is better read from its
// code. In one pass over the queries of gutenberg-dev, OR, that is so for 61 % of the blocks
// (bench/results/2026-11-23-first-use.md).

// Once reports whether block b has no rows and this is the first call for it. Then ReadDocs is
// cheaper than Docs, unless the block is needed again.
func (l *List) Once(b int) bool {
	x := l.coded
	if x == nil {
		return false
	}
	used, bit := &x.used[b/ExtentBlocks], uint32(1)<<(b%ExtentBlocks)
	return used.Load()&bit == 0 && used.Or(bit)&bit == 0 && l.chunk(b) == nil
}

// A Code is what ReadDocs has left for ReadFreqs: where the code of the frequencies of a block begins.
type Code struct {
	bits []byte // empty if the block has rows
	at   int
}

// Empty reports whether the block had rows.
func (c Code) Empty() bool { return c.bits == nil }

// ReadDocs is Docs, but makes no rows: it reads a block without rows from its code.
func (l *List) ReadDocs(b int, dst *[BlockSize]uint32) (n int, rest Code, err error) {
	if l.coded == nil || l.chunk(b) != nil {
		n, err = l.Docs(b, dst)
		return n, Code{}, err
	}
	e := b / ExtentBlocks
	if err := l.needExtent(e); err != nil {
		return 0, Code{}, err
	}
	body, err := l.codedChunk(int(l.coded.of[e]))
	if err != nil {
		return 0, Code{}, err
	}
	rest = Code{body, int(l.coded.at[b])}
	if in := body[rest.at/8:]; len(in) >= blockRoom {
		rest.at, err = l.docsFrom(b, dst, in, rest.at)
	} else {
		rest.at, err = l.docsFromEnd(b, dst, in, rest.at)
	}
	if err == nil && (l.Enc[b].freqWidth() == 0 || rest.at > int(l.coded.endOf(b))) {
		err = l.endsAt(b, rest.at)
	}
	if err != nil {
		return 0, Code{}, inBlock(err, b)
	}
	return l.BlockLen(b), rest, nil
}

// ReadFreqs is Freqs for a block whose documents ReadDocs has read.
func (l *List) ReadFreqs(b int, rest Code, dst *[BlockSize]uint32) (n int, err error) {
	if rest.Empty() || l.Enc[b].freqWidth() == 0 {
		return l.Freqs(b, dst)
	}
	if in := rest.bits[rest.at/8:]; len(in) >= blockRoom {
		err = l.freqsFrom(b, dst, in, rest.at)
	} else {
		err = l.freqsFromEnd(b, dst, in, rest.at)
	}
	if err != nil {
		return 0, inBlock(err, b)
	}
	return l.BlockLen(b), nil
}

// docsFromEnd is docsFrom where fewer than blockRoom bytes are left.
//
//go:noinline
func (l *List) docsFromEnd(b int, dst *[BlockSize]uint32, in []byte, at int) (end int, err error) {
	var copied [blockRoom]byte
	copy(copied[:], in)
	return l.docsFrom(b, dst, copied[:], at)
}

// docsFrom reads the documents of block b, whose code begins at bit at of its chunk. in begins with
// the byte of that bit. It returns the bit after them.
func (l *List) docsFrom(b int, dst *[BlockSize]uint32, in []byte, at int) (end int, err error) {
	e, n, prev, last := l.Enc[b], l.BlockLen(b), l.before(b), l.Last[b]
	var union uint32
	var ok bool
	if n == BlockSize {
		end, union, ok = readDocsFull(dst, in, at%8, prev, last)
	} else {
		v := [BlockSize + 1]uint32{0: prev}
		v[n] = last
		end, ok = readRising(in, at%8, &v, n)
		copy(dst[:], v[1:])
		union = unionOfGaps(&v, n)
	}
	if !ok {
		return 0, errNoCode()
	}
	return at - at%8 + end, docsMatch(prev, dst[0], last, bits.Len32(union), e, n)
}

// freqsFromEnd is freqsFrom where fewer than blockRoom bytes are left.
//
//go:noinline
func (l *List) freqsFromEnd(b int, dst *[BlockSize]uint32, in []byte, at int) error {
	var copied [blockRoom]byte
	copy(copied[:], in)
	return l.freqsFrom(b, dst, copied[:], at)
}

// freqsFrom reads the frequencies of block b, which are not all 1, as docsFrom does the documents.
func (l *List) freqsFrom(b int, dst *[BlockSize]uint32, in []byte, at int) (err error) {
	e, n := l.Enc[b], l.BlockLen(b)
	var end int
	var union uint32
	if width, packed := e.packedFreqs(); n == BlockSize && packed && width <= wideFreqs {
		size := sumWidth(n, width)
		sum := uint32(binary.LittleEndian.Uint64(in)>>(at%8)&(1<<size-1)) + BlockSize
		var ok bool
		if end, union, ok = readFreqsFull(dst, in, at%8+size, sum); !ok {
			return errNoCode()
		}
	} else {
		var v [BlockSize + 1]uint32
		if end, err = readSumsAs(&v, in, at%8, e, n); err != nil {
			return err
		}
		for i := range n {
			dst[i] = v[i+1] - v[i]
		}
		union = unionOfGaps(&v, n)
	}
	if err := freqsMatch(bits.Len32(union), e); err != nil {
		return err
	}
	return l.endsAt(b, at-at%8+end)
}

// endsAt returns an error unless the code of block b ends at the given bit of its chunk.
func (l *List) endsAt(b, end int) error {
	if want := int(l.coded.endOf(b)); end != want {
		return corrupt.New(end/8, "the code ends at bit %d, the directory says %d", end, want)
	}
	return nil
}
