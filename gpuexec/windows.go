package gpuexec

import (
	"unsafe"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/device"
)

// windows are how batches are answered whose lists are more than the device has room for (Options.Stream). A batch goes through the documents
// window by window: WindowTiles tiles of each segment at a time. Records of lists (records.go) come from the host's memory by a kernel that
// reads it, those of the next window during this one; blocks that can matter, by the bounds of strips and the threshold so far, are
// made flat in memory that all windows share; and the kernels for flat lists do the rest, to which a window is a segment of its own. So the host gathers
// nothing, and neither does it decide anything.
type windows struct {
	bytes   int64  // of all, but for residents
	address uint64 // of what is made flat
	rows    uint32
	halves  [2]half // by turns
	turn    int
	ready   device.Event // of the batch before
	begun   bool         // there is one

	residents residents
	records   records
}

// A half is memory for the records of a window on their way.
type half struct {
	address uint64
	rows    uint32
	fetched device.Event // they are there
	flat    device.Event // what can matter of them has been made flat
}

// windowsShare is what part of the memory of windows each half has for records. What is made flat takes several times as much, since every posting has a place,
// whether it can matter or not.
const windowsShare = 8

// divideWindows sets the defaults of streaming, and how much memory windows get.
func (x *Executor) divideWindows() {
	o := &x.options
	o.FlatBytes, o.NoFlat, o.NoCache = 0, true, true
	if o.WindowBytes == 0 {
		o.WindowBytes = min(3<<29, x.memory.Bytes/4)
	}
	if o.HostBytes == 0 {
		o.HostBytes = 32 << 30
	}
	x.windows.bytes = o.WindowBytes &^ (windowsShare*device.ArenaAlign - 1)
	x.windows.records.dev, x.windows.records.bytes = x.dev, o.HostBytes
	x.windows.residents.static = o.StaticLists
	x.windows.residents.closed = o.StaticLists
}

// place gives windows their memory, from an address on: so many bytes, and behind them those of records that stay.
func (w *windows) place(address uint64, bytes, stay int64) {
	each := bytes / windowsShare
	for i := range w.halves {
		w.halves[i].address, w.halves[i].rows = address, uint32(each/rowBytes)
		address += uint64(each)
	}
	rest := bytes - int64(len(w.halves))*each
	w.address, w.rows = address, uint32(rest/rowBytes)
	w.residents.address, w.residents.rows = address+uint64(rest), uint64(stay/rowBytes)
	w.residents.generation = 1
}

// windowDocs is how many documents of a segment a window has.
func (s Shape) windowDocs() uint32 { return uint32(s.WindowTiles) << s.TileShift }

// windowTiles is how many tiles window i of so many documents has.
func (s Shape) windowTiles(docs uint32, i int) uint32 {
	return min(uint32(s.WindowTiles), s.tiles(docs)-uint32(i*s.WindowTiles))
}

// windowsOf is how many windows so many documents have.
func (s Shape) windowsOf(docs uint32) int {
	return (int(s.tiles(docs)) + s.WindowTiles - 1) / s.WindowTiles
}

// streams reports whether a plan goes by windows.
func (x *Executor) streams(p *Plan) bool {
	return x.options.Stream && p.Mode != blockmax.AndOr && len(p.Weights) <= maxStripTerms
}

// A windowed batch is what a batch has beside, when it goes by windows.
type windowed struct {
	windows *windows
	count   int
	lists   []*keptList // of the entries
	taken   []takenRecord
	wanted  int64 // bytes of records
	fetched int64 // of these, bytes that were not on the device

	scene  span            // the lists, parts, queues and counters of the window at hand
	queues span            // within scene, the queues of all passes
	empty  span            // what lists without postings have
	marks  span            // of the lists of the window at hand
	steps  []step          // for each window
	passes [passes]queueAt // where the queues of passes are
	items  [passes]itemsAt // and their items, which windows share
}

// itemsAt are addresses.
type itemsAt struct{ strips, flat uint64 }

// A queueAt is where the queues of a pass lie in a scene, from its beginning.
type queueAt struct{ tiles, strips, flat int }

// A step is a window of a batch.
type step struct {
	window     span // a devWindow
	scene      span // to be copied
	marks      int  // bytes
	slices     int
	units      int
	shares     int
	fetchUnits int
	half       int
}

const (
	listBytes = int(unsafe.Sizeof(devList{}))
	partBytes = int(unsafe.Sizeof(devPart{}))
)

// fillWindows is fill and place of a batch that goes by windows.
func (b *batch) fillWindows() (ok bool) {
	b.columns.begin()
	b.taken = b.taken[:0]
	w := &b.windowed
	w.taken, w.steps, w.items = w.taken[:0], w.steps[:0], [passes]itemsAt{}
	w.wanted, w.fetched = 0, 0
	defer func() {
		if !ok {
			w.windows.residents.undo(w.taken)
			for _, key := range b.taken {
				b.columns.forget(key)
			}
		}
	}()
	if !b.findRecords() {
		return false
	}
	b.tileRoom, b.poolRoom = 2*b.kMost+max(poolSlack, leastRoom), b.poolRoomFor(b.kMost)
	b.results = b.keepResults()
	b.countTiles()
	b.layScene()
	s := &b.staging
	queries := b.putQueries(w.scene.address + uint64(listBytes*len(b.lists.entries)))
	terms, at := put[devTerm](s, len(b.terms))
	for i, t := range b.terms {
		terms[i] = devTerm{list: w.scene.address + uint64(int(t.entry)*listBytes), weight: t.weight}
	}
	b.common = devBatch{
		queries: queries, queryCount: uint32(len(b.queries)), parts: w.scene.address + uint64(listBytes*len(b.lists.entries)), partCount: uint32(len(b.parts)),
		states: b.results.states, unresolvedCount: b.results.unresolvedCount, unresolved: b.results.unresolved,
		unresolvedRoom: uint32(b.results.unresolvedRoom), tilesMost: b.tilesMost,
		tileShift: b.shape.TileShift, tileRoom: uint32(b.tileRoom), poolRoom: uint32(b.poolRoom), laneRoom: uint32(b.lanes), heapRoom: uint32(b.kMost), rows: b.arena,
	}
	b.tileBounds = span{s.keep(4 * int(b.tiles)), 4 * int(b.tiles)}
	b.common.tileBounds = b.tileBounds.address
	b.fillWindowPasses()
	for i := range w.count {
		if s.full || !b.fillStep(i, at) {
			return false
		}
	}
	moves := putAll(s, b.moves)
	for pass := range b.passes {
		d := view[devBatch](s.host[b.passes[pass]-s.address:])
		d.moves, d.moveCount = moves, uint32(len(b.moves))
	}
	b.common.moveCount = uint32(len(b.moves))
	return !s.full && b.results.bytes <= b.resultRoom && uint64(b.tilesMost)*uint64(len(b.parts)) < 1<<31
}

// findRecords finds the records of all lists. It reports false when one is damaged, or has no room.
func (b *batch) findRecords() bool {
	w := &b.windowed
	w.lists, w.count = w.lists[:0], 0
	for i := range b.lists.entries {
		e := &b.lists.entries[i]
		kept := e.kept
		if kept == nil {
			if kept = b.putRecords(e); kept == nil || b.staging.full {
				return false
			}
		}
		w.lists = append(w.lists, kept)
		w.count = max(w.count, len(kept.windows))
	}
	return true
}

// countTiles counts the tiles of the first window, which has as many of each part as any other.
func (b *batch) countTiles() {
	for i := range b.parts {
		pt := &b.parts[i]
		q := &b.queries[pt.query]
		q.byStrips = true
		tiles := b.shape.windowTiles(q.plan.Segments[pt.segment].Docs, 0)
		b.tiles += tiles
		b.tilesMost = max(b.tilesMost, tiles)
		if pt.way == byOrTiles {
			b.orTiles.add(true, tiles)
		} else {
			pt.way = byAndTiles
			b.andTiles.add(true, tiles)
		}
	}
}

// layScene says where the parts of a scene are.
func (b *batch) layScene() {
	w := &b.windowed
	at := wholeRows(listBytes*len(b.lists.entries) + partBytes*len(b.parts))
	w.queues = span{uint64(at), 0}
	for pass := range w.passes {
		w.passes[pass] = queueAt{at, at + queueBytes, at + 2*queueBytes}
		at += wholeRows(3 * queueBytes)
	}
	w.queues.bytes = at - int(w.queues.address)
	w.scene = span{b.staging.keep(at), at}
	w.queues.address += w.scene.address
	strips := int(b.tilesMost) * tileStrips
	w.empty.bytes = wholeRows(max(4*(strips+1), strips+stripCells*strips))
	w.empty.address = b.staging.keep(w.empty.bytes)
}

const queueBytes = int(unsafe.Sizeof(devQueue{}))

// fillWindowPasses writes a devBatch for each pass, and keeps memory for the items of queues, which windows share.
func (b *batch) fillWindowPasses() {
	s, w := &b.staging, &b.windowed
	for pass := range passes {
		and := pass == andSeeds || pass == andRest
		seeds := pass == andSeeds || pass == orSeeds
		c := b.common
		if and {
			c.andPass = 1
		}
		at := w.passes[pass]
		c.queue, c.stripQueue, c.flatQueue = w.scene.address+uint64(at.tiles), w.scene.address+uint64(at.strips), w.scene.address+uint64(at.flat)
		_, c.counters = put[uint32](s, 4)
		if seeds {
			b.seeds[pass] = span{bytes: wholeRows(8 * seedTiles * len(b.queries))}
			b.seeds[pass].address = s.keep(b.seeds[pass].bytes)
			b.common.seeds = b.seeds[pass].address
			c.seeds = b.common.seeds
		}
		devices, address := put[devBatch](s, 1)
		devices[0] = c
		b.passes[pass] = address
	}
}

// fillStep writes window i: its scene, and what is made flat for it. It reports false when there is not enough room.
func (b *batch) fillStep(i int, terms uint64) bool {
	s, w := &b.staging, &b.windowed
	scene, sceneAt := put[[rowBytes]byte](s, (w.scene.bytes+rowBytes-1)/rowBytes)
	if s.full {
		return false
	}
	memory := unsafe.Slice((*byte)(unsafe.Pointer(&scene[0])), w.scene.bytes)
	lists := unsafe.Slice((*devList)(unsafe.Pointer(&scene[0])), len(b.lists.entries))
	step := step{scene: span{sceneAt, w.scene.bytes}, half: (w.windows.turn + i) % len(w.windows.halves)}
	slices, slicesAt := put[devSlice](s, len(lists))
	fetches, fetchesAt := put[devFetch](s, len(lists))
	if s.full {
		return false
	}
	half := &w.windows.halves[step.half]
	room := transient{flat: w.windows.address, flatEnd: w.windows.address + uint64(w.windows.rows)*rowBytes, record: half.address, recordEnd: half.address + uint64(half.rows)*rowBytes}
	if !room.takeMarks(b, i, &step) {
		return false
	}
	w.marks = span{w.windows.address, max(w.marks.bytes, step.marks)}
	marks, fetchCount := w.windows.address, 0
	for n := range lists {
		kept := w.lists[n]
		if i >= len(kept.windows) || kept.windows[i].rows == 0 {
			lists[n] = b.emptyList()
			continue
		}
		r, e := &kept.windows[i], &b.lists.entries[n]
		tiles := b.shape.windowTiles(e.docs, i)
		l := b.shape.flatLayout(r.blocks*r.blockSize, tiles)
		flat, ok := room.takeFlat(l.rows)
		if !ok {
			return false
		}
		at, copied, ok := b.bring(e, r, &room)
		if !ok {
			return false
		}
		if copied {
			fetches[fetchCount] = devFetch{from: r.address, to: at, rows: r.rows, firstUnit: uint32(step.fetchUnits)}
			step.fetchUnits += int(r.rows+fetchUnit-1) / fetchUnit
			fetchCount++
		}
		d := &slices[step.slices]
		*d = devSlice{
			record: at, table: b.table(e.term, e.docs), norms: b.norms(e.term, e.docs), marks: marks, flat: flat, first: flat + l.first, bound: flat + l.bound,
			blocks: r.blocks, blockSize: r.blockSize, lastSize: r.lastSize, from: uint32(i) * b.shape.windowDocs(), tiles: tiles, shift: l.shift, entries: l.entries,
			firstUnit: uint32(step.units), firstShare: uint32(step.shares),
		}
		lists[n] = devList{flat: flat, flatFirst: d.first, flatBound: d.bound, flatShift: l.shift, tileFirst: marks, tiles: tiles}
		step.slices++
		step.units += int(r.blocks+sliceUnit-1) / sliceUnit
		step.shares += int(l.entries+boundShare-1) / boundShare
		marks += uint64(wholeRows(4 * int(tiles)))
	}
	b.fillSceneParts(i, unsafe.Slice((*devPart)(unsafe.Pointer(&memory[listBytes*len(lists)])), len(b.parts)), terms)
	b.fillSceneQueues(memory)
	_, counters := put[uint32](s, 4)
	devices, address := put[devWindow](s, 1)
	devices[0] = devWindow{
		slices: slicesAt, fetches: fetchesAt, counters: counters, sliceCount: uint32(step.slices), units: uint32(step.units), shares: uint32(step.shares),
		fetchCount: uint32(fetchCount), fetchUnits: uint32(step.fetchUnits), tileShift: b.shape.TileShift,
	}
	step.window = span{address, int(unsafe.Sizeof(devWindow{}))}
	w.steps = append(w.steps, step)
	return true
}

// emptyList is a list without a posting in the window.
func (b *batch) emptyList() devList {
	at := b.windowed.empty.address
	return devList{flat: at, flatFirst: at, flatBound: at, flatShift: b.shape.TileShift - 5}
}

// A transient is the memory of a window that is left.
type transient struct{ flat, flatEnd, record, recordEnd uint64 }

// takeMarks takes memory for the marks of all lists, which lies first.
func (t *transient) takeMarks(b *batch, window int, s *step) bool {
	for n, kept := range b.windowed.lists {
		if window < len(kept.windows) && kept.windows[window].rows > 0 {
			s.marks += wholeRows(4 * int(b.shape.windowTiles(b.lists.entries[n].docs, window)))
		}
	}
	t.flat += uint64(s.marks)
	return t.flat <= t.flatEnd
}

func (t *transient) takeFlat(rows uint32) (address uint64, ok bool) {
	address = t.flat
	t.flat += uint64(rows) * rowBytes
	return address, t.flat <= t.flatEnd
}

// bring says where a record is on the device, and whether it has to be copied there.
func (b *batch) bring(e *listEntry, r *record, room *transient) (address uint64, copied, ok bool) {
	w := &b.windowed
	if e.kept == nil {
		return r.address, false, true
	}
	w.wanted += int64(r.rows) * rowBytes
	if w.windows.residents.has(r) {
		return r.place, false, true
	}
	w.fetched += int64(r.rows) * rowBytes
	if w.windows.residents.take(e.known, r) {
		w.taken = append(w.taken, takenRecord{e.known, r})
		return r.place, true, true
	}
	address = room.record
	room.record += uint64(r.rows) * rowBytes
	return address, true, room.record <= room.recordEnd
}

// fillSceneParts writes the parts of a window, which is a segment to kernels.
func (b *batch) fillSceneParts(window int, parts []devPart, terms uint64) {
	from, firstTile := uint32(window)*b.shape.windowDocs(), uint32(0)
	for i := range parts {
		pt := &b.parts[i]
		p := b.queries[pt.query].plan
		seg := &p.Segments[pt.segment]
		d := &parts[i]
		*d = devPart{
			terms: terms + uint64(pt.from)*uint64(unsafe.Sizeof(devTerm{})), termCount: uint32(pt.to - pt.from), query: uint32(pt.query),
			segment: uint32(pt.segment), base: seg.Base + from, way: pt.way, firstTile: firstTile,
		}
		if from >= seg.Docs {
			continue
		}
		d.docs = min(seg.Docs-from, b.shape.windowDocs())
		d.tiles = b.shape.tiles(d.docs)
		firstTile += d.tiles
		if seg.Accept != nil {
			d.accept = column(b, seg.Accept) + uint64(from)/8
		}
		if seg.Rank != nil && p.RankWeight > 0 {
			d.rank, d.rankTile = column(b, seg.Rank)+2*uint64(from), column(b, seg.RankTile)+2*uint64(from/blockmax.TileDocs)
		}
		if seg.Tail != nil && b.algorithm.prunes() {
			d.tail = column(b, seg.Tail) + 4*uint64(from/blockmax.TileDocs)
		}
	}
}

// fillSceneQueues writes empty queues.
func (b *batch) fillSceneQueues(scene []byte) {
	w := &b.windowed
	for pass, at := range w.passes {
		items := b.orTiles
		if pass == andSeeds || pass == andRest {
			items = b.andTiles
		}
		if w.items[pass] == (itemsAt{}) {
			most := int(items.strips)
			if pass == andSeeds || pass == orSeeds {
				most = min(most, seedTiles*len(b.queries))
			}
			w.items[pass] = itemsAt{b.staging.keep(itemBytes * most), b.staging.keep(itemBytes * most)}
		}
		view[devQueue](scene[at.strips:]).items = w.items[pass].strips
		view[devQueue](scene[at.flat:]).items = w.items[pass].flat
	}
}

const itemBytes = int(unsafe.Sizeof(devItem{}))

// launchWindows puts the kernels of a batch that goes by windows on the streams, and the copies that they wait for.
func (x *Executor) launchWindows(q *device.Queue, s *slot) {
	b, w := &s.batch, &x.windows
	q.Fill(x.compute, s.part(b.windowed.empty), 0)
	if w.residents.flush && w.begun {
		q.After(x.in, w.ready)
	}
	w.residents.flush = false
	for i := range b.windowed.steps {
		x.fetch(q, s, &b.windowed.steps[i])
		x.launchStep(q, s, i)
	}
	w.turn += len(b.windowed.steps)
}

// fetch has records come.
func (x *Executor) fetch(q *device.Queue, s *slot, t *step) {
	if t.fetchUnits == 0 {
		return
	}
	h := &x.windows.halves[t.half]
	q.After(x.in, h.flat)
	x.launchWindow(q, s, x.in, "fetch_rows", t, t.fetchUnits)
	q.Record(h.fetched, x.in)
	q.After(x.compute, h.fetched)
}

// launchStep has a window looked through. The first is looked at for seeds, and so may tiles be that thresholds without them would leave: those have their
// strips marked for both.
func (x *Executor) launchStep(q *device.Queue, s *slot, i int) {
	b := &s.batch
	t := &b.windowed.steps[i]
	q.Move(x.compute, s.part(b.windowed.scene), s.part(t.scene))
	q.Fill(x.compute, device.Memory{Address: x.windows.address, Bytes: int64(t.marks)}, 0)
	x.launchWindow(q, s, x.compute, "open_slices", t, (t.slices+7)/8)
	modes := []int{}
	if b.andTiles.strips > 0 {
		modes = append(modes, andSeeds)
	}
	if b.orTiles.strips > 0 {
		modes = append(modes, orSeeds)
	}
	threads := (int(b.tilesMost)*len(b.parts) + 255) / 256
	if i > 0 {
		q.Fill(x.compute, s.part(b.tileBounds), 0xfe) // no bounds of tiles but of strips: thresholds are good by now
	}
	for _, seeds := range modes {
		q.Fill(x.compute, s.part(b.seeds[seeds]), 0)
		if i == 0 {
			x.launch(q, s, "bound_tiles", seeds, threads)
			x.launch(q, s, "queue_seeds", seeds, (seedTiles*len(b.queries)+7)/8)
			x.launch(q, s, "mark", seeds, (seedTiles*len(b.queries)+255)/256)
		}
		x.launch(q, s, "queue_tiles", seeds+1, threads)
		x.launch(q, s, "mark", seeds+1, threads)
	}
	x.launchWindow(q, s, x.compute, "flatten_slices", t, (t.units+15)/16)
	q.Record(x.windows.halves[t.half].flat, x.compute)
	x.launchWindow(q, s, x.compute, "bound_slices", t, (t.shares+7)/8)
	if i == 0 {
		for _, seeds := range modes {
			x.scoreWindow(q, s, seeds, seedTiles*len(b.queries))
		}
		at := int64(b.windowed.queues.address - b.windowed.scene.address)
		from := s.part(t.scene)
		q.Move(x.compute, s.part(b.windowed.queues), from.Slice(at, at+int64(b.windowed.queues.bytes)))
		for _, seeds := range modes {
			x.launch(q, s, "queue_tiles", seeds+1, threads)
		}
	}
	for _, seeds := range modes {
		x.scoreWindow(q, s, seeds+1, threads*256)
	}
}

// scoreWindow goes through the queues of a pass, of at most so many tiles.
func (x *Executor) scoreWindow(q *device.Queue, s *slot, pass, most int) {
	tiles := s.batch.andTiles
	if pass == orSeeds || pass == orRest {
		tiles = s.batch.orTiles
	}
	x.score(q, s, "", pass, tiles, most)
}

// launchWindow runs a kernel on a window.
func (x *Executor) launchWindow(q *device.Queue, s *slot, stream device.Stream, name string, t *step, blocks int) {
	k := x.kernels[name]
	if k.asked != 0 {
		k.asked, k.atOnce = 0, max(1, q.Occupancy(k.Kernel, k.threads, 0))
	}
	most := x.shape.Multiprocessors * k.atOnce
	if name == "fetch_rows" {
		most = x.shape.Multiprocessors
	}
	s.trace.around(q, stream, name, func() {
		q.Launch(stream, k.Kernel, device.Grid{Blocks: min(blocks, most), Threads: k.threads}, s.part(t.window))
	})
}
