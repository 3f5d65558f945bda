package cpuexec

import (
	"math"

	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/proximity"
)

// align drops the candidates of a batch in which no position of one word, after, stands at a distance from
// one of another, before. to gets these positions of the former, or only their number. Equal positions count
// once.
func align(b *batch, before, after *occurrences, distance int, to *occurrences, positions bool) {
	if positions {
		to.makeRoom(len(before.all))
		to.width = after.width
	}
	// In 16 bits, no difference of positions of 15 bits is another position.
	if b.n == 0 || !hasAlign() || before.width > 15 || after.width > 15 || distance > math.MaxInt16 || distance < -math.MaxInt16 {
		alignPortable(b, before, after, distance, to, positions)
		return
	}
	a := alignment{
		live: &b.live, n: uint64(b.n),
		beforeFrom: &before.from, beforeCount: &before.count, before: &before.all[0],
		afterFrom: &after.from, afterCount: &after.count, after: &after.all[0],
		toFrom: &to.from, toCount: &to.count,
	}
	for i := range a.shift[0] {
		a.shift[0][i], a.shift[1][i] = uint16(distance), uint16(-distance)
	}
	a.add[1][0] = uint32(distance)
	if positions {
		a.to = &to.all[0]
	}
	alignBatch(&a)
	b.n = int(a.kept)
}

// An alignment is the arguments of align for assembly, which uses it as words of 8 bytes, in this order.
type alignment struct {
	live                    *[batchDocs]uint8
	n                       uint64
	beforeFrom, beforeCount *[batchDocs]uint32
	before                  *uint16
	afterFrom, afterCount   *[batchDocs]uint32
	after                   *uint16
	toFrom, toCount         *[batchDocs]uint32
	to                      *uint16 // or nil
	kept                    uint64
	shift                   [2][16]uint16 // the distance, and minus the distance
	add                     [2][8]uint32  // what makes positions of the longer list those of after: 0, or the distance
}

// makeRoom makes room for n positions and those that may be read behind them.
func (o *occurrences) makeRoom(n int) {
	if cap(o.all) < n+postings.NarrowPad {
		o.all = make([]uint16, n, n+n/4+postings.NarrowPad)
	}
	o.all = o.all[:n]
}

// alignPortable is align in Go.
func alignPortable(b *batch, before, after *occurrences, distance int, to *occurrences, positions bool) {
	kept, n := 0, 1
	for _, slot := range b.live[:b.n] {
		count := 0
		if first, second := before.of(slot), after.of(slot); positions {
			count = proximity.KeepPair(to.all[n:], first, second, distance)
			to.from[slot&127] = uint32(n)
			n += count
		} else {
			count = proximity.CountPair(first, second, distance)
		}
		to.count[slot&127] = uint32(count)
		b.live[kept&127] = slot
		if count > 0 {
			kept++
		}
	}
	b.n = kept
}
