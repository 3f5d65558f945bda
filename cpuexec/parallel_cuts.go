package cpuexec

import (
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// A division divides the documents of a query among goroutines: into pieces of up to 64 units each.
//
// For algorithms that go by tiles, a piece is a sheet (262,144 documents) and a unit is one of its
// tiles, so that they can take the best tiles first. The others, and AND with a short list, get
// ranges that begin and end at skip entries: those of the shortest list for AND; for OR, entries
// that balance the blocks of all long lists. All cuts are at tiles.
type division struct {
	pieces  [maxPieces]piece
	units   int      // weight of the query, in grains
	weights []int    // of the segments
	ends    []uint32 // scratch memory
	cells   []int    // scratch memory
	order   []int    // scratch memory
}

// A piece is a range of documents of one segment: either a sheet that is taken tile by tile, or a
// single unit.
type piece struct {
	segment  int
	from, to uint32
	tiles    bool
}

// maxPieces bounds the pieces of a query; 64 sheets are 16 million documents. Larger queries are
// cut into ranges of several sheets each.
const maxPieces = 64

// orGrain is how many times as many postings a grain of OR, or of a tree, has.
const orGrain = 64

// divide divides a query. It makes no pieces when the query should stay whole.
func (j *job) divide(r *run, visit segmentPass, grain int) {
	plan, and := r.query.plan, r.query.plan.Tree == nil && len(r.query.tree.Must) > 0
	j.count.Store(0)
	if j.weigh(r, and, grain); j.units < 1 {
		return
	}
	total := 0
	for _, w := range j.weights {
		total += w
	}
	needed := 0
	for s := range plan.Segments {
		if j.weights[s] > 0 {
			needed += sheets(plan.Segments[s].Docs)
		}
	}
	few := needed <= maxPieces/2
	grain = max(total/j.units, total/(maxPieces/2)) // those of single-unit pieces
	for _, s := range r.query.order {
		if j.weights[s] == 0 {
			continue
		}
		seg := &plan.Segments[s]
		if few && visit.byTiles && !(and && isSparse(shortest(seg), seg.Docs)) {
			j.addSheets(plan, s)
			continue
		}
		n := min((j.weights[s]+grain/2)/grain, tiles(seg.Docs))
		if !j.addRanges(s, seg, max(1, n), and, plan.Tree != nil) {
			j.count.Store(0) // there are more segments than pieces
			return
		}
	}
}

// weigh weighs the segments and counts the grains of all together.
func (j *job) weigh(r *run, and bool, grain int) {
	plan := r.query.plan
	if !and {
		grain *= orGrain
	}
	j.weights = j.weights[:0]
	total := 0
	for s := range plan.Segments {
		w := weight(&plan.Segments[s], and, r.out.counting && plan.Tree == nil)
		if plan.Tree != nil {
			w += int(plan.Segments[s].Docs)/8 + 1 // all documents may match
		} else {
			w = fewWeightOf(&plan.Segments[s], w, and)
		}
		if plan.Segments[s].Docs == 0 {
			w = 0
		}
		j.weights = append(j.weights, w)
		total += w
	}
	j.units = total / grain
}

// weight counts the postings of a segment that determine the time of a query: those of the shortest
// list for AND, else all. When bitmaps are counted, 64 documents of one take as long as a posting
// of OR.
func weight(seg *blockmax.Segment, and, bitmaps bool) (sum int) {
	inBitmap := int(seg.Docs / 64)
	if and {
		inBitmap /= orGrain
	}
	least := -1
	for t := range seg.Terms {
		n := 0
		if term := &seg.Terms[t]; term.Bounds != nil {
			n = term.List.Count
			if bitmaps && term.List.Bitmap() != nil {
				n = min(n, 1+inBitmap)
			}
		}
		sum += n
		if least < 0 || n < least {
			least = n
		}
	}
	if and {
		return max(0, least)
	}
	return sum
}

// shortest returns the shortest list of a segment that has every term.
func shortest(seg *blockmax.Segment) *postings.List {
	l := seg.Terms[0].List
	for t := range seg.Terms {
		if other := seg.Terms[t].List; other.Count < l.Count {
			l = other
		}
	}
	return l
}

func tiles(docs uint32) int { return int((uint64(docs) + tileDocs - 1) / tileDocs) }

func sheets(docs uint32) int { return int((uint64(docs) + sheetDocs - 1) / sheetDocs) }

// addSheets adds a piece for each sheet of segment s.
func (j *job) addSheets(p *blockmax.Plan, s int) {
	docs := p.Segments[s].Docs
	j.order = sheetOrder(j.order, p, s)
	for _, i := range j.order {
		lo := uint32(i) * sheetDocs
		piece := piece{segment: s, from: lo, to: min(lo+sheetDocs, docs), tiles: true}
		j.add(piece, tiles(piece.to-lo))
	}
}

// addRanges adds n pieces for segment s. It returns false when there are too many.
func (j *job) addRanges(s int, seg *blockmax.Segment, n int, and, tree bool) bool {
	if int(j.count.Load())+n > maxPieces {
		return false
	}
	j.ends = slices.Grow(j.ends[:0], n)[:n]
	switch {
	case and:
		cutAlong(j.ends, seg.Docs, shortest(seg))
	case tree:
		for i := range j.ends {
			j.ends[i] = evenEnd(i+1, n, seg.Docs, 0, seg.Docs)
		}
	default:
		j.cutBalanced(j.ends, seg)
	}
	from := uint32(0)
	for _, to := range j.ends {
		if from < to {
			j.add(piece{segment: s, from: from, to: to}, 1)
		}
		from = to
	}
	return true
}

// add adds a piece of the given number of units.
func (j *job) add(p piece, units int) {
	n := j.count.Load()
	j.pieces[n] = p
	j.claims[n].taken.Store(^uint64(0) << units)
	j.count.Store(n + 1)
}

// divideFixed gives each core a share.
func (j *job) divideFixed(cores int) {
	j.cores = cores
	j.claims[0].taken.Store(^uint64(0) << cores)
	j.count.Store(1)
}

func totalDocs(p *blockmax.Plan) (docs uint32) {
	for s := range p.Segments {
		docs += p.Segments[s].Docs
	}
	return docs
}

// atTile returns the beginning of a tile nearest to doc, but at most docs.
func atTile(doc, docs uint32) uint32 {
	return min(docs, (doc+tileDocs/2)&^(tileDocs-1))
}

// evenEnd is the end, in a segment, of the first i of n equal shares of all documents. before
// documents precede the segment, which has docs documents.
func evenEnd(i, n int, docs, before, all uint32) uint32 {
	end := uint32(uint64(all) * uint64(i) / uint64(n))
	if end = end - min(end, before); end < docs {
		return atTile(end, docs)
	}
	return docs
}

// cutAlong cuts so that the ranges have about equally many blocks of a list.
func cutAlong(ends []uint32, docs uint32, l *postings.List) {
	n := len(ends)
	for i := range n - 1 {
		ends[i] = 0
		if b := (i + 1) * l.Blocks() / n; b > 0 {
			l.Need(b-1, b)
			ends[i] = atTile(min(l.Last[b-1], docs), docs)
		}
	}
	ends[n-1] = docs
}

// cutBalanced cuts so that the ranges have about equally many blocks of all lists. It looks only at
// the long lists.
func (j *job) cutBalanced(ends []uint32, seg *blockmax.Segment) {
	n, all := len(ends), tiles(seg.Docs)
	cells := min(all, 4*n)
	j.cells = slices.Grow(j.cells[:0], cells)[:cells]
	clear(j.cells)
	longest := 0
	for t := range seg.Terms {
		if term := &seg.Terms[t]; term.Bounds != nil {
			longest = max(longest, term.List.Count)
		}
	}
	for t := range seg.Terms {
		term := &seg.Terms[t]
		if term.Bounds == nil || term.List.Count < longest/4 {
			continue
		}
		for i, b := 0, 0; i < cells; i++ {
			b = term.List.Seek(b, uint32((i+1)*all/cells)*tileDocs)
			j.cells[i] += b // blocks that end before the cell does
		}
	}
	sum, cell := j.cells[cells-1], 0
	for i := range n - 1 {
		for j.cells[cell] < (i+1)*sum/n {
			cell++
		}
		ends[i] = min(seg.Docs, uint32((cell+1)*all/cells)*tileDocs)
	}
	ends[n-1] = seg.Docs
}
