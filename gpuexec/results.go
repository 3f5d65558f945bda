package gpuexec

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"github.com/riffle-search/riffle/blockmax"
)

// results is the part of a batch's memory that is read back: the states of all queries, the number
// of unresolved ranges, the best keys of each query and, only if there are some, those ranges. found
// is not read back.
type results struct {
	states          uint64 // address
	unresolvedCount uint64
	unresolved      uint64
	unresolvedRoom  int
	bytes           int   // up to unresolved
	keysAt          []int // of each query, from states on
	found           found
}

const (
	stateBytes = int(unsafe.Sizeof(devState{}))
	rangeBytes = int(unsafe.Sizeof(devRange{}))

	// unresolvedMost is how many unresolved ranges of a batch are listed. The CPU evaluates queries
	// with more in full.
	unresolvedMost = 1 << 16
)

// keepResults gives a batch room for its results.
func (b *batch) keepResults() results {
	r := results{keysAt: b.results.keysAt[:0], found: b.keepFound(b.results.found)}
	r.bytes = wholeRows(stateBytes*len(b.queries)) + rowBytes
	for i := range b.queries {
		r.keysAt = append(r.keysAt, r.bytes)
		r.bytes += 8 * b.queries[i].plan.K
	}
	r.bytes = wholeRows(r.bytes)
	r.unresolvedRoom = unresolvedMost
	r.states = b.staging.keep(r.bytes + rangeBytes*r.unresolvedRoom)
	r.unresolvedCount = r.states + uint64(wholeRows(stateBytes*len(b.queries)))
	r.unresolved = r.states + uint64(r.bytes)
	return r
}

// keysRoom is how many keys a query of k hits that does not append has room for: those over k that
// kernels/insert.cuh permits, and one more warp's.
func keysRoom(k int) int {
	if k < 64 {
		return k + k/8 + poolSlack
	}
	return k + min(k, 512) + poolSlack
}

// keys is the address of the best keys of query i.
func (r *results) keys(i int) uint64 { return r.states + uint64(r.keysAt[i]) }

// An Answer is a device's answer to a plan. It is complete if Open of the Partial is empty.
// Otherwise it is as much as the resident lists allow, to be finished on the CPU
// (cpuexec.Executor.Finish).
type Answer struct {
	blockmax.Partial

	// Refused is why the device refused the plan; then all documents are open. It is nil otherwise.
	Refused error
}

// refused is the answer to a plan that the device refuses.
func refused(p *Plan, why error) Answer {
	a := Answer{Refused: why}
	a.openAll(p)
	return a
}

// openAll makes the answer empty, with all documents open.
func (a *Answer) openAll(p *Plan) {
	a.Partial = blockmax.Partial{Pass: blockmax.And, Top: blockmax.TopK{Exact: true}}
	for s := range p.Segments {
		if seg := &p.Segments[s]; seg.Docs > seg.Skip {
			a.Open = append(a.Open, blockmax.Span{Segment: s, From: seg.Skip, To: seg.Docs})
		}
	}
}

// answers reads the results of a batch. read are the bytes of the results, ranges the unresolved
// ranges. rangeCount also counts ranges that found no room.
func (b *batch) answers(read []byte, ranges []devRange, rangeCount int, answers []Answer) {
	states := unsafe.Slice(view[devState](read), len(b.queries))
	open := b.openSpans(ranges)
	share := int64(b.copied()) / int64(len(b.queries))
	var room hitRoom
	for i := range states {
		room.left += int(states[i].held)
	}
	for i := range b.queries {
		q, s := &b.queries[i], &states[i]
		a := &answers[q.answer]
		keys := unsafe.Slice((*uint64)(unsafe.Pointer(&read[b.results.keysAt[i]])), s.held)
		a.Top = blockmax.TopK{Total: int(s.matched), Exact: s.pruned == 0 && !b.spared(q), Hits: room.hits(keys)}
		if s.unresolved > 0 || len(q.left) > 0 {
			a.Pass = blockmax.And
			if q.plan.Tree != nil || q.plan.Mode == blockmax.Or {
				a.Pass = blockmax.Or
			}
			// For AND+OR, an AND with gaps that found too few hits leaves open which of the two
			// modes applies.
			undecided := settles(q.plan) && s.answered == 0
			a.leaveOpen(q.plan, append(open[i], q.left...), undecided || s.unresolved > 0 && rangeCount > len(ranges))
		}
		decoded := int64(s.decoded) + q.asBits
		a.Top.Work = blockmax.Work{
			BlocksDecoded: decoded, BlocksSkipped: max(0, q.blocks-decoded),
			DocsScored: int64(s.scored), BytesMoved: share,
		}
	}
}

// A hitRoom is memory for the hits of answers. Several answers share an allocation. A caller that
// keeps one answer keeps only that allocation alive.
type hitRoom struct {
	free []uint64
	left int // hits to come
}

// hitRoomLen makes 32 KiB: the Go runtime allocates larger objects in a slower way.
const hitRoomLen = 4096

// hits converts keys. A blockmax.Hit has the layout of a key, except for the complement of the
// document, on little-endian machines, which all machines with GPUs are.
func (r *hitRoom) hits(keys []uint64) []blockmax.Hit {
	n := len(keys)
	if n == 0 {
		return []blockmax.Hit{}
	}
	if n > len(r.free) {
		r.free = make([]uint64, max(n, min(r.left, hitRoomLen)))
	}
	r.left -= n
	to := r.free[:n:n]
	r.free = r.free[n:]
	for i, key := range keys {
		to[i] = key ^ math.MaxUint32
	}
	return unsafe.Slice((*blockmax.Hit)(unsafe.Pointer(&to[0])), n)
}

// spared reports whether extents of a query's lists were skipped, since they cannot matter.
func (b *batch) spared(q *query) bool {
	if !b.lists.spared || q.from == q.to {
		return false
	}
	for _, t := range b.terms[b.parts[q.from].from:b.parts[q.to-1].to] {
		if b.lists.entries[t.entry].spared {
			return true
		}
	}
	return false
}

// openSpans are the unresolved ranges of each query that can still matter.
func (b *batch) openSpans(ranges []devRange) map[int][]blockmax.Span {
	open := map[int][]blockmax.Span{}
	if len(ranges) == 0 {
		return open
	}
	for _, r := range ranges {
		p := &b.parts[r.part]
		open[p.query] = append(open[p.query], blockmax.Span{Segment: p.segment, From: r.from, To: r.to})
	}
	return open
}

// leaveOpen makes the answer partial: without these spans, or without any document if all is set.
//
// Spans begin and end at tiles (blockmax.TileDocs); ranges of a device need not. Hits in documents
// that become open by this rounding are dropped and found again. The answer's count can no longer
// be used.
func (a *Answer) leaveOpen(p *Plan, spans []blockmax.Span, all bool) {
	widened := false
	for i := range spans {
		s := &spans[i]
		seg := &p.Segments[s.Segment]
		// An AND led by a block may have to do with documents to skip.
		from, to := max(seg.Skip, s.From&^(blockmax.TileDocs-1)), min(seg.Docs, (s.To+blockmax.TileDocs-1)&^(blockmax.TileDocs-1))
		widened = widened || from != s.From || to != s.To
		s.From, s.To = from, to
	}
	if all || widened && (p.CountAll || p.Undivided || settles(p)) {
		a.openAll(p)
		return
	}
	slices.SortFunc(spans, func(x, y blockmax.Span) int {
		return cmp.Or(cmp.Compare(x.Segment, y.Segment), cmp.Compare(x.From, y.From))
	})
	for _, s := range spans {
		if s.From >= s.To {
			continue
		}
		if n := len(a.Open); n > 0 && a.Open[n-1].Segment == s.Segment && a.Open[n-1].To >= s.From {
			a.Open[n-1].To = max(a.Open[n-1].To, s.To)
		} else {
			a.Open = append(a.Open, s)
		}
	}
	if widened {
		a.Top.Hits = slices.DeleteFunc(a.Top.Hits, func(h blockmax.Hit) bool { return a.isOpen(p, h.Doc) })
		a.Top.Total, a.Top.Exact = len(a.Top.Hits), false
	}
}

// isOpen reports whether a document, by its global number, is among the open ones.
func (a *Answer) isOpen(p *Plan, doc uint32) bool {
	for _, s := range a.Open {
		base := p.Segments[s.Segment].Base
		if doc >= base+s.From && doc < base+s.To {
			return true
		}
	}
	return false
}
