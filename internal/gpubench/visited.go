package main

import (
	"runtime"
	"slices"
	"sync"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/collection"
)

// Copies of gpuexec's constants for windows (records.go, kernels/windows.cu, kernels/plan.cu).
const (
	pieceBlocks   = 8   // half a unit, which is read at a time
	wholeTile     = 24  // strips from which on all strips of a tile are marked
	packedRecords = 128 // a record with fewer than one posting for this many documents is packed
	rowOf         = 16  // bytes
)

// A windowing divides the documents into windows, as gpuexec does with Stream, and has what its
// records hold of the lists.
type windowing struct {
	c          *collection.Collection
	tileShift  uint32
	tiles      int // of a window, except for the last
	all        int // tiles
	windows    int
	lists      []windowedList
	pieceBytes [][pieceBlocks + 1]uint32 // by piece: where each of its blocks begins, and the end
	listOf     []int32                   // of a piece
	windowOf   []uint8                   // of a piece
}

// A windowedList is a list as records.
type windowedList struct {
	cells   []uint8 // bounds of cells as the levels say
	records []keptRecord
	head    int64 // bytes of the first parts of its records
	bytes   int64 // of its records
}

// A keptRecord is what a window has of a list.
type keptRecord struct {
	from, to int  // blocks
	piece    int  // its first
	byTiles  bool // its blocks are chosen by tiles instead of strips
	head     int64
	bytes    int64 // of its blocks
}

// newWindowing reads all lists.
func newWindowing(c *collection.Collection, tileShift uint32, windows int) (*windowing, error) {
	w := &windowing{c: c, tileShift: tileShift, all: int((uint64(c.Docs) + 1<<tileShift - 1) >> tileShift)}
	w.tiles = (w.all + windows - 1) / windows
	w.windows = (w.all + w.tiles - 1) / w.tiles
	w.lists = make([]windowedList, len(c.Lists))
	var once sync.Once
	var failed error
	collection.InParallel(len(c.Lists), 0, func(i int) {
		if err := w.boundList(i); err != nil {
			once.Do(func() { failed = err })
		}
	})
	for i := range w.lists {
		w.addRecords(i)
	}
	return w, failed
}

// boundList computes the bounds of cells, first exact ones, then what the levels of records say.
func (w *windowing) boundList(i int) error {
	t, l := &w.c.Lists[i], &w.lists[i]
	l.cells = make([]uint8, w.all*stripsOfTile*cellsOfStrip)
	shift := w.tileShift - 8
	if err := eachPosting(t, func(doc, impact uint32) { l.cells[doc>>shift] = max(l.cells[doc>>shift], boundByte(impact)) }); err != nil {
		return err
	}
	packed := w.isPacked(t.List.Count, w.all)
	for strip := range slices.Chunk(l.cells, cellsOfStrip) {
		highest := int(slices.Max(strip))
		for j, bound := range strip {
			switch b := int(bound); {
			case b == 0:
			case packed || b > highest*29/32:
				strip[j] = uint8(highest)
			case b > highest*26/32:
				strip[j] = uint8(highest * 29 / 32)
			default:
				strip[j] = uint8(highest * 26 / 32)
			}
		}
	}
	return nil
}

func (w *windowing) isPacked(postings, tiles int) bool {
	return postings*packedRecords < tiles<<w.tileShift
}

// addRecords lays out the records of a list.
func (w *windowing) addRecords(i int) {
	l, of := w.c.Lists[i].List, &w.lists[i]
	for window := range w.windows {
		tiles := min(w.tiles, w.all-window*w.tiles)
		lo, hi := uint32(window*w.tiles)<<w.tileShift, uint64(window*w.tiles+tiles)<<w.tileShift
		r := keptRecord{from: l.Seek(0, lo), piece: len(w.pieceBytes)}
		r.to = r.from
		for r.to < l.Blocks() && (r.to == 0 || uint64(l.Last[r.to-1])+1 < hi) {
			r.to++
		}
		if blocks := r.to - r.from; blocks > 0 {
			count := blocks * l.BlockSize
			r.byTiles = count < tiles*stripsOfTile
			r.head = w.headBytes(of.cells, window, tiles, count, blocks)
			for b := r.from; b < r.to; b += pieceBlocks {
				r.bytes += w.addPiece(i, window, b, min(b+pieceBlocks, r.to))
			}
		}
		of.records = append(of.records, r)
		of.head += r.head
		of.bytes += r.head + r.bytes
	}
}

// headBytes are the bytes of the first parts of a record (gpuexec, Shape.recordParts).
func (w *windowing) headBytes(cells []uint8, window, tiles, count, blocks int) int64 {
	rows := func(bytes int) int64 { return int64((bytes + rowOf - 1) / rowOf * rowOf) }
	head := rows(4*(blocks+1)) + rows(4*((blocks+15)/16)) + rows(2*blocks)
	if !w.isPacked(count, tiles) {
		return head + int64(3*tiles*stripsOfTile)
	}
	strips := 0
	for strip := range slices.Chunk(cells[window*w.tiles*stripsOfTile*cellsOfStrip:][:tiles*stripsOfTile*cellsOfStrip], cellsOfStrip) {
		if slices.Max(strip) > 0 {
			strips++
		}
	}
	return head + rows(4*tiles) + rows(2*strips)
}

// addPiece adds a piece of a list, and returns its bytes.
func (w *windowing) addPiece(list, window, from, to int) int64 {
	l := w.c.Lists[list].List
	var at [pieceBlocks + 1]uint32
	for j := range pieceBlocks {
		at[j+1] = at[j]
		if b := from + j; b < to {
			at[j+1] += rowOf * uint32(l.Enc[b].Rows(l.BlockLen(b)))
		}
	}
	w.pieceBytes = append(w.pieceBytes, at)
	w.listOf, w.windowOf = append(w.listOf, int32(list)), append(w.windowOf, uint8(window))
	return int64(at[pieceBlocks])
}

// bytes are those of all records.
func (w *windowing) bytes() (n int64) {
	for i := range w.lists {
		n += w.lists[i].bytes
	}
	return n
}

// A touch is a piece in which a query looks at some blocks, a bit each.
type touch struct {
	piece uint32
	marks uint8
}

// reached are the k-th best keys of a query after the seeds of the first window, and after each
// window; 0 where fewer documents match.
type reached struct {
	known, seeds uint64
	after        []uint64
}

// A visitor finds what queries look at. It belongs to one goroutine.
type visitor struct {
	*windowing
	scores []uint32
	lists  []uint8
	sums   [2][]uint32 // bounds of strips: of OR, of AND
}

func (w *windowing) visitor() *visitor {
	v := &visitor{windowing: w, scores: make([]uint32, w.all<<w.tileShift), lists: make([]uint8, w.all<<w.tileShift)}
	for i := range v.sums {
		v.sums[i] = make([]uint32, w.all*stripsOfTile)
	}
	return v
}

// eachQuery calls do for all queries of the log on all cores, with visitors.
func (w *windowing) eachQuery(do func(v *visitor, q int) error) error {
	visitors := make(chan *visitor, runtime.GOMAXPROCS(0))
	for range cap(visitors) {
		visitors <- w.visitor()
	}
	var once sync.Once
	var failed error
	collection.InParallel(len(w.c.Queries), cap(visitors), func(q int) {
		v := <-visitors
		if err := do(v, q); err != nil {
			once.Do(func() { failed = err })
		}
		visitors <- v
	})
	return failed
}

// bound computes the bounds of strips, for OR and AND: noBound where nothing can match.
func (v *visitor) bound(p *collection.Plan, query []int) {
	var contributions [][256]uint32
	for t := range query {
		var of [256]uint32
		for b := range of {
			of[b] = blockmax.Contribution(p.Weights[t], uint16(b*257))
		}
		contributions = append(contributions, of)
	}
	for strip := range v.sums[0] {
		var sums [cellsOfStrip]uint32
		var there [cellsOfStrip]uint8
		for t, list := range query {
			of := &contributions[t]
			for j, b := range v.windowing.lists[list].cells[strip*cellsOfStrip:][:cellsOfStrip] {
				if b != 0 {
					sums[j] += of[b]
					there[j]++
				}
			}
		}
		or, and := noBound, noBound
		for j, n := range there {
			if n > 0 && (or == noBound || sums[j] > or) {
				or = sums[j]
			}
			if int(n) == len(query) && (and == noBound || sums[j] > and) {
				and = sums[j]
			}
		}
		v.sums[0][strip], v.sums[1][strip] = or, and
	}
}

// score scores all documents.
func (v *visitor) score(p *collection.Plan) error {
	clear(v.scores)
	clear(v.lists)
	terms := p.Segments[0].Terms
	for t := range terms {
		weight := p.Weights[t]
		err := eachPosting(&terms[t], func(doc, impact uint32) {
			v.scores[doc] += blockmax.Contribution(weight, uint16(impact))
			v.lists[doc]++
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// reach finds how the threshold of a query rises from window to window. least is in how many lists
// a document must be, and seeds are the strips that are scored first.
func (v *visitor) reach(k int, known uint64, least uint8, seeds []int) (r reached) {
	best := make([]uint64, 0, k+1) // ascending
	take := func(from, to int) {
		for doc := from; doc < to; doc++ {
			if v.lists[doc] < least {
				continue
			}
			key := keyOf(blockmax.Hit{Score: v.scores[doc], Doc: uint32(doc)})
			if len(best) == k && key <= best[0] {
				continue
			}
			at, _ := slices.BinarySearch(best, key)
			if best = slices.Insert(best, at, key); len(best) > k {
				best = slices.Delete(best, 0, 1)
			}
		}
	}
	threshold := func() uint64 {
		if len(best) < k {
			return known
		}
		return max(known, best[0])
	}
	r.known = known
	width := 1 << (v.tileShift - 5)
	for _, strip := range seeds {
		take(strip*width, (strip+1)*width)
	}
	r.seeds = threshold()
	best = best[:0]
	for window := range v.windows {
		take(window*v.tiles<<v.tileShift, min((window+1)*v.tiles, v.all)<<v.tileShift)
		r.after = append(r.after, threshold())
	}
	return r
}

// seedsOf returns the strips of the first window that are scored first: of the best tile of each of
// some classes those nearly as good as its best, at most eight.
func (v *visitor) seedsOf(sums []uint32, classes int) (strips []int) {
	for class := range min(classes, v.tiles) {
		best, at := uint32(0), -1
		for tile := class; tile < v.tiles; tile += classes {
			for j, bound := range sums[tile*stripsOfTile:][:stripsOfTile] {
				if bound != noBound && (at < 0 || bound > best) {
					best, at = bound, tile*stripsOfTile+j
				}
			}
		}
		if at < 0 {
			continue
		}
		taken := 0
		for strip := at &^ (stripsOfTile - 1); strip < at|(stripsOfTile-1)+1 && taken < 8; strip++ {
			if sums[strip] != noBound && sums[strip] >= best-best/8 {
				strips = append(strips, strip)
				taken++
			}
		}
	}
	return strips
}

// touches finds what a query looks at in steps of windows, which end there: strips that can win by
// the threshold of the time when blocks are chosen, before the previous step is scored.
func (v *visitor) touches(query []int, sums []uint32, r *reached, steps []int, whole bool) (touches []touch) {
	alive := make([]int32, len(sums)+1) // strips before one
	from := 0
	for i, to := range steps {
		threshold := r.known
		switch {
		case i == 1:
			threshold = r.seeds
		case i > 1:
			threshold = r.after[steps[i-2]-1]
		}
		v.markStep(sums, alive, threshold, from, to, whole)
		from = to
	}
	for _, list := range query {
		for window := range v.windowing.lists[list].records {
			touches = v.touchRecord(touches, list, &v.windowing.lists[list].records[window], alive)
		}
	}
	return touches
}

// markStep counts the strips that are alive in a step.
func (v *visitor) markStep(sums []uint32, alive []int32, threshold uint64, from, to int, whole bool) {
	for tile := from * v.tiles; tile < min(to*v.tiles, v.all); tile++ {
		var wins [stripsOfTile]bool
		n := 0
		for j := range wins {
			strip := tile*stripsOfTile + j
			doc := uint32(strip) << (v.tileShift - 5)
			if sums[strip] != noBound && keyOf(blockmax.Hit{Score: sums[strip], Doc: doc}) >= threshold {
				wins[j] = true
				n++
			}
		}
		for j := range wins {
			strip := tile*stripsOfTile + j
			alive[strip+1] = alive[strip]
			if wins[j] || whole && n >= wholeTile {
				alive[strip+1]++
			}
		}
	}
}

// touchRecord appends the pieces of a record with blocks that touch strips that are alive, and the
// last block.
func (v *visitor) touchRecord(touches []touch, list int, r *keptRecord, alive []int32) []touch {
	l, shift := v.c.Lists[list].List, v.tileShift-5
	now := touch{}
	for b := r.from; b < r.to; b++ {
		first := uint32(0)
		if b > 0 {
			first = l.Last[b-1] + 1
		}
		from, to := int(first>>shift), int(l.Last[b]>>shift)+1
		if r.byTiles {
			from, to = from&^(stripsOfTile-1), min((to+stripsOfTile-1)&^(stripsOfTile-1), len(alive)-1)
		}
		// A block may reach beyond the window, where strips are alive for the next one's record.
		if alive[to] > alive[from] || b+1 == r.to {
			now.marks |= 1 << ((b - r.from) % pieceBlocks)
		}
		if (b-r.from)%pieceBlocks == pieceBlocks-1 || b+1 == r.to {
			now.piece = uint32(r.piece + (b-r.from)/pieceBlocks)
			if now.marks != 0 {
				touches = append(touches, now)
			}
			now = touch{}
		}
	}
	return touches
}

// fetchedBytes are what is read of a piece of which some blocks are wanted: from the first to the
// last of them.
func (w *windowing) fetchedBytes(piece uint32, marks uint8) int64 {
	from, to := 0, pieceBlocks
	for marks>>from&1 == 0 {
		from++
	}
	for marks>>(to-1)&1 == 0 {
		to--
	}
	at := &w.pieceBytes[piece]
	return int64(at[to] - at[from])
}
