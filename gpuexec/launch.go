package gpuexec

import (
	"math"

	"github.com/riffle-search/riffle/gpuexec/device"
)

// A kernel is a function on the device and its launch parameters.
type kernel struct {
	device.Kernel
	threads int
	shared  func(b *batch) int // bytes of a block

	asked  int // bytes of shared memory for which atOnce holds
	atOnce int // blocks on a multiprocessor at once
}

// The largest pool of a thread block that does not work on a tile: for k = 1,000, or rounds of
// 1,024 threads.
const maxPoolRoom = 4096

// load finds all kernels.
func (x *Executor) load(q *device.Queue) {
	x.kernels = map[string]*kernel{}
	none := func(*batch) int { return 0 }
	pool := func(b *batch) int { return 8 * b.poolRoom }
	tile := func(b *batch) int { return x.shape.tileShared(b.tileRoom, b.listsMost) }
	largest := &batch{tileRoom: 2*maxK + leastRoom, poolRoom: maxPoolRoom, listsMost: maxTerms, count: counting{slots: countSlotsMost}}
	plan, flatten, strips, windows := q.Load(ptx("plan")), q.Load(ptx("flatten")), q.Load(ptx("strips")), q.Load(ptx("windows"))
	type entry struct {
		name    string
		module  device.Module
		threads int
		shared  func(*batch) int
	}
	kernels := []entry{
		{"scatter", q.Load(ptx("scatter")), 256, none},
		{"index_lists", q.Load(ptx("index_lists")), 256, none},
		{"flatten", flatten, 256, none},
		{"bound_strips", flatten, 256, none},
		{"fetch_rows", windows, readThreads, none},
		{"open_slices", windows, 256, none},
		{"choose_blocks", windows, besideThreads, none},
		{"fetch_pieces", windows, readThreads, none},
		{"flatten_slices", windows, besideThreads, none},
		{"or_flat", q.Load(ptx("or_flat")), flatThreads, func(*batch) int { return x.shape.flatShared() }},
		{"or_rounded", q.Load(ptx("or_rounded")), roundedThreads, func(*batch) int { return x.shape.roundedShared() }},
		{"tree_strips", q.Load(ptx("tree_strips")), stripThreads, func(*batch) int { return x.shape.treeShared() }},
		{"count_matches", q.Load(ptx("count_matches")), countThreads, func(b *batch) int { return x.shape.countShared(b.count.slots) }},
		{"or_strips", strips, stripThreads, func(*batch) int { return x.shape.stripShared() }},
		{"and_strips", strips, stripThreads, func(*batch) int { return x.shape.stripShared() }},
		{"and_probe", q.Load(ptx("probe")), probeThreads, func(*batch) int { return probeShared }},
		{"bound_tiles", plan, 256, none},
		{"queue_seeds", plan, 256, none},
		{"queue_tiles", plan, 256, none},
		{"queue_all", plan, 256, none},
		{"queue_and_mark", plan, besideThreads, none},
		{"or_tile", q.Load(ptx("or_tile")), x.shape.TileThreads, tile},
		{"or_maxscore", q.Load(ptx("or_maxscore")), x.shape.TileThreads, tile},
		{"and_tile", q.Load(ptx("and_tile")), x.shape.TileThreads, tile},
		{"and_lead", q.Load(ptx("and_lead")), x.shape.LeadThreads, pool},
		{"settle", q.Load(ptx("settle")), 256, none},
		{"top_k", q.Load(ptx("top_k")), min(256, x.shape.TileThreads), pool},
	}
	switch a := x.options.Algorithm; {
	case a.byRanges():
		kernels = append(kernels, entry{"ranges", q.Load(x.baseline("ranges")), x.shape.RangeThreads, pool})
	case a == Rounds:
		kernels = append(kernels, entry{"and_rounds", q.Load(x.baseline("and_rounds")), x.shape.LeadThreads, pool})
	}
	for _, k := range kernels {
		f := q.Kernel(k.module, k.name)
		if most := k.shared(largest); most > 0 {
			q.AllowShared(f, min(most, q.Info().SharedPerBlock))
		}
		if x.options.Stream {
			q.PreferShared(f, streamShared)
		}
		x.kernels[k.name] = &kernel{Kernel: f, threads: k.threads, shared: k.shared, asked: -1}
	}
}

// put puts all work of a batch on the streams: copies to the device, kernels if compute is set, and
// copies of the results.
func (x *Executor) put(q *device.Queue, s *slot, compute bool) {
	b := &s.batch
	stream := x.compute
	if b.byWindows {
		stream = b.windowed.track.compute
		x.startWindows(q, s)
		x.launchWindows(q, s)
		x.launchOn(q, s, stream, "top_k", orRest, len(b.queries))
	} else {
		filled := int64(b.staging.used)
		q.ToDevice(x.in, s.memory.Slice(0, filled), s.staging.Slice(0, filled))
		q.Record(s.filled, x.in)
		q.After(x.compute, s.filled)
		q.Record(s.began, x.compute)
		for _, l := range b.placed.large { // earlier batches may still read what was there before
			q.ToDevice(x.compute, l.to, l.from)
		}
		x.scatter(q, s, x.compute)
		if compute {
			x.computeAll(q, s)
		}
	}
	q.Record(s.ready, stream)
	if b.byWindows {
		b.windowed.track.ready, b.windowed.track.begun = s.ready, true
	} else if len(x.windows.tracks) > 0 {
		x.windows.tracks[0].ready, x.windows.tracks[0].begun = s.ready, true
	}
	q.After(x.out, s.ready)
	if compute {
		at := int64(b.results.states - s.memory.Address)
		q.ToHost(x.out, s.results.Slice(0, int64(b.results.bytes)), s.memory.Slice(at, at+int64(b.results.bytes)))
	}
	q.Record(s.done, x.out)
}

// scatter puts what the batch brings to where it stays. Other batches may still read what was there
// before.
func (x *Executor) scatter(q *device.Queue, s *slot, stream device.Stream) {
	w, moves := &x.windows, int(s.batch.common.moveCount)
	q.After(stream, w.moved)
	if moves == 0 {
		return
	}
	w.afterAll(q, stream)
	x.launchOn(q, s, stream, "scatter", andSeeds, (moves+7)/8)
	if len(w.tracks) > 0 {
		q.Record(w.moved, stream)
	}
}

// part is a part of the batch's memory.
func (s *slot) part(of span) device.Memory {
	at := int64(of.address - s.memory.Address)
	return s.memory.Slice(at, at+int64(of.bytes))
}

// computeAll launches the kernels of a batch.
func (x *Executor) computeAll(q *device.Queue, s *slot) {
	b := &s.batch
	q.Move(x.compute, s.part(span{b.results.states, b.states.bytes}), s.part(b.states))
	q.Fill(x.compute, s.part(span{b.results.unresolvedCount, rowBytes}), 0)
	q.Fill(x.compute, s.part(b.results.found.empty), 0)
	if len(b.flat.renewed) > 0 {
		x.flatten(q, s, renewing)
	}
	if b.common.listCount > 0 {
		q.Fill(x.compute, s.part(b.tileBounds), 0)
		x.launch(q, s, "index_lists", andSeeds, int(b.common.blockCount+7)/8)
	}
	if x.options.Algorithm.byRanges() {
		x.byRanges(q, s)
	} else {
		x.byTiles(q, s)
	}
	if c := &b.common; c.countUnits > 0 {
		x.launch(q, s, "count_matches", orRest, (int(c.countUnits)*32+countThreads-1)/countThreads)
	}
	x.launch(q, s, "top_k", orRest, len(b.queries))
	if len(b.flat.structs) > 0 { // for the following batches
		x.flatten(q, s, andSeeds)
	}
}

// flatten makes the lists of a pass flat.
func (x *Executor) flatten(q *device.Queue, s *slot, pass int) {
	x.launch(q, s, "flatten", pass, math.MaxInt)
	x.launch(q, s, "bound_strips", pass, math.MaxInt)
}

// byTiles launches AND, then OR.
func (x *Executor) byTiles(q *device.Queue, s *slot) {
	b := &s.batch
	x.visit(q, s, "and_tile", andSeeds, b.work.and)
	if lead := "and_lead"; b.work.groups > 0 {
		blocks := int(b.work.groups)
		if x.options.Algorithm == Rounds {
			lead, blocks = "and_rounds", len(b.queries)
		}
		x.launch(q, s, lead, andSeeds, blocks)
	}
	if b.settles {
		x.launch(q, s, "settle", orSeeds, (len(b.queries)+7)/8)
	}
	or := "or_maxscore"
	if a := x.options.Algorithm; a == Exhaustive || a == WAND || a == BMW {
		or = "or_tile"
	}
	x.visit(q, s, or, orSeeds, b.work.or)
}

// visit launches the kernels for tiles: the seeds in one pass, the others in the next. Where no bounds
// spare a tile, one pass has all.
func (x *Executor) visit(q *device.Queue, s *slot, kernel string, seeds int, tiles tileCounts) {
	if tiles == (tileCounts{}) {
		return
	}
	b := &s.batch
	threads := (int(b.work.tilesMost)*len(b.parts) + 255) / 256
	if seeds == andSeeds && !b.work.andSeeds {
		x.launch(q, s, "queue_all", andRest, threads)
		x.score(q, s, kernel, andRest, tiles, math.MaxInt)
		return
	}
	q.Fill(x.compute, s.part(b.seeds[seeds]), 0)
	x.launch(q, s, "bound_tiles", seeds, threads)
	x.launch(q, s, "queue_seeds", seeds, (seedTiles*len(b.queries)+7)/8)
	x.score(q, s, kernel, seeds, tiles, seedTiles*len(b.queries))
	x.launch(q, s, "queue_tiles", seeds+1, threads)
	x.score(q, s, kernel, seeds+1, tiles, math.MaxInt)
}

// score launches the kernels for the queues of a pass, each of at most most tiles.
func (x *Executor) score(q *device.Queue, s *slot, kernel string, pass int, tiles tileCounts, most int) {
	if tiles.whole > 0 {
		x.launch(q, s, kernel, pass, min(most, int(tiles.whole)))
	}
	if tiles.trees > 0 {
		x.launch(q, s, "tree_strips", pass, min(most, int(tiles.trees)))
	}
	if blocks := min(most, int(tiles.strips)); blocks > 0 {
		x.scoreStrips(q, s, x.compute, pass, blocks)
		if pass == orRest { // seeds go by strips
			x.launch(q, s, s.batch.wholeTiles(), pass, blocks)
		}
	}
}

// roundedMost is the most hits of a query for which or_rounded is used: each candidate is scored
// by itself.
const roundedMost = 256

// wholeTiles is the kernel for tiles of OR that go as a whole, but for seeds.
func (b *batch) wholeTiles() string {
	if b.kMost <= roundedMost {
		return "or_rounded"
	}
	return "or_flat"
}

// scoreStrips launches the kernel for tiles that go by strips.
func (x *Executor) scoreStrips(q *device.Queue, s *slot, stream device.Stream, pass, blocks int) {
	kernel := "and_strips"
	switch {
	case pass == orSeeds || pass == orRest:
		kernel = "or_strips"
	case s.batch.byWindows: // all lists are flat
		kernel = "and_probe"
	}
	x.launchOn(q, s, stream, kernel, pass, blocks)
}

// byRanges does the same by the method of Huang et al.
func (x *Executor) byRanges(q *device.Queue, s *slot) {
	b := &s.batch
	blocks := x.shape.rangeBlocks(len(b.queries))
	if b.work.groups > 0 {
		x.launch(q, s, "ranges", andSeeds, blocks)
	}
	if b.settles {
		x.launch(q, s, "settle", orSeeds, (len(b.queries)+7)/8)
	}
	if b.work.or != (tileCounts{}) {
		x.launch(q, s, "ranges", orSeeds, blocks)
	}
}

// launch runs a kernel on as many blocks as it has work for, but on no more than fit on the device.
func (x *Executor) launch(q *device.Queue, s *slot, name string, pass, blocks int) {
	x.launchOn(q, s, x.compute, name, pass, blocks)
}

func (x *Executor) launchOn(q *device.Queue, s *slot, stream device.Stream, name string, pass, blocks int) {
	k := x.kernels[name]
	b := &s.batch
	g := device.Grid{Threads: k.threads, Shared: k.shared(b)}
	if g.Shared != k.asked {
		k.asked, k.atOnce = g.Shared, max(1, q.Occupancy(k.Kernel, k.threads, g.Shared))
	}
	g.Blocks = min(blocks, x.shape.Multiprocessors*k.atOnce)
	at := int64(b.passes[pass] - s.memory.Address)
	if pass == andSeeds || pass == orSeeds {
		name += " (seeds)"
	}
	s.trace.around(q, stream, name, func() { q.Launch(stream, k.Kernel, g, s.memory.Slice(at, at+1)) })
}
