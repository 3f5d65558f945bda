package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/riffle-search/riffle/blockmax"
)

// keeping simulates, without a GPU, what stays on a device whose memory is smaller than the lists
// (gpuexec, Options.Stream): which bytes a query lacks, by share of the lists, batch, and policy.
// One half of the queries decides what stays; the other is counted. Thresholds rise from step to
// step as on the device. A page table for pieces (a place of four bytes for each) is part of what
// stays.
func (b *bench) keeping() error {
	shift := b.shape.TileShift
	if shift == 0 {
		shift = 14
	}
	const windows = 12 // as 25 million documents have
	w, err := newWindowing(b.c, shift, windows)
	if err != nil {
		return err
	}
	b.say("%d pieces, records %d MB, of these first parts %d MB", len(w.pieceBytes), w.bytes()>>20, w.heads()>>20)
	logs, err := b.visitLogs(w)
	if err != nil {
		return err
	}
	for _, mode := range []blockmax.Mode{blockmax.Or, blockmax.And} {
		for _, size := range slices.Backward(b.batch) {
			log := logs[logKind{mode, stepsWith(size)}]
			if err := b.keepBy(w, log, plans{mode, b.typicalK()}, size); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepBy counts with each policy.
func (b *bench) keepBy(w *windowing, log *visitLog, p plans, size int) error {
	half := len(log.queries) / 2
	batches := (len(log.queries) - half + size - 1) / size
	none := &kept{make([]bool, len(w.lists)*w.windows), make([]bool, len(w.pieceBytes))}
	nothing := log.fetched(w, none, size, half, len(log.queries))
	add := func(name string, lacks func(memory []int64) []int64) error {
		return b.measure("keeping", fmt.Sprintf("%v batch=%d, %s", p, size, name), func() (fs []figure, err error) {
			var memory []int64
			for _, share := range b.cache {
				memory = append(memory, max(0, b.bytes*int64(share)/100-int64(b.c.Docs)))
			}
			for i, n := range lacks(memory) {
				fs = append(fs, figure{fmt.Sprint(b.cache[i], " %"), float64(n) / 1000 / float64(len(log.queries)-half)})
			}
			return fs, nil
		})
	}
	var failed error
	for _, policy := range policies {
		failed = errors.Join(failed, add(policy.name, func(memory []int64) (lacks []int64) {
			items := policy.items(log.learn(w, 0, half, size))
			for _, bytes := range memory {
				lacks = append(lacks, log.fetched(w, items.choose(w, bytes, policy.lambda), size, half, len(log.queries)))
			}
			return lacks
		}))
		if !policy.learns {
			continue
		}
		failed = errors.Join(failed, add(policy.name+", learning", func(memory []int64) []int64 {
			lacks := make([]int64, len(memory))
			for from := half; from < len(log.queries); from += size {
				items := policy.items(log.learn(w, 0, from, size))
				for i, bytes := range memory {
					lacks[i] += log.fetched(w, items.choose(w, bytes, policy.lambda), size, from, min(from+size, len(log.queries)))
				}
			}
			return lacks
		}))
	}
	for _, best := range []struct {
		name  string
		items func(n *learned) items
	}{
		{"known beforehand, by list", (*learned).byLists}, {"known beforehand, by piece", byPieces(1)},
	} {
		failed = errors.Join(failed, add(best.name, func(memory []int64) (lacks []int64) {
			items := best.items(log.learnBatches(w, half, len(log.queries), size))
			for _, bytes := range memory {
				lacks = append(lacks, log.fetched(w, items.choose(w, bytes, 1), size, half, len(log.queries)))
			}
			return lacks
		}))
	}
	return errors.Join(failed, add("at least", func(memory []int64) (lacks []int64) {
		for _, bytes := range memory {
			lacks = append(lacks, max(0, nothing-bytes*int64(batches)))
		}
		return lacks
	}), add("room for all that the first half visits", func(memory []int64) []int64 {
		all := byPieces(1)(log.learn(w, 0, half, size)).choose(w, 1<<60, 1)
		return slices.Repeat([]int64{log.fetched(w, all, size, half, len(log.queries))}, len(memory))
	}), add("no memory", func(memory []int64) []int64 { return slices.Repeat([]int64{nothing}, len(memory)) }))
}

func (w *windowing) heads() (n int64) {
	for i := range w.lists {
		n += w.lists[i].head
	}
	return n
}

// stepsWith is how many windows a step has at most.
func stepsWith(batch int) int {
	if batch <= 512 {
		return 3
	}
	return 1
}

// stepEnds are the windows where steps end.
func stepEnds(windows, most int) (ends []int) {
	for at, n := 0, 1; at < windows; n = min(2*n, most) {
		at = min(at+n, windows)
		ends = append(ends, at)
	}
	return ends
}

// A logKind is what visits depend on.
type logKind struct {
	mode  blockmax.Mode
	steps int
}

// A visitLog has what each query of a log looks at.
type visitLog struct {
	queries [][]int // lists
	touches [][]touch
}

// visitLogs finds what the queries look at.
func (b *bench) visitLogs(w *windowing) (map[logKind]*visitLog, error) {
	logs := map[logKind]*visitLog{}
	for _, mode := range []blockmax.Mode{blockmax.Or, blockmax.And} {
		for _, steps := range []int{1, 3} {
			logs[logKind{mode, steps}] = &visitLog{b.c.Queries, make([][]touch, len(b.c.Queries))}
		}
	}
	var mu sync.Mutex
	k := b.typicalK()
	err := w.eachQuery(func(v *visitor, q int) error {
		query := b.c.Queries[q]
		p := b.c.Plan(q, blockmax.Or, k)
		if err := v.score(p); err != nil {
			return err
		}
		v.bound(p, query)
		for i, mode := range []blockmax.Mode{blockmax.Or, blockmax.And} {
			least, classes, known := uint8(1), bestOfOr, uint64(p.Seed())<<32
			if mode == blockmax.And {
				least, classes, known = uint8(len(query)), bestOfAnd, 0
			}
			// As many tiles to a class as in windows of 128 tiles.
			r := v.reach(k, known, least, v.seedsOf(v.sums[i], (classes*w.tiles+127)/128))
			for _, steps := range []int{1, 3} {
				t := v.touches(query, v.sums[i], &r, stepEnds(w.windows, steps), mode == blockmax.Or)
				mu.Lock()
				logs[logKind{mode, steps}].touches[q] = t
				mu.Unlock()
			}
		}
		return nil
	})
	return logs, err
}

// A kept says what stays on the device.
type kept struct {
	heads  []bool // by list and window
	pieces []bool
}

// fetched returns the bytes that batches of a part of the log lack.
func (l *visitLog) fetched(w *windowing, k *kept, size, first, end int) (bytes int64) {
	marks := make([]uint8, len(w.pieceBytes))
	seen := make([]bool, len(w.lists))
	for from := first; from < end; from += size {
		clear(marks)
		clear(seen)
		for q := from; q < min(from+size, end); q++ {
			for _, list := range l.queries[q] {
				seen[list] = true
			}
			for _, t := range l.touches[q] {
				marks[t.piece] |= t.marks
			}
		}
		for list, yes := range seen {
			if !yes {
				continue
			}
			for window := range w.lists[list].records {
				if !k.heads[list*w.windows+window] {
					bytes += w.lists[list].records[window].head
				}
			}
		}
		for piece, of := range marks {
			if of != 0 && !k.pieces[piece] {
				bytes += w.fetchedBytes(uint32(piece), of)
			}
		}
	}
	return bytes
}

// An item is what stays as a whole: some pieces, and first parts of records of their list.
type item struct {
	list, window int // window -1: of all
	from, to     int // pieces
	head         bool
	bytes        int64
	value        float64 // the higher, the sooner it stays
	tie          float64
}

type items []item

// choose takes the most valuable items that fit, of each list at most a share lambda of its blocks.
func (all items) choose(w *windowing, memory int64, lambda float64) *kept {
	k := &kept{make([]bool, len(w.lists)*w.windows), make([]bool, len(w.pieceBytes))}
	used := make([]int64, len(w.lists))
	for i := range all {
		it := &all[i]
		if it.bytes > memory || lambda < 1 && float64(used[it.list]+it.bytes) > lambda*float64(w.lists[it.list].bytes) {
			continue
		}
		memory -= it.bytes
		used[it.list] += it.bytes
		for piece := it.from; piece < it.to; piece++ {
			k.pieces[piece] = true
		}
		if !it.head {
			continue
		}
		for window := range w.windows {
			if it.window < 0 || it.window == window {
				k.heads[it.list*w.windows+window] = true
			}
		}
	}
	return k
}

// sorted sorts items, the most valuable first; Wang breaks ties by the queries of lists.
func (all items) sorted() items {
	slices.SortStableFunc(all, func(x, y item) int { return cmp.Or(cmp.Compare(y.value, x.value), cmp.Compare(y.tie, x.tie)) })
	return all
}

// A policy makes items of what was learned. lambda is how much of a list may stay.
type policy struct {
	name   string
	items  func(*learned) items
	lambda float64
	learns bool // is measured learning, too
}

// prior is what the visits of similar lists weigh, in visits.
const prior = 2

var policies = []policy{
	{"Qtf by list", qtf, 1, true},
	{"QtfDf by list", qtfDf, 1, true},
	{"VFB by list", (*learned).byLists, 1, false},
	{"VFB by list, smoothed", smoothed((*learned).byLists), 1, false},
	{"VFB by record, smoothed", smoothed((*learned).byRecords), 1, false},
	{"VFB by piece", byPieces(1), 1, false},
	{"VFB by piece, smoothed", smoothed(byPieces(1)), 1, true},
	{"VFB by 4 pieces, smoothed", smoothed(byPieces(4)), 1, false},
	{"VFB by 16 pieces, smoothed", smoothed(byPieces(16)), 1, false},
	{"VFB by piece, smoothed, first parts first", smoothed(firstParts), 1, false},
	{"VFB by piece, smoothed, λ=0.90", smoothed(byPieces(1)), 0.9, false},
	{"VFB by piece, smoothed, λ=0.75", smoothed(byPieces(1)), 0.75, false},
	{"VFB by piece, smoothed, λ=0.50", smoothed(byPieces(1)), 0.5, false},
}

func qtf(n *learned) items {
	return n.ofLists(func(list int) float64 { return n.lists[list] })
}

func qtfDf(n *learned) items {
	return n.ofLists(func(list int) float64 { return n.lists[list] / float64(n.w.c.Lists[list].List.Count) })
}

func (n *learned) byLists() items { return n.ofLists(nil) }

func smoothed(by func(*learned) items) func(*learned) items {
	return func(n *learned) items { return by(n.smoothed(prior)) }
}

func byPieces(run int) func(*learned) items {
	return func(n *learned) items { return n.byPieces(run, false) }
}

func firstParts(n *learned) items { return n.byPieces(1, true) }

// A learned has what part of a log visits.
type learned struct {
	w      *windowing
	total  float64   // queries
	lists  []float64 // queries by list
	pieces []float64 // by piece
	worth  []int64   // bytes that a visit to a piece reads
	size   float64
}

// learn counts each query, as if a visit read the whole piece: what few visits say of its blocks
// misleads.
func (l *visitLog) learn(w *windowing, from, to, size int) *learned {
	n := &learned{w, float64(to - from), make([]float64, len(w.lists)), make([]float64, len(w.pieceBytes)), make([]int64, len(w.pieceBytes)), float64(size)}
	for q := from; q < to; q++ {
		for _, list := range l.queries[q] {
			n.lists[list]++
		}
		for _, t := range l.touches[q] {
			n.pieces[t.piece]++
		}
	}
	for piece := range n.worth {
		n.worth[piece] = int64(w.pieceBytes[piece][pieceBlocks])
	}
	return n
}

// learnBatches counts what batches read.
func (l *visitLog) learnBatches(w *windowing, from, to, size int) *learned {
	n := l.learn(w, from, to, size)
	clear(n.pieces)
	clear(n.worth)
	for begin := from; begin < to; begin += size {
		marks := map[uint32]uint8{}
		for q := begin; q < min(begin+size, to); q++ {
			for _, t := range l.touches[q] {
				marks[t.piece] |= t.marks
			}
		}
		for piece, of := range marks {
			n.pieces[piece]++
			n.worth[piece] += w.fetchedBytes(piece, of)
		}
	}
	for piece, visits := range n.pieces {
		n.worth[piece] /= max(1, int64(visits))
	}
	n.total, n.size = math.Ceil(float64(to-from)/float64(size)), 1
	for i := range n.lists { // the chance of a list by its queries
		n.lists[i] = n.total * (1 - math.Pow(1-n.lists[i]/float64(to-from), float64(size)))
	}
	return n
}

// inBatch is how probable it is that a batch visits what so many queries visited.
func (n *learned) inBatch(visits float64) float64 {
	return 1 - math.Pow(1-min(1, visits/n.total), n.size)
}

// smoothed are visits of pieces as if each list had been visited weight more times, and its pieces
// as often as those of lists of that length in that window on average: few visits of a list do not
// tell its pieces apart.
func (n *learned) smoothed(weight float64) *learned {
	w := n.w
	out := *n
	out.pieces = slices.Clone(n.pieces)
	class := func(piece int) [2]int {
		return [2]int{bits.Len(uint(w.c.Lists[w.listOf[piece]].List.Count)), int(w.windowOf[piece])}
	}
	type share struct{ visits, most float64 }
	shares := map[[2]int]*share{}
	for piece, visits := range n.pieces {
		at := class(piece)
		if shares[at] == nil {
			shares[at] = &share{}
		}
		shares[at].visits += visits
		shares[at].most += n.lists[w.listOf[piece]]
	}
	for piece, visits := range n.pieces {
		s, of := shares[class(piece)], n.lists[w.listOf[piece]]
		out.pieces[piece] = of * (visits + weight*s.visits/max(1, s.most)) / (of + weight)
	}
	return &out
}

const placeBytes = 4

// ofLists are whole lists, by a value or by the bytes that a batch does not fetch.
func (n *learned) ofLists(value func(list int) float64) (all items) {
	w := n.w
	for list := range w.lists {
		of := &w.lists[list]
		if n.lists[list] == 0 || of.bytes == 0 {
			continue
		}
		from, to := of.records[0].piece, len(w.pieceBytes)
		if list+1 < len(w.lists) {
			to = w.lists[list+1].records[0].piece
		}
		it := item{list, -1, from, to, true, of.bytes, 0, n.lists[list]}
		if value != nil {
			it.value = value(list)
		} else {
			it.value = n.saved(list, from, to, of.head) / float64(of.bytes)
		}
		all = append(all, it)
	}
	return all.sorted()
}

// saved are the bytes that a batch on average does not fetch when these pieces stay, and first
// parts of records of their list.
func (n *learned) saved(list, from, to int, head int64) float64 {
	saved := n.inBatch(n.lists[list]) * float64(head)
	for piece := from; piece < to; piece++ {
		saved += n.inBatch(n.pieces[piece]) * float64(n.worth[piece])
	}
	return saved
}

func (r *keptRecord) pieces() int { return (r.to - r.from + pieceBlocks - 1) / pieceBlocks }

// byRecords are lists window by window.
func (n *learned) byRecords() (all items) {
	for list := range n.w.lists {
		for window, r := range n.w.lists[list].records {
			if bytes := r.head + r.bytes; bytes > 0 && n.lists[list] > 0 {
				value := n.saved(list, r.piece, r.piece+r.pieces(), r.head) / float64(bytes)
				all = append(all, item{list, window, r.piece, r.piece + r.pieces(), true, bytes, value, n.lists[list]})
			}
		}
	}
	return all.sorted()
}

// byPieces are runs of pieces, and first parts of records, before all pieces if headsFirst.
func (n *learned) byPieces(run int, headsFirst bool) (all items) {
	w := n.w
	for list := range w.lists {
		if n.lists[list] == 0 {
			continue
		}
		for window := range w.lists[list].records {
			r := &w.lists[list].records[window]
			if r.head > 0 {
				it := item{list, window, 0, 0, true, r.head, n.inBatch(n.lists[list]), n.lists[list]}
				if headsFirst {
					it.value++
				}
				all = append(all, it)
			}
			for from := r.piece; from < r.piece+r.pieces(); from += run {
				to := min(from+run, r.piece+r.pieces())
				bytes := int64(placeBytes)
				for piece := from; piece < to; piece++ {
					bytes += int64(w.pieceBytes[piece][pieceBlocks])
				}
				all = append(all, item{list, window, from, to, false, bytes, n.saved(list, from, to, 0) / float64(bytes), n.lists[list]})
			}
		}
	}
	return all.sorted()
}
