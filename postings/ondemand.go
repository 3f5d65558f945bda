package postings

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// onDemand says which extents of a directory a list has read. A list of the codec Interpolative of
// several extents knows from the summary what it needs to find any block: the last document, the
// rows and the code of each extent. It reads the blocks of an extent when they are first needed, so
// a query pays for the extents that it touches.
//
// Until an extent is read, the list's Last, Enc and Off have no values for its blocks, but for
// Last of the last one and Off of the first. Seek and Need read what they lead to.
//
// Damage in an extent must not end in wrong answers, and few callers of Need could do anything about
// it. So its blocks then pretend to be one block that ends with the extent and has the highest
// impact of the extent, as the summary says, which is true. Reading that block is the error. The
// values stay, since others may be reading them: a list that has Failed must be opened anew.
type onDemand struct {
	at    []uint32        // where each extent begins in its directory part
	size  []uint32        // bytes of each extent there
	ready []atomic.Uint32 // a bit for each extent that has been read
	left  atomic.Int32    // extents that have not
	bad   atomic.Bool     // errors is not empty

	mu      sync.Mutex
	parts   [][]byte   // of the directory, without checksums; nil if not needed yet, or any more
	unread  []int      // what has not been read of each part: blocks of extents and, if apart, their pairs
	impacts []*Impacts // of the blocks of extents that have been read, until BlockImpactsOf takes them
	pairsAt []uint32   // of pairs apart: where those of each extent begin in it, in bits, once its blocks are read
	paired  []bool     // of pairs apart: extents whose pairs have been read
	errors  map[int]error
}

func (x *onDemand) has(e int) bool { return x.ready[e/32].Load()>>(e%32)&1 != 0 }

// openExtents makes the extents of a list from its summary. part is the first of the directory; the
// blocks of the first extent begin at byte at.
func (l *List) openExtents(ends []extentEnd, part []byte, at int) error {
	l.makeBlocks()
	l.ExtLast = make([]uint32, len(ends))
	rows, code := make([]uint32, len(ends)+1), make([]uint64, len(ends))
	x := &onDemand{
		at: make([]uint32, len(ends)), size: make([]uint32, len(ends)),
		ready:   make([]atomic.Uint32, (len(ends)+31)/32),
		impacts: make([]*Impacts, len(ends)),
		parts:   make([][]byte, (len(ends)+partExtents-1)/partExtents),
		unread:  make([]int, (len(ends)+partExtents-1)/partExtents),
	}
	if l.form == pairsApart {
		x.pairsAt, x.paired = make([]uint32, len(ends)), make([]bool, len(ends))
	}
	last := int64(-1)
	for e, end := range ends {
		from, to := l.blocksIn(e)
		postings := min(to*l.BlockSize, l.Count) - from*l.BlockSize
		if e%partExtents == 0 && e > 0 {
			at = 0
		}
		last += int64(postings) + int64(min(end.gap, MaxDoc))
		sum := uint64(rows[e]) + min(end.rows, 1<<32)
		if last >= MaxDoc || sum >= 1<<32 || uint64(at)+min(end.size, 1<<32) >= 1<<32 {
			return corrupt.New(-1, "extent %d of the summary ends at document %d, row %d, byte %d", e, last, sum, uint64(at)+end.size)
		}
		if err := checkSize(end.size, to-from); err != nil {
			return err
		}
		l.ExtLast[e], l.Last[to-1], l.Off[from] = uint32(last), uint32(last), rows[e]
		x.at[e], x.size[e] = uint32(at), uint32(end.size)
		at += int(end.size)
		rows[e+1], code[e] = uint32(sum), end.bits
		x.unread[e/partExtents]++
		if l.form == pairsApart {
			x.unread[e/partExtents]++
		}
	}
	x.parts[0] = part
	x.left.Store(int32(len(ends)))
	if err := x.checkPart(0, part); err != nil {
		return err
	}
	l.onDemand = x
	l.loaded.Add(int64(len(part)))
	if err := l.layOut(rows); err != nil || !l.bits {
		return err
	}
	return l.openCoded(code)
}

// checkPart compares the length of a part with the summary.
func (x *onDemand) checkPart(i int, part []byte) error {
	e := min((i+1)*partExtents, len(x.at)) - 1
	if end := int(x.at[e]) + int(x.size[e]); end != len(part) {
		return corrupt.New(-1, "part %d of the directory has %d bytes, the summary says %d", i, len(part), end)
	}
	return nil
}

// Need makes the list have the values of blocks [from, to) in Last, Enc and Off. Blocks that Seek
// has returned need no Need.
func (l *List) Need(from, to int) {
	if x := l.onDemand; x != nil && x.left.Load() > 0 {
		for e := from / ExtentBlocks; e*ExtentBlocks < to; e++ {
			if !x.has(e) {
				l.readExtent(e)
			}
		}
	}
}

// Failed reports whether a part of the directory could not be read, so that the list must be opened
// anew before it is used again.
func (l *List) Failed() bool { return l.onDemand != nil && l.onDemand.bad.Load() }

// Complete makes the list have the values of all blocks, and returns what failed.
func (l *List) Complete() error {
	if l.onDemand == nil {
		return nil
	}
	for e := range l.ExtLast {
		if err := l.needExtent(e); err != nil {
			return err
		}
	}
	return nil
}

// needExtent makes the list have the values of the blocks of extent e, or fails.
func (l *List) needExtent(e int) error {
	if x := l.onDemand; x != nil && (!x.has(e) || x.bad.Load()) {
		return l.readExtent(e)
	}
	return nil
}

// readExtent reads the blocks of extent e, unless another goroutine has. If it fails, it makes them
// one block.
func (l *List) readExtent(e int) error {
	x := l.onDemand
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.has(e) {
		return x.errors[e]
	}
	h, err := l.parseHeads(e)
	from, to := l.blocksIn(e)
	if err != nil {
		h = &heads{n: to - from}
		for i := range h.last {
			h.last[i] = l.ExtLast[e]
		}
		if x.errors == nil {
			x.errors = map[int]error{}
		}
		x.errors[e] = err
		x.bad.Store(true)
	} else if l.form != pairsApart {
		x.impacts[e] = &h.impacts
		l.loaded.Add(int64(h.impacts.bytes()))
	}
	copy(l.Last[from:to-1], h.last[:]) // what the summary has told may be read at any time
	copy(l.Enc[from:to], h.enc[:])
	for i := 1; i < h.n; i++ {
		l.Off[from+i] = l.Off[from] + h.off[i]
		if l.coded != nil {
			l.coded.at[from+i] = l.coded.at[from] + h.code[i]
		}
	}
	x.ready[e/32].Or(1 << (e % 32))
	x.left.Add(-1)
	l.hasRead(e / partExtents)
	return err
}

// hasRead notes that one more extent of a part has been read, or its pairs. The caller holds mu.
func (l *List) hasRead(part int) {
	if l.onDemand.unread[part]--; l.onDemand.unread[part] == 0 {
		l.dropPart(part)
	}
}

// partOf returns the bytes of extent e, of the directory. The caller holds mu.
func (l *List) partOf(e int) ([]byte, error) {
	x := l.onDemand
	part := x.parts[e/partExtents]
	if part == nil {
		var err error
		if part, err = l.directoryPart(e / partExtents); err != nil {
			return nil, err
		}
		if err = x.checkPart(e/partExtents, part); err != nil {
			return nil, err
		}
		x.parts[e/partExtents] = part
		l.loaded.Add(int64(len(part)))
	}
	return part[x.at[e]:][:x.size[e]], nil
}

// parseHeads reads the blocks of extent e and compares them with the summary. The caller holds mu.
func (l *List) parseHeads(e int) (*heads, error) {
	code, err := l.partOf(e)
	if err != nil {
		return nil, err
	}
	r := directoryReader{bitReader: bitReader{b: code}, list: l}
	r.begin()
	from, to := l.blocksIn(e)
	h := new(heads)
	if err := r.blocks(h, from, to, l.before(from)); err != nil {
		return nil, err
	}
	if l.form == pairsApart {
		l.onDemand.pairsAt[e] = uint32(r.at)
	} else if err := l.checkPairs(&r, &h.impacts, e); err != nil {
		return nil, err
	}
	switch {
	case h.last[h.n-1] != l.ExtLast[e]:
		return nil, corrupt.New(-1, "extent %d ends at document %d, the summary says %d", e, h.last[h.n-1], l.ExtLast[e])
	case h.rows != l.ExtentRows(e):
		return nil, corrupt.New(-1, "extent %d has %d rows, the summary says %d", e, h.rows, l.ExtentRows(e))
	case l.coded != nil && uint64(l.coded.at[from])+h.codeEnd() != uint64(l.coded.endOf(to-1)):
		return nil, corrupt.New(-1, "extent %d has %d bits of code, the summary says %d", e, h.codeEnd(), l.coded.endOf(to-1)-l.coded.at[from])
	}
	return h, nil
}

// checkPairs compares the best pairs of the blocks of extent e, which r has read to the end, with the
// summary.
func (l *List) checkPairs(r *directoryReader, m *Impacts, e int) error {
	if err := r.end(); err != nil {
		return err
	}
	var best pareto
	best.addAll(m.pairs)
	var pairs [8]Impact
	if !slices.Equal(best.flush(pairs[:0]), l.ExtImpacts.Of(e)) {
		return corrupt.New(-1, "the summary has other best pairs than the blocks of extent %d", e)
	}
	return nil
}

// parsePairs reads the best pairs of the blocks of extent e, which lie behind these. The blocks have
// been read. The caller holds mu.
func (l *List) parsePairs(e int) (*Impacts, error) {
	code, err := l.partOf(e)
	if err != nil {
		return nil, err
	}
	from, to := l.blocksIn(e)
	r := directoryReader{bitReader: bitReader{b: code, at: int(l.onDemand.pairsAt[e])}, list: l}
	m := new(Impacts)
	r.impacts(m, to-from)
	return m, l.checkPairs(&r, m, e)
}

// OnDemand reports whether the list reads the blocks of its extents, and their best pairs, on
// demand.
func (l *List) OnDemand() bool { return l.onDemand != nil }

// BlockImpactsOf returns the best pairs of the blocks of extent e, of a list that reads extents on
// demand. It reads the extent if need be, and keeps no copy of the pairs.
func (l *List) BlockImpactsOf(e int) (*Impacts, error) {
	if err := l.needExtent(e); err != nil {
		return nil, err
	}
	x := l.onDemand
	x.mu.Lock()
	defer x.mu.Unlock()
	if m := x.impacts[e]; m != nil {
		x.impacts[e] = nil
		l.loaded.Add(-int64(m.bytes()))
		return m, nil
	}
	m, err := l.readPairs(e)
	if err != nil {
		x.bad.Store(true)
		return nil, err
	}
	return m, nil
}

// readPairs reads the best pairs of the blocks of extent e, which has been read. The caller holds mu.
func (l *List) readPairs(e int) (m *Impacts, err error) {
	x, part := l.onDemand, e/partExtents
	if l.form == pairsApart {
		if m, err = l.parsePairs(e); err == nil && !x.paired[e] {
			x.paired[e] = true
			l.hasRead(part)
			return m, nil
		}
	} else {
		var h *heads
		if h, err = l.parseHeads(e); err == nil {
			m = &h.impacts
		}
	}
	if x.unread[part] == 0 {
		l.dropPart(part)
	}
	return m, err
}

// assembleImpacts returns the best pairs of all blocks.
func (l *List) assembleImpacts() (*Impacts, error) {
	all := &Impacts{Start: make([]uint32, 1, l.Blocks()+1)}
	for e := range l.ExtLast {
		m, err := l.BlockImpactsOf(e)
		if err != nil {
			return nil, err
		}
		all.append(m)
	}
	all.pairs = slices.Clone(all.pairs)
	return all, nil
}

// dropPart forgets a part of the directory. The caller holds mu.
func (l *List) dropPart(i int) {
	l.loaded.Add(-int64(len(l.onDemand.parts[i])))
	l.onDemand.parts[i] = nil
}

// shrink forgets the parts of the directory and the best pairs of blocks. It returns false if there
// are none.
func (x *onDemand) shrink(l *List) (freed bool) {
	if x == nil {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, part := range x.parts {
		if part != nil {
			l.dropPart(i)
			freed = true
		}
	}
	for e, m := range x.impacts {
		if m != nil {
			l.loaded.Add(-int64(m.bytes()))
			x.impacts[e] = nil
			freed = true
		}
	}
	return freed
}

// bytes is the memory that the positions of extents take.
func (x *onDemand) bytes() int {
	if x == nil {
		return 0
	}
	return 8*len(x.at) + 4*len(x.ready) + 8*len(x.impacts) + 32*len(x.parts) + 4*len(x.pairsAt) + len(x.paired)
}
