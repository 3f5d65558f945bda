package gpuexec

import (
	"math"

	"github.com/riffle-search/riffle/gpuexec/device"
)

// startWindows copies a batch to the device and sets its states to their initial values, on the
// stream that plans.
func (x *Executor) startWindows(q *device.Queue, s *slot) {
	b, w, l := &s.batch, &x.windows, s.batch.windowed.track
	w.enter(q, l)
	q.After(l.up, w.stay)
	if w.residents.flush || b.windowed.parted.stays {
		w.afterAll(q, l.up)
	}
	filled := int64(b.staging.used)
	// Not behind the last blocks of the previous batch.
	q.ToDevice(l.up, s.memory.Slice(0, filled), s.staging.Slice(0, filled))
	q.Record(s.filled, l.up)
	q.After(l.in, s.filled)
	q.After(l.plan, s.filled)
	q.Record(s.began, l.plan)
	x.scatter(q, s, l.plan)
	q.Move(l.plan, s.part(span{b.results.states, b.states.bytes}), s.part(b.states))
	q.Fill(l.plan, s.part(span{b.results.unresolvedCount, rowBytes}), 0)
	q.Fill(l.plan, s.part(b.results.found.empty), 0)
	q.Fill(l.plan, s.part(b.windowed.empty), 0)
	// Bounds of strips suffice: thresholds are good after the first step.
	q.Fill(l.plan, s.part(b.windowed.bounds[1]), 0xfe)
	for _, seeds := range b.windowed.seeds {
		q.Fill(l.plan, s.part(seeds[andSeeds]), 0)
		q.Fill(l.plan, s.part(seeds[orSeeds]), 0)
	}
}

// launchWindows puts the kernels of a batch that goes by windows on the streams. Blocks of a step
// are chosen just before the previous step is scored, and copied meanwhile.
func (x *Executor) launchWindows(q *device.Queue, s *slot) {
	steps, l := s.batch.windowed.steps, s.batch.windowed.track
	x.fetchHeads(q, s, l.up, 0)
	x.openStep(q, s, 0)
	x.chooseFirst(q, s)
	x.fetchPieces(q, s, 0)
	x.fetchHeads(q, s, l.in, 1)
	for i := range steps {
		if i == 0 {
			x.flattenStep(q, s, i)
			x.scoreSeeds(q, s)
		}
		if i+1 < len(steps) {
			x.openStep(q, s, i+1)
			x.chooseStep(q, s, i+1)
			x.fetchHeads(q, s, l.in, i+2)
			x.fetchPieces(q, s, i+1)
		}
		if i > 0 {
			q.After(l.compute, l.thirds[steps[i-1].third].scored) // the same memory
			x.flattenStep(q, s, i)
		}
		x.scoreStep(q, s, i)
	}
	q.After(l.compute, l.thirds[steps[len(steps)-1].third].scored)
	if w := &x.windows; len(s.batch.windowed.taken) > 0 || s.batch.windowed.parted.stays || w.residents.flush {
		q.After(l.in, l.firstHeads)
		q.Record(w.stay, l.in)
		w.residents.flush = false
	}
	l.turn += len(steps)
}

// fetchHeads copies the first parts of records of step i, if there is one. Those of a batch's first
// step do not wait for the last blocks of the previous batch. So the first step's own blocks are
// chosen by the time that those blocks have been copied. Every batch uses the same stream for the
// records of a step that are to stay.
func (x *Executor) fetchHeads(q *device.Queue, s *slot, stream device.Stream, i int) {
	if i >= len(s.batch.windowed.steps) {
		return
	}
	t := &s.batch.windowed.steps[i]
	h := &s.batch.windowed.track.thirds[t.third]
	q.After(stream, h.scored) // the previous step in this memory
	x.launchWindow(q, s, stream, "fetch_rows", t, t.fetchUnits)
	q.Record(x.heads(s, i), stream)
}

// heads is recorded when the first parts of records of step i have been copied.
func (x *Executor) heads(s *slot, i int) device.Event {
	if i == 0 {
		return s.batch.windowed.track.firstHeads
	}
	return s.batch.windowed.track.thirds[s.batch.windowed.steps[i].third].heads
}

// openStep prepares the choice of blocks.
func (x *Executor) openStep(q *device.Queue, s *slot, i int) {
	l, t := s.batch.windowed.track, &s.batch.windowed.steps[i]
	h := &l.thirds[t.third]
	q.After(l.plan, x.heads(s, i))
	q.Move(l.plan, s.part(s.batch.windowed.scenes[t.third].span), s.part(t.scene))
	q.Fill(l.plan, device.Memory{Address: h.address, Bytes: int64(t.marks)}, 0)
	x.launchWindow(q, s, l.plan, "open_slices", t, (t.slices+7)/8)
	q.Record(h.opened, l.plan)
}

// chooseFirst determines which blocks of the first step matter, and queues its seeds. Its
// thresholds are only those known from lists, so it may include tiles that later thresholds
// exclude. It runs concurrently with the scoring of the previous batch.
func (x *Executor) chooseFirst(q *device.Queue, s *slot) {
	b, plan := &s.batch, s.batch.windowed.track.plan
	t := &b.windowed.steps[0]
	b.passes = t.passes
	for _, seeds := range b.modes() {
		x.launchOn(q, s, plan, "bound_tiles", seeds, (int(b.work.tilesMost)*int(b.common.partCount)+255)/256)
		x.launchOn(q, s, plan, "queue_seeds", seeds, (seedTiles*len(b.queries)+7)/8)
	}
	x.choose(q, s, plan, t)
	q.Record(b.windowed.track.first, plan)
}

// chooseStep determines which blocks of a later step matter, by the current thresholds. It runs
// before the previous step is scored, and not concurrently: scoring kernels leave no room for
// others. The choosing kernels would wait for them to end one after the other, and so would the
// blocks they choose.
func (x *Executor) chooseStep(q *device.Queue, s *slot, i int) {
	b := &s.batch
	t := &b.windowed.steps[i]
	b.passes = t.passes
	l := b.windowed.track
	q.After(l.compute, l.thirds[t.third].opened)
	x.choose(q, s, l.compute, t)
	q.Record(l.thirds[t.third].chosen, l.compute)
}

// chosen is recorded when the blocks of step i that matter are known.
func (x *Executor) chosen(s *slot, i int) device.Event {
	if i == 0 {
		return s.batch.windowed.track.first
	}
	return s.batch.windowed.track.thirds[s.batch.windowed.steps[i].third].chosen
}

// choose queues tiles by bounds, which marks their strips, and chooses the blocks that touch these.
func (x *Executor) choose(q *device.Queue, s *slot, stream device.Stream, t *step) {
	for _, seeds := range s.batch.modes() {
		x.launchOn(q, s, stream, "queue_and_mark", seeds+1, math.MaxInt)
	}
	x.launchWindow(q, s, stream, "choose_blocks", t, (t.units+31)/32)
}

// modes returns the seed passes of the modes that plans have.
func (b *batch) modes() (seeds []int) {
	if b.work.and.strips > 0 {
		seeds = append(seeds, andSeeds)
	}
	if b.work.or.strips+b.work.or.trees > 0 {
		seeds = append(seeds, orSeeds)
	}
	return seeds
}

// fetchPieces copies the blocks that matter.
func (x *Executor) fetchPieces(q *device.Queue, s *slot, i int) {
	l, t := s.batch.windowed.track, &s.batch.windowed.steps[i]
	if t.pieces {
		q.After(l.in, x.chosen(s, i))
		x.launchWindow(q, s, l.in, "fetch_pieces", t, t.units)
	}
	q.Record(l.thirds[t.third].fetched, l.in)
}

// flattenStep makes the blocks of a step flat.
func (x *Executor) flattenStep(q *device.Queue, s *slot, i int) {
	l, t := s.batch.windowed.track, &s.batch.windowed.steps[i]
	q.After(l.compute, x.chosen(s, i))
	q.After(l.compute, l.thirds[t.third].fetched)
	x.launchWindow(q, s, l.compute, "flatten_slices", t, (t.units+3)/4)
}

// scoreSeeds scores the seeds of the first step, so that their thresholds apply to the choice of
// blocks of the second. Without bounds a seed goes as a whole here. It has no threshold, so all
// documents are candidates, and it is or_flat's.
func (x *Executor) scoreSeeds(q *device.Queue, s *slot) {
	b, l := &s.batch, s.batch.windowed.track
	b.passes = b.windowed.steps[0].passes
	for _, seeds := range b.modes() {
		x.scoreQueues(q, s, seeds, seedTiles*len(b.queries))
		if blocks := min(seedTiles*len(b.queries), int(b.tilesOf(seeds).strips)); blocks > 0 && seeds == orSeeds {
			x.launchOn(q, s, l.compute, "or_flat", seeds, blocks)
		}
	}
}

// scoreStep scores a step. The first one was queued almost without thresholds, so its tiles are
// queued again. Few tiles go as a whole, and they keep few multiprocessors busy: so choosing blocks
// need not wait for them.
func (x *Executor) scoreStep(q *device.Queue, s *slot, i int) {
	b, l := &s.batch, s.batch.windowed.track
	t := &b.windowed.steps[i]
	h := &l.thirds[t.third]
	b.passes = t.passes
	if i == 0 {
		from, to := int64(b.windowed.queues[0]), int64(b.windowed.queues[1])
		q.Move(l.compute, s.part(b.windowed.scenes[t.third].span).Slice(from, to), s.part(t.scene).Slice(from, to))
		for _, seeds := range b.modes() {
			x.launchOn(q, s, l.compute, "queue_and_mark", seeds+1, math.MaxInt)
		}
	}
	for _, seeds := range b.modes() {
		x.scoreQueues(q, s, seeds+1, math.MaxInt)
	}
	if b.work.or.strips == 0 {
		q.Record(h.scored, l.compute)
		return
	}
	q.Record(h.strips, l.compute)
	q.After(l.whole, h.strips)
	x.launchOn(q, s, l.whole, b.wholeTiles(), orRest, int(b.work.or.strips))
	q.Record(h.scored, l.whole)
}

// scoreQueues launches the kernels for tiles of a pass that go by strips, each for at most most tiles.
func (x *Executor) scoreQueues(q *device.Queue, s *slot, pass, most int) {
	b, compute := &s.batch, s.batch.windowed.track.compute
	tiles := b.tilesOf(pass)
	if tiles.strips > 0 {
		x.scoreStrips(q, s, compute, pass, min(most, int(tiles.strips)))
	}
	if tiles.trees > 0 {
		x.launchOn(q, s, compute, "tree_strips", pass, min(most, int(tiles.trees)))
	}
}

// tilesOf returns the most tiles of a pass.
func (b *batch) tilesOf(pass int) tileCounts {
	if pass == andSeeds || pass == andRest {
		return b.work.and
	}
	return b.work.or
}

// readThreads are the threads of a block that reads the host's memory. Beside such a block, the
// kernels that take the most registers have besideThreads, 7 warps, so that both fit.
const readThreads, besideThreads = 64, 224

// streamShared is the shared part of a multiprocessor's combined cache and shared memory, in per
// cent, for all kernels: two blocks of or_flat of an H200. If each kernel had what it needs,
// scoring kernels would wait on multiprocessors where others read, until these have ended.
const streamShared = 72

// launchWindow runs a kernel on a step.
func (x *Executor) launchWindow(q *device.Queue, s *slot, stream device.Stream, name string, t *step, blocks int) {
	k := x.kernels[name]
	shared := k.shared(&s.batch)
	if k.asked != shared {
		k.asked, k.atOnce = shared, max(1, q.Occupancy(k.Kernel, k.threads, shared))
	}
	most := x.shape.Multiprocessors * k.atOnce
	if k.threads == readThreads {
		most = (x.shape.Multiprocessors*x.shape.Readers + 99) / 100
	}
	s.trace.around(q, stream, name, func() {
		q.Launch(stream, k.Kernel, device.Grid{Blocks: min(blocks, most), Threads: k.threads, Shared: shared}, s.part(t.window))
	})
}
