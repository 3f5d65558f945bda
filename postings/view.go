package postings

import (
	"slices"
	"sort"
	"sync/atomic"
)

// View returns the postings of documents below limit as a list that does not change while the
// builder grows. It shares the payload of full blocks and copies the directory (about 20 bytes per
// block), so it is cheap. Only the call itself must not overlap with Add; several may.
//
// When limit cuts a full block, the remaining postings keep the impacts of the whole block. These
// are still bounds, but perhaps not attained.
func (b *Builder) View(limit uint32) *List {
	var k block
	positions := b.readTail(&k)
	return b.view(&k, positions, limit)
}

// ViewWith is View of a builder without an unfinished block, and with fewer than BlockSize postings
// after its own, as AddAll or AddAllPositions would add them. The list keeps positions.
func (b *Builder) ViewWith(limit uint32, docs, tfs []uint32, lengths []uint8, positions []byte) *List {
	var k block
	k.n = copy(k.docs[:], docs)
	copy(k.tfs[:], tfs)
	copy(k.lens[:], lengths)
	return b.view(&k, positions, limit)
}

// view is View, with the postings of the unfinished block and their positions.
func (b *Builder) view(tail *block, positions []byte, limit uint32) *List {
	f := b.full
	size, full := b.blockSize(), 0
	if f != nil {
		full = sort.Search(len(f.last), func(i int) bool { return f.last[i] >= limit })
	}
	k := tail
	var p pareto
	cut := f != nil && full < len(f.last)
	if cut {
		f.readBlock(k, full, size)
		k.cut(limit)
		p.addAll(f.imp.Of(full))
		if b.Positions {
			positions = f.positionsOf(full)
		}
	} else {
		k.cut(limit)
		for i := range k.n {
			p.add(k.tfs[i], k.lens[i])
		}
	}
	if full == 0 && k.n > 0 {
		var pairs [8]Impact
		l := newSingle(k, size, p.flush(pairs[:0]))
		l.Cut = cut
		if b.Positions {
			l.positions = &grownPositions{tail: positions}
		}
		return l
	}
	l := &List{Count: full*size + k.n, BlockSize: size, Cut: cut && k.n > 0}
	if full > 0 {
		f.share(l, full)
	}
	if k.n > 0 {
		l.addTail(k, &p)
	}
	if b.Positions {
		g := &grownPositions{tail: positions}
		if full > 0 {
			g.data, g.at = f.positions, f.positionAt[:full:full]
		}
		l.positions = g
	}
	l.finishExtents()
	return l
}

// cut drops the postings of documents at or after limit.
func (k *block) cut(limit uint32) {
	k.n = sort.Search(k.n, func(i int) bool { return k.docs[i] >= limit })
}

// readBlock unpacks the documents and frequencies of full block i. Blocks have size postings.
// Length codes are not kept, so it cannot restore them.
func (f *blocks) readBlock(k *block, i, size int) {
	c := f.chunkOf[i/ExtentBlocks]
	e := f.enc[i]
	at := RowBytes * int(f.off[i]-f.rowOf[c])
	rows := f.chunks[c][at : at+RowBytes*e.Rows(size)]
	prev := noDoc
	if i > 0 {
		prev = f.last[i-1]
	}
	k.n = size
	if err := decodeDocs(&k.docs, rows, e, size, prev, f.last[i]); err != nil {
		panic("BUG: block in memory: " + err.Error())
	}
	if err := decodeFreqs(&k.tfs, rows[RowBytes*e.docRows(size):], e, size); err != nil {
		panic("BUG: block in memory: " + err.Error())
	}
}

// positionsOf returns the positions of full block i.
func (f *blocks) positionsOf(i int) []byte {
	if i+1 < len(f.positionAt) {
		return f.positions[f.positionAt[i]:f.positionAt[i+1]]
	}
	return f.positions[f.positionAt[i]:]
}

// share gives l the first n blocks, at least one, with room for one more.
func (f *blocks) share(l *List, n int) {
	if !f.shared.Load() {
		f.shared.Store(true)
	}
	l.Last = append(make([]uint32, 0, n+1), f.last[:n]...)
	l.Enc = append(make([]Encoding, 0, n+1), f.enc[:n]...)
	l.Off = append(make([]uint32, 0, n+1), f.off[:n]...)
	pairs := f.imp.pairs[:f.imp.Start[n]]
	l.impacts.Store(&Impacts{
		Start: append(make([]uint32, 0, n+2), f.imp.Start[:n+1]...),
		pairs: append(make([]Impact, 0, len(pairs)+4), pairs...),
	})

	if exts := n / ExtentBlocks; exts > 0 {
		l.ExtLast = append(make([]uint32, 0, exts+1), f.extLast[:exts]...)
		l.ExtImpacts.Start = append(make([]uint32, 0, exts+2), f.extImp.Start[:exts+1]...)
		l.ExtImpacts.pairs = slices.Clone(f.extImp.pairs[:f.extImp.Start[exts]])
	}

	l.chunkOf = f.chunkOf[: (n-1)/ExtentBlocks+1 : (n-1)/ExtentBlocks+1]
	used := int(l.chunkOf[len(l.chunkOf)-1]) + 1
	l.rowOf = f.rowOf[:used:used]
	l.chunks = make([]atomic.Pointer[chunk], used)
	for i := range used {
		l.chunks[i].Store(&chunk{rows: f.chunks[i], first: f.rowOf[i]})
	}
}

// addTail appends a last block that is in no chunk. p holds its impacts.
func (l *List) addTail(k *block, p *pareto) {
	off := uint32(0)
	if n := len(l.Last); n > 0 {
		off = l.Off[n-1] + uint32(l.Enc[n-1].Rows(l.BlockSize))
	}
	rows, e := k.appendRows(nil, l.before(len(l.Last)), Packed)
	l.tail = &chunk{rows: rows, first: off}
	l.Last = append(l.Last, k.last())
	l.Enc = append(l.Enc, e)
	l.Off = append(l.Off, off)
	l.impacts.Load().push(p)
}

// finishExtents derives from the blocks the extents that the list lacks, and the impacts of the
// list.
func (l *List) finishExtents() {
	var p pareto
	for from := len(l.ExtLast) * ExtentBlocks; from < len(l.Last); from += ExtentBlocks {
		to := min(from+ExtentBlocks, len(l.Last))
		l.impacts.Load().addTo(&p, from, to)
		l.ExtImpacts.push(&p)
		l.ExtLast = append(l.ExtLast, l.Last[to-1])
	}
	p.addAll(l.ExtImpacts.pairs)
	l.ListImpacts = p.flush(nil)
}
