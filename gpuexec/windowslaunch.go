package gpuexec

import (
	"math"

	"github.com/riffle-search/riffle/gpuexec/device"
)

// startWindows copies a batch to the device and has its states be as they are at first, on the stream that plans.
func (x *Executor) startWindows(q *device.Queue, s *slot) {
	b, w := &s.batch, &x.windows
	if w.residents.flush && w.begun {
		q.After(w.up, w.ready)
	}
	w.residents.flush = false
	filled := int64(b.staging.used)
	q.ToDevice(w.up, s.memory.Slice(0, filled), s.staging.Slice(0, filled)) // not behind the last blocks of the batch before
	q.Record(s.filled, w.up)
	q.After(x.in, s.filled)
	q.After(w.plan, s.filled)
	q.Record(s.began, w.plan)
	if b.common.moveCount > 0 {
		if w.begun {
			q.After(w.plan, w.ready) // it may read columns that are given up
		}
		x.launchOn(q, s, w.plan, "scatter", andSeeds, int(b.common.moveCount+7)/8)
	}
	q.Move(w.plan, s.part(span{b.results.states, b.states.bytes}), s.part(b.states))
	q.Fill(w.plan, s.part(span{b.results.unresolvedCount, rowBytes}), 0)
	q.Fill(w.plan, s.part(b.windowed.empty), 0)
	q.Fill(w.plan, s.part(b.windowed.bounds[1]), 0xfe) // those of strips do: thresholds are good behind the first window
	for _, seeds := range b.windowed.seeds {
		q.Fill(w.plan, s.part(seeds[andSeeds]), 0)
		q.Fill(w.plan, s.part(seeds[orSeeds]), 0)
	}
}

// launchWindows puts the kernels of a batch that goes by windows on the streams. Blocks of a window are chosen just before the window before it is
// scored, and come meanwhile.
func (x *Executor) launchWindows(q *device.Queue, s *slot) {
	steps := s.batch.windowed.steps
	x.fetchHeads(q, s, x.windows.up, 0)
	x.openStep(q, s, 0)
	x.chooseFirst(q, s)
	x.fetchPieces(q, s, 0)
	x.fetchHeads(q, s, x.in, 1)
	for i := range steps {
		if i == 0 {
			x.flattenStep(q, s, i)
			x.scoreSeeds(q, s)
		}
		if i+1 < len(steps) {
			x.openStep(q, s, i+1)
			x.chooseStep(q, s, i+1)
			x.fetchHeads(q, s, x.in, i+2)
			x.fetchPieces(q, s, i+1)
		}
		if i > 0 {
			x.flattenStep(q, s, i)
		}
		x.scoreStep(q, s, i)
	}
	x.windows.turn += len(steps)
}

// fetchHeads has the first parts of records come, if there is such a window. Those of a batch's first window do not wait for the last blocks of the batch before, so
// that its own are chosen by the time when these have come. Records of a window that are to stay are brought on the same stream by each batch.
func (x *Executor) fetchHeads(q *device.Queue, s *slot, stream device.Stream, i int) {
	if i >= len(s.batch.windowed.steps) {
		return
	}
	t := &s.batch.windowed.steps[i]
	h := &x.windows.thirds[t.third]
	q.After(stream, h.scored) // of the window that had this memory
	x.launchWindow(q, s, stream, "fetch_rows", t, t.fetchUnits)
	q.Record(x.heads(s, i), stream)
}

// heads is when the first parts of records of a window are there.
func (x *Executor) heads(s *slot, i int) device.Event {
	if i == 0 {
		return x.windows.firstHeads
	}
	return x.windows.thirds[s.batch.windowed.steps[i].third].heads
}

// openStep makes ready what blocks are chosen by.
func (x *Executor) openStep(q *device.Queue, s *slot, i int) {
	w, t := &x.windows, &s.batch.windowed.steps[i]
	h := &w.thirds[t.third]
	q.After(w.plan, x.heads(s, i))
	q.Move(w.plan, s.part(s.batch.windowed.scenes[t.third].span), s.part(t.scene))
	q.Fill(w.plan, device.Memory{Address: h.address, Bytes: int64(t.marks)}, 0)
	x.launchWindow(q, s, w.plan, "open_slices", t, (t.slices+7)/8)
	q.Record(h.opened, w.plan)
}

// chooseFirst finds out which blocks of the first window matter, and queues its seeds. Thresholds are only what is known of lists; so may tiles be looked at
// that thresholds leave. It goes beside the scores of the batch before.
func (x *Executor) chooseFirst(q *device.Queue, s *slot) {
	b, plan := &s.batch, x.windows.plan
	t := &b.windowed.steps[0]
	b.passes = t.passes
	for _, seeds := range b.modes() {
		x.launchOn(q, s, plan, "bound_tiles", seeds, (int(b.work.tilesMost)*len(b.parts)+255)/256)
		x.launchOn(q, s, plan, "queue_seeds", seeds, (seedTiles*len(b.queries)+7)/8)
	}
	x.choose(q, s, plan, t)
	q.Record(x.windows.first, plan)
}

// chooseStep finds out which blocks of another window matter, by the thresholds so far. It goes before the scores of the window before, and not beside
// them: kernels that score leave no room for others, so that these would wait for one after the other to end, and so would what they choose.
func (x *Executor) chooseStep(q *device.Queue, s *slot, i int) {
	b := &s.batch
	t := &b.windowed.steps[i]
	b.passes = t.passes
	q.After(x.compute, x.windows.thirds[t.third].opened)
	x.choose(q, s, x.compute, t)
	q.Record(x.windows.thirds[t.third].chosen, x.compute)
}

// chosen is when it is known which blocks of a window matter.
func (x *Executor) chosen(s *slot, i int) device.Event {
	if i == 0 {
		return x.windows.first
	}
	return x.windows.thirds[s.batch.windowed.steps[i].third].chosen
}

// choose queues tiles by bounds, which marks their strips, and chooses the blocks that touch these.
func (x *Executor) choose(q *device.Queue, s *slot, stream device.Stream, t *step) {
	for _, seeds := range s.batch.modes() {
		x.launchOn(q, s, stream, "queue_and_mark", seeds+1, math.MaxInt)
	}
	x.launchWindow(q, s, stream, "choose_blocks", t, (t.units+31)/32)
}

// modes are the passes for seeds of those modes that plans have.
func (b *batch) modes() (seeds []int) {
	if b.work.and.strips > 0 {
		seeds = append(seeds, andSeeds)
	}
	if b.work.or.strips > 0 {
		seeds = append(seeds, orSeeds)
	}
	return seeds
}

// fetchPieces has the blocks come that matter.
func (x *Executor) fetchPieces(q *device.Queue, s *slot, i int) {
	t := &s.batch.windowed.steps[i]
	h := &x.windows.thirds[t.third]
	if t.pieces {
		q.After(x.in, x.chosen(s, i))
		x.launchWindow(q, s, x.in, "fetch_pieces", t, t.units)
	}
	q.Record(h.fetched, x.in)
}

// flattenStep makes the blocks of a window flat.
func (x *Executor) flattenStep(q *device.Queue, s *slot, i int) {
	t := &s.batch.windowed.steps[i]
	h := &x.windows.thirds[t.third]
	q.After(x.compute, x.chosen(s, i))
	q.After(x.compute, h.fetched)
	x.launchWindow(q, s, x.compute, "flatten_slices", t, (t.units+3)/4)
	x.launchWindow(q, s, x.compute, "bound_slices", t, (t.shares+7)/8)
}

// scoreSeeds scores those of the first window, so that blocks of the second are chosen by what they give.
func (x *Executor) scoreSeeds(q *device.Queue, s *slot) {
	b := &s.batch
	b.passes = b.windowed.steps[0].passes
	for _, seeds := range b.modes() {
		x.score(q, s, "", seeds, b.tilesOf(seeds), seedTiles*len(b.queries))
	}
}

// scoreStep scores a window. What was queued of the first was so without a threshold to speak of: it is queued anew.
func (x *Executor) scoreStep(q *device.Queue, s *slot, i int) {
	b := &s.batch
	t := &b.windowed.steps[i]
	b.passes = t.passes
	if i == 0 {
		from, to := int64(b.windowed.queues[0]), int64(b.windowed.queues[1])
		q.Move(x.compute, s.part(b.windowed.scenes[t.third].span).Slice(from, to), s.part(t.scene).Slice(from, to))
		for _, seeds := range b.modes() {
			x.launch(q, s, "queue_and_mark", seeds+1, math.MaxInt)
		}
	}
	for _, seeds := range b.modes() {
		x.score(q, s, "", seeds+1, b.tilesOf(seeds), math.MaxInt)
	}
	q.Record(x.windows.thirds[t.third].scored, x.compute)
}

// tilesOf are the tiles that a pass has at most.
func (b *batch) tilesOf(pass int) tileCounts {
	if pass == andSeeds || pass == andRest {
		return b.work.and
	}
	return b.work.or
}

// readThreads are the threads of a block that reads the host's memory. With 7 warps in a block of those kernels that take most registers there is room for it
// beside them. There is such a block on one multiprocessor in readEach: of more that is on its way at a time, nothing comes sooner, and what else goes over the
// link waits, commands of the driver too.
const readThreads, besideThreads, readEach = 64, 224, 2

// streamShared is how much of the memory of a multiprocessor that can be shared is so, in per cent, whatever kernel runs: two blocks of or_flat of an H200. If each
// kernel had what it needs, those that score would wait where others read until these have ended.
const streamShared = 72

// launchWindow runs a kernel on a window.
func (x *Executor) launchWindow(q *device.Queue, s *slot, stream device.Stream, name string, t *step, blocks int) {
	k := x.kernels[name]
	shared := k.shared(&s.batch)
	if k.asked != shared {
		k.asked, k.atOnce = shared, max(1, q.Occupancy(k.Kernel, k.threads, shared))
	}
	most := x.shape.Multiprocessors * k.atOnce
	if k.threads == readThreads {
		most = (x.shape.Multiprocessors + readEach - 1) / readEach
	}
	s.trace.around(q, stream, name, func() {
		q.Launch(stream, k.Kernel, device.Grid{Blocks: min(blocks, most), Threads: k.threads, Shared: shared}, s.part(t.window))
	})
}
