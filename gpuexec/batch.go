package gpuexec

import (
	"unsafe"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/listcache"
)

// A batch is plans on their way to the device and back. Its memory is reused.
type batch struct {
	algorithm Algorithm
	shape     Shape
	arena     uint64 // address

	resultRoom int // bytes of results that fit on the host
	smallDocs  uint32

	queries   []query
	parts     []part     // of all queries
	terms     []partTerm // of all parts
	kMost     int
	listsMost int  // of any part
	settles   bool // some plans have mode AndOr
	lists     lists
	trees     compiler
	stepper   stepper
	count     counting

	lookup     lookup
	staging    staging
	scratch    scratchPool // for columns that do not fit there
	placed     placedColumns
	flat       flattenings
	work       work
	tileRoom   int // keys in the pool of a thread block that works on a tile
	poolRoom   int // keys in the pool of any other
	results    results
	tileBounds span         // of lists, to be cleared
	seeds      [passes]span // to be cleared
	states     span         // the initial states, to be moved to the results
	common     devBatch
	passes     [passes]uint64 // addresses of a devBatch each
	byWindows  bool
	windowed   windowed
	refusal    error // why it has not been filled
}

// work is the work of the kernels.
type work struct {
	tilesMost uint32 // of any part
	tiles     uint32 // of all parts
	groups    uint32 // of lead blocks
	and, or   tileCounts
	unbounded int // ANDs without bounds

	sharedLeads int // parts whose lead's blocks are shared

	andSeeds bool // some ANDs that go by tiles have bounds, so that seeds spare something
}

// tileCounts are the tiles of some parts, by whether kernels score them whole, by strips, or by the
// strips of trees.
type tileCounts struct{ whole, strips, trees uint32 }

func (c *tileCounts) add(q *query, n uint32) {
	switch {
	case q.byTree:
		c.trees += n
	case q.byStrips:
		c.strips += n
	default:
		c.whole += n
	}
}

// A span is a range of device memory.
type span struct {
	address uint64
	bytes   int
}

// The passes of a batch. A batch has those that its plans need.
const (
	andSeeds = iota
	andRest
	orSeeds
	orRest
	passes
)

// forget drops references to the caller's data.
func (b *batch) forget() {
	clear(b.queries)
	b.stepper.plan = nil
	b.placed.forget()
	b.lookup.forget()
	clear(b.flat.lists)
	clear(b.windowed.lists)
	clear(b.windowed.taken)
	b.windowed.parted.forget()
	b.lists.forget()
}

func (b *batch) begin() {
	b.queries, b.parts, b.terms = b.queries[:0], b.parts[:0], b.terms[:0]
	b.kMost, b.listsMost, b.settles = 1, 1, false
	b.work = work{}
	b.lists.begin()
	b.trees.begin()
	b.stepper.begin()
	b.count.begin()
	b.staging.begin()
	b.scratch.empty()
	b.placed.begin(&b.staging)
	b.flat.begin()
}

// fill writes all structs of the batch except those that place writes. It reports false when they
// do not fit. Batches are filled and placed in the order in which they run.
func (b *batch) fill() bool {
	b.placed.columns.begin()
	b.placed.apart, b.placed.whole, b.placed.alone = &b.scratch, len(b.staging.host)/2, len(b.queries) == 1
	b.refusal = errBatchFull
	b.flat.flats.begin(b.lists.known.cleared.Load())
	b.renew()
	b.chooseStrips()
	b.chooseBounds()
	b.shareLeads()
	b.countBits()
	s := &b.staging
	lists, blocks, bounds := b.lists.put(s, b.arena, b.placed.table, b.placed.norms)
	b.putFlats()
	b.putRenewed()
	b.tileBounds = bounds
	b.tileRoom = 2*b.kMost + max(poolSlack, leastRoom)
	b.poolRoom = b.poolRoomFor(b.kMost)
	b.results = b.keepResults()
	parts, queries := b.fillQueries()
	b.common = devBatch{
		lists: lists, listCount: uint32(len(b.lists.entries)), blockCount: uint32(blocks),
		queries: queries, queryCount: uint32(len(b.queries)), parts: parts, partCount: uint32(len(b.parts)),
		states: b.results.states, unresolvedCount: b.results.unresolvedCount, unresolved: b.results.unresolved,
		unresolvedRoom: uint32(b.results.unresolvedRoom), groupCount: b.work.groups, tilesMost: b.work.tilesMost,
		tileShift: b.shape.TileShift, stagedFrom: b.shape.StageLengths, tileRoom: uint32(b.tileRoom), poolRoom: uint32(b.poolRoom), listRoom: uint32(b.listsMost), heapRoom: uint32(b.kMost), rows: b.arena,
		rangeAlgorithm: b.algorithm.ranges(), tileBounds: s.keep(4 * int(b.work.tiles)),
	}
	if b.algorithm.byRanges() {
		b.common.heaps = s.keep(8 * b.kMost * b.shape.RangeThreads * b.shape.rangeBlocks(len(b.queries)))
	}
	b.putCounts(&b.common)
	b.fillPasses()
	if s.full || b.roomFor(0) > s.free() || // lists are copied as far as they fit
		b.results.bytes > b.resultRoom || uint64(b.work.tilesMost)*uint64(len(b.parts)) >= 1<<31 {
		b.placed.undo()
		b.flat.drop()
		if b.placed.homeless > 0 {
			b.refusal = b.placed.refusal()
		}
		return false
	}
	return true
}

// roomFor is how many bytes place needs in addition to those of the pieces of lists.
func (b *batch) roomFor(pieces int) int {
	bytes, moves := b.lists.tablesRoom()
	bytes += wholeRows(len(b.lists.entries)*int(unsafe.Sizeof(devFlattening{}))) + rowBytes
	return bytes + wholeRows((len(b.placed.moves)+moves+pieces)*int(unsafe.Sizeof(devMove{})))
}

// leastRoom is room for candidates in addition to twice k. When tiles find more at once, those
// found are cut to k, and the others follow.
const leastRoom = 128

// poolRoomFor is the size, in keys, of the pool of a thread block that does not work on a tile. It
// must hold what the block's warps or threads find at once (pool.cuh).
func (b *batch) poolRoomFor(k int) int {
	least := max(2*k+poolSlack, k+b.shape.RangeThreads, 4*b.shape.LeadThreads)
	room := 32
	for room < least {
		room *= 2
	}
	return room
}

// fillQueries writes queries, parts and terms, and the initial states.
func (b *batch) fillQueries() (parts, queries uint64) {
	devParts, parts := put[devPart](&b.staging, len(b.parts))
	queries = b.putQueries(parts, 1)
	b.fillParts(devParts)
	return parts, queries
}

// putQueries writes queries, whose parts are at an address, each of them so many times, and the
// initial states.
func (b *batch) putQueries(parts uint64, times int) (queries uint64) {
	s := &b.staging
	devQueries, queries := put[devQuery](s, len(b.queries))
	states, at := put[devState](s, len(b.queries))
	nodes, steps := putAll(s, b.trees.nodes), putAll(s, b.stepper.steps)
	b.states = span{at, len(states) * int(unsafe.Sizeof(devState{}))}
	for i := range b.queries {
		q := &b.queries[i]
		d := &devQueries[i]
		*d = devQuery{
			after: 1 << 63, best: b.results.found.lists[i], answer: b.results.keys(i), counts: b.results.found.counts[i],
			room: b.results.found.rooms[i], wholeStrips: uint32(b.shape.WholeStrips), parts: parts + uint64(times*q.from)*uint64(unsafe.Sizeof(devPart{})),
			partCount: uint32(times * (q.to - q.from)), k: uint32(q.plan.K), mode: uint32(q.plan.Mode),
			bounds: b.algorithm.bounds(), rankWeight: q.plan.RankWeight,
		}
		if q.plan.After != nil {
			d.after = keyOf(*q.plan.After)
		}
		if q.plan.CountAll || q.unbounded {
			d.bounds = noBounds
		}
		d.seed = uint64(q.need) << 32
		if q.byStrips {
			d.byStrips = 1
		}
		switch {
		case q.counted:
			d.steps, d.stepCount = steps+uint64(q.steps[0])*uint64(stepBytes), uint32(q.steps[1]-q.steps[0])
		case q.byTree:
			b.putTree(d, q, nodes)
		}
		if d.counts != 0 {
			d.lowest, d.rangeShift = b.countScores(q)
		}
		if d.mode == uint32(blockmax.Or) {
			states[i].threshold = d.seed
		}
	}
	return queries
}

// fillParts writes parts and their terms.
func (b *batch) fillParts(devParts []devPart) {
	terms, address := put[devTerm](&b.staging, len(b.terms))
	for i, t := range b.terms {
		terms[i] = devTerm{list: b.lists.entries[t.entry].address, weight: t.weight, leaf: t.leaf}
	}
	for i := range b.parts {
		b.fillPart(&devParts[i], &b.parts[i])
		devParts[i].terms = address + uint64(b.parts[i].from)*uint64(unsafe.Sizeof(devTerm{}))
	}
}

func (b *batch) fillPart(d *devPart, pt *part) {
	p := b.queries[pt.query].plan
	seg := &p.Segments[pt.segment]
	tiles := b.shape.tiles(seg.Docs)
	*d = devPart{
		accept: column(&b.placed, seg.Accept), termCount: uint32(pt.to - pt.from), query: uint32(pt.query),
		skip: seg.Skip, base: seg.Base, docs: seg.Docs, way: pt.way,
		tiles: tiles, firstTile: b.work.tiles, firstGroup: b.work.groups,
	}
	if seg.Rank != nil && p.RankWeight > 0 {
		d.rank, d.rankTile = column(&b.placed, seg.Rank), column(&b.placed, seg.RankTile)
	}
	if seg.Tail != nil && b.algorithm.prunes() {
		d.tail = column(&b.placed, seg.Tail)
	}
	if pt.way == byCounting {
		return // its tiles have no bounds
	}
	b.work.tiles += tiles
	switch pt.way {
	case byLeadBlocks:
		if pt.shared {
			d.leadShared = 1
		}
		b.work.groups += b.shape.groups(b.listOf(b.terms[pt.from]).blocks, pt.shared)
	case byAndTiles:
		b.work.andSeeds = b.work.andSeeds || !b.queries[pt.query].unbounded
		b.work.and.add(&b.queries[pt.query], tiles)
	default:
		b.work.or.add(&b.queries[pt.query], tiles)
	}
	b.work.tilesMost = max(b.work.tilesMost, tiles)
}

// fillPasses writes a devBatch for each pass.
func (b *batch) fillPasses() {
	s := &b.staging
	for pass := range passes {
		and := pass == andSeeds || pass == andRest
		seeds := pass == andSeeds || pass == orSeeds
		c := b.common
		items := b.work.or
		if and {
			c.andPass = 1
			items = b.work.and
		}
		if pass == andSeeds && !b.work.andSeeds {
			seeds, items = false, tileCounts{}
		}
		if seeds {
			most := uint32(seedTiles * len(b.queries))
			items = tileCounts{min(items.whole, most), min(items.strips, most), min(items.trees, most)}
		}
		stripItems := items.strips
		if pass == orSeeds { // some seeds go in pieces
			stripItems = min(seedPieces*b.work.or.strips, uint32(seedTiles*len(b.queries)))
		}
		c.queue, c.stripQueue, c.flatQueue, c.treeQueue = b.queue(items.whole), b.queue(stripItems), b.queue(items.strips), b.queue(items.trees)
		_, c.counters = put[uint32](s, 4)
		if seeds {
			b.seeds[pass] = span{bytes: wholeRows(8 * seedTiles * len(b.queries))}
			b.seeds[pass].address = s.keep(b.seeds[pass].bytes)
			b.common.seeds = b.seeds[pass].address
			c.seeds = b.common.seeds
		}
		devices, at := put[devBatch](s, 1)
		devices[0] = c
		b.passes[pass] = at
	}
}

// queue makes an empty queue with room for the given number of tiles.
func (b *batch) queue(items uint32) (address uint64) {
	queue, address := put[devQueue](&b.staging, 1)
	queue[0].items = b.staging.keep(int(unsafe.Sizeof(devItem{})) * int(items))
	return address
}

// place asks the cache where all pieces lie. It writes those that must be copied behind the
// structs, and the moves behind them. It reports whether all lists can be used.
func (b *batch) place(cache *listcache.Cache, leave bool) (usable bool) {
	s := &b.staging
	b.lists.tables.begin()
	b.lists.ask(leave, b.algorithm.prunes())
	b.placed.moves, usable = b.lists.place(s, cache, max(0, s.free()-b.roomFor(2*b.lists.extents)), b.placed.moves, func(e *listEntry) { b.flat.add(e, b.shape) })
	if !usable {
		b.flat.drop()
	}
	moves, flattenings, renewed := putAll(s, b.placed.moves), putAll(s, b.flat.structs), putAll(s, b.flat.renewed)
	for pass := range b.passes {
		d := view[devBatch](s.host[b.passes[pass]-s.address:])
		d.moves, d.moveCount = moves, uint32(len(b.placed.moves))
		d.flattenings, d.flatteningCount = flattenings, uint32(len(b.flat.structs))
		if pass == renewing {
			d.flattenings, d.flatteningCount = renewed, uint32(len(b.flat.renewed))
		}
	}
	b.common.moveCount = uint32(len(b.placed.moves))
	return usable
}

func keyOf(h blockmax.Hit) uint64 { return uint64(h.Score)<<32 | uint64(^h.Doc) }

// copied is how many bytes the batch copies to the device.
func (b *batch) copied() int {
	if b.byWindows {
		return b.staging.used + int(b.windowed.fetched+b.windowed.columns)
	}
	bytes := b.staging.used
	for _, l := range b.placed.large {
		bytes += int(l.to.Bytes)
	}
	return bytes
}
