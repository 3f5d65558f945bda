package postings

import (
	"slices"
	"sync/atomic"
	"weak"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// A Part is the postings of a range of documents of a list, as a list with a directory of its own.
// Blocks inside the range are the list's. The blocks at its ends are written anew, since they have
// postings outside, too.
type Part struct {
	*List
	First  int // block of the list that is the first of the part
	Strays int // postings at the front that mean nothing, of documents before the range
}

// parted is where a part's blocks come from.
type parted struct {
	of         weak.Pointer[List] // so that a cache can drop the list, and open it anew (Again)
	whose      *identity          // of that list
	first      int
	head, tail []byte // rows of the first block, and of the last one if it is written anew
	cut        bool   // it is
}

// An identity stands for a list that is in memory. Whether a part is of a list is asked for every
// list of every query, and a weak pointer takes ten times as long to say so: it must make sure that
// the collector has not freed the list, with counters that all cores share.
type identity struct{ _ byte } // of no size, all would be the same

// identify returns the list's identity.
func (l *List) identify() *identity {
	if known := l.identity.Load(); known != nil {
		return known
	}
	l.identity.CompareAndSwap(nil, new(identity))
	return l.identity.Load()
}

// Part returns the postings of documents from from on, below to, in which document start has
// number 0. It is nil if there are none.
//
// All blocks but the last must be full. What the first block lacks is filled up with strays:
// postings of the documents right before from, with frequency 1. So start must be from or at least
// BlockSize documents before it, and from only if from is 0. Callers must ignore all documents
// before from.
//
// The caller must keep the list alive while it reads the part's payload.
func (l *List) Part(start, from, to uint32) (*Part, error) {
	first := l.Seek(0, from)
	if first == l.Blocks() {
		return nil, nil
	}
	last := l.Seek(first, to) // the first block with documents beyond
	l.Need(first, min(last+1, l.Blocks()))
	if l.Failed() {
		return nil, l.Complete()
	}
	p := &parted{of: weak.Make(l), whose: l.identify(), first: first}
	var head, tail block
	strays, err := l.readPart(&head, first, start, from, to)
	if err != nil {
		return nil, err
	}
	blocks := last - first
	switch {
	case last == first:
		head.drop(strays)
		strays, blocks = 0, 1
	case last == l.Blocks():
	default:
		if _, err := l.readPart(&tail, last, start, from, to); err != nil {
			return nil, err
		}
		if tail.n > 0 {
			p.cut = true
			blocks++
		}
	}
	if blocks == 1 && strays > 0 {
		head.drop(strays) // the only block may be short
		strays = 0
	}
	if head.n == 0 {
		return nil, nil
	}
	return l.newPart(p, &head, &tail, blocks, start, strays), nil
}

// readPart reads the documents below to of a block, counted from start. Those before from become
// strays, which it counts.
func (l *List) readPart(k *block, b int, start, from, to uint32) (strays int, err error) {
	if k.n, err = l.Docs(b, &k.docs); err != nil {
		return 0, err
	}
	if _, err = l.Freqs(b, &k.tfs); err != nil {
		return 0, err
	}
	k.cut(to)
	strays, _ = slices.BinarySearch(k.docs[:k.n], from)
	for i := range k.docs[:k.n] {
		if i < strays {
			k.docs[i], k.tfs[i] = from-uint32(strays-i), 1
		}
		k.docs[i] -= start
	}
	return strays, nil
}

// drop removes the first n postings.
func (k *block) drop(n int) {
	copy(k.docs[:], k.docs[n:k.n])
	copy(k.tfs[:], k.tfs[n:k.n])
	k.n -= n
}

// newPart makes the directory.
func (l *List) newPart(p *parted, head, tail *block, blocks int, start uint32, strays int) *Part {
	of := &List{
		BlockSize: l.BlockSize, parted: p,
		Last: make([]uint32, blocks), Enc: slices.Clone(l.Enc[p.first : p.first+blocks]), Off: make([]uint32, blocks),
	}
	var e Encoding
	p.head, e = head.appendRows(nil, noDoc, Packed)
	of.Last[0], of.Enc[0] = head.last(), e
	rows := uint32(e.Rows(head.n))
	for i := 1; i < blocks; i++ {
		of.Last[i] = l.Last[p.first+i] - start
		of.Off[i] = rows + l.Off[p.first+i] - l.Off[p.first+1]
	}
	end := head.n
	if blocks > 1 {
		end = l.BlockLen(p.first + blocks - 1)
	}
	if p.cut {
		end = tail.n
		p.tail, of.Enc[blocks-1] = tail.appendRows(nil, of.Last[blocks-2], Packed)
		of.Last[blocks-1] = tail.last()
	}
	of.Count = (blocks-1)*l.BlockSize + end
	for from := 0; from < blocks; from += ExtentBlocks {
		of.ExtLast = append(of.ExtLast, of.Last[min(from+ExtentBlocks, blocks)-1])
	}
	of.chunks, of.chunkOf = make([]atomic.Pointer[chunk], 1), make([]uint32, len(of.ExtLast))
	return &Part{of, p.first, strays}
}

// Again returns the part of a list that has been opened anew; its directory is the same. It returns
// p itself if it is a part of l.
func (p *Part) Again(l *List) *Part {
	if p.parted.whose == l.identify() {
		return p
	}
	again := *p.parted
	again.of, again.whose = weak.Make(l), l.identify()
	return &Part{
		List: &List{
			Count: p.Count, BlockSize: p.BlockSize, parted: &again, Last: p.Last, Enc: p.Enc, Off: p.Off, ExtLast: p.ExtLast,
			chunks: make([]atomic.Pointer[chunk], 1), chunkOf: p.chunkOf,
		},
		First: p.First, Strays: p.Strays,
	}
}

// Bytes is about how much memory the part takes. It does not count the list's payload.
func (p *Part) Bytes() int {
	const fixed = 512
	return fixed + len(p.parted.head) + len(p.parted.tail) + 10*len(p.Last) + 8*len(p.ExtLast)
}

// payload returns the rows of block b of a part, and perhaps more behind them.
func (p *parted) payload(l *List, b int) ([]byte, error) {
	switch {
	case b == 0:
		return p.head, nil
	case p.cut && b == len(l.Last)-1:
		return p.tail, nil
	}
	of := p.of.Value()
	if of == nil {
		return nil, corrupt.New(-1, "the list of a part is gone")
	}
	return of.Payload(p.first + b)
}

// block returns block b of a part as a chunk.
func (p *parted) block(l *List, b int) (*chunk, error) {
	rows, err := p.payload(l, b)
	if err != nil {
		return nil, err
	}
	return &chunk{rows: rows, first: l.Off[b]}, nil
}
