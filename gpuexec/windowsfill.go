package gpuexec

import (
	"runtime"
	"slices"
	"unsafe"

	"github.com/riffle-search/riffle/blockmax"
)

// fillWindows is fill and place for a batch that goes by windows.
func (b *batch) fillWindows() (ok bool) {
	b.placed.columns.begin()
	w := &b.windowed
	w.taken, w.steps = w.taken[:0], w.steps[:0]
	defer func() {
		if !ok {
			w.windows.residents.undo(w.taken)
			b.placed.undo()
		}
	}()
	if !b.findRecords() {
		return false
	}
	b.tileRoom, b.poolRoom = 2*b.kMost+max(poolSlack, leastRoom), b.poolRoomFor(b.kMost)
	b.results = b.keepResults()
	b.countTiles()
	b.layScenes()
	s := &b.staging
	for i := range w.scenes {
		b.fillScene(&w.scenes[i])
	}
	b.common = devBatch{
		queryCount: uint32(len(b.queries)), partCount: uint32(len(b.parts)),
		states: b.results.states, unresolvedCount: b.results.unresolvedCount, unresolved: b.results.unresolved,
		unresolvedRoom: uint32(b.results.unresolvedRoom), tilesMost: b.work.tilesMost,
		tileShift: b.shape.TileShift, tileRoom: uint32(b.tileRoom), poolRoom: uint32(b.poolRoom), listRoom: uint32(b.listsMost), heapRoom: uint32(b.kMost), rows: b.arena, marks: 1,
	}
	b.findAddresses()
	for i := range w.count {
		if !b.putStep(i) {
			return false
		}
	}
	share(runtime.GOMAXPROCS(0), w.count, 1, func(_, from, to int) {
		for i := from; i < to; i++ {
			b.fillStep(i)
		}
	})
	b.passes = w.steps[0].passes
	w.wanted, w.fetched = 0, 0
	for i := range w.steps {
		w.wanted += w.steps[i].wanted
		w.fetched += w.steps[i].fetched
	}
	moves := putAll(s, b.placed.moves)
	d := view[devBatch](s.host[b.passes[andSeeds]-s.address:])
	d.moves, d.moveCount = moves, uint32(len(b.placed.moves))
	b.common.moveCount = uint32(len(b.placed.moves))
	return !s.full && b.results.bytes <= b.resultRoom && uint64(b.work.tilesMost)*uint64(len(b.parts)) < 1<<31
}

// findRecords finds the records of all lists. It reports false if one is damaged, or has no room.
func (b *batch) findRecords() bool {
	w := &b.windowed
	w.lists, w.count = w.lists[:0], 1
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

// countTiles counts the tiles of the first window, which has at least as many of each part as any
// other.
func (b *batch) countTiles() {
	for i := range b.parts {
		pt := &b.parts[i]
		q := &b.queries[pt.query]
		q.byStrips = true
		tiles := b.shape.windowTiles(q.plan.Segments[pt.segment].Docs, 0)
		b.work.tiles += tiles
		b.work.tilesMost = max(b.work.tilesMost, tiles)
		if pt.way == byOrTiles {
			b.work.or.add(true, tiles)
		} else {
			pt.way = byAndTiles
			b.work.and.add(true, tiles)
		}
	}
}

// layScenes sets the offsets of the parts of scenes, and reserves memory that windows share.
func (b *batch) layScenes() {
	w, s := &b.windowed, &b.staging
	w.parts = listBytes * len(b.lists.entries)
	at := wholeRows(w.parts + partBytes*len(b.parts))
	w.queues[0] = at
	for pass := range w.passes {
		w.passes[pass] = queueAt{at, at + queueBytes, at + 2*queueBytes}
		at += 3 * queueBytes
	}
	at = wholeRows(at)
	w.queues[1] = at
	for i := range w.scenes {
		w.scenes[i].span = span{s.keep(at), at}
	}
	strips := int(b.work.tilesMost) * tileStrips
	w.empty.bytes = wholeRows(max(4*(strips+1), strips+stripCells*strips))
	w.empty.address = s.keep(w.empty.bytes)
	for i := range w.bounds {
		w.bounds[i] = span{s.keep(4 * int(b.work.tiles)), 4 * int(b.work.tiles)}
		for _, pass := range []int{andSeeds, orSeeds} {
			bytes := wholeRows(8 * seedTiles * len(b.queries))
			w.seeds[i][pass] = span{s.keep(bytes), bytes}
			w.seeds[i][pass+1] = w.seeds[i][pass]
		}
	}
}

// fillScene writes the queries of a scene, which are the same for all windows, and reserves memory
// for its queues.
func (b *batch) fillScene(c *scene) {
	s, w := &b.staging, &b.windowed
	c.queries = b.putQueries(c.address + uint64(w.parts))
	terms, at := put[devTerm](s, len(b.terms))
	for i, t := range b.terms {
		terms[i] = devTerm{list: c.address + uint64(int(t.entry)*listBytes), weight: t.weight}
	}
	c.terms = at
	for pass := range passes {
		items := b.work.or
		if pass == andSeeds || pass == andRest {
			items = b.work.and
		}
		most := int(items.strips)
		if pass == andSeeds || pass == orSeeds {
			most = min(most, seedTiles*len(b.queries))
		}
		c.items[pass] = itemsAt{s.keep(itemBytes * most), s.keep(itemBytes * most)}
	}
}

// fillStepPasses writes a devBatch for each pass of a window.
func (b *batch) fillStepPasses(window int, t *step) {
	s, w := &b.staging, &b.windowed
	c, others := &w.scenes[t.third], min(window, 1)
	devices, address := put[devBatch](s, passes)
	for pass := range passes {
		d := &devices[pass]
		*d = b.common
		d.queries, d.parts = c.queries, c.address+uint64(w.parts)
		d.tileBounds, d.seeds = w.bounds[others].address, w.seeds[others][pass].address
		if pass == andSeeds || pass == andRest {
			d.andPass = 1
		}
		at := w.passes[pass]
		d.queue, d.stripQueue, d.flatQueue = c.address+uint64(at.tiles), c.address+uint64(at.strips), c.address+uint64(at.flat)
		_, d.counters = put[uint32](s, 4)
		t.passes[pass] = address + uint64(pass)*uint64(unsafe.Sizeof(devBatch{}))
	}
}

// findAddresses finds the addresses of columns that lists and parts need, once for all windows.
func (b *batch) findAddresses() {
	w := &b.windowed
	w.listColumns = slices.Grow(w.listColumns[:0], len(b.lists.entries))
	for i := range b.lists.entries {
		e := &b.lists.entries[i]
		w.listColumns = append(w.listColumns, listColumns{b.placed.table(e.term, e.docs), b.placed.norms(e.term, e.docs)})
	}
	w.partColumns = slices.Grow(w.partColumns[:0], len(b.parts))
	for i := range b.parts {
		p := b.queries[b.parts[i].query].plan
		seg := &p.Segments[b.parts[i].segment]
		c := partColumns{accept: column(&b.placed, seg.Accept)}
		if seg.Rank != nil && p.RankWeight > 0 {
			c.rank, c.rankTile = column(&b.placed, seg.Rank), column(&b.placed, seg.RankTile)
		}
		if seg.Tail != nil && b.algorithm.prunes() {
			c.tail = column(&b.placed, seg.Tail)
		}
		w.partColumns = append(w.partColumns, c)
	}
}

// Addresses of columns of a list's segment, and of a part's.
type (
	listColumns struct{ table, norms uint64 }
	partColumns struct{ accept, rank, rankTile, tail uint64 }
)

// putStep reserves memory for a window, on the host and on the device, and decides which records
// come to stay. It reports false if there is not enough room.
func (b *batch) putStep(window int) bool {
	s, w := &b.staging, &b.windowed
	t := step{third: (w.windows.turn + window) % len(w.windows.thirds)}
	c := &w.scenes[t.third]
	rows, sceneAt := put[[rowBytes]byte](s, c.bytes/rowBytes)
	var at devWindow
	t.listSlices, at.slices = put[devSlice](s, len(b.lists.entries))
	t.fetches, at.fetches = put[devFetch](s, len(b.lists.entries))
	_, at.counters = put[uint32](s, windowCounters)
	b.fillStepPasses(window, &t)
	devices, address := put[devWindow](s, 1)
	if s.full {
		return false
	}
	t.memory = unsafe.Slice(&rows[0][0], c.bytes)
	t.scene, t.window = span{sceneAt, c.bytes}, span{address, windowBatch}
	b.countWindow(window, &t)
	t.room = w.windows.room(t.third)
	t.marksAt = t.room.take(t.marks)
	at.pieces = t.room.take(2 * pieceBytes * t.units)
	at.rowsRead, at.tileShift = b.results.unresolvedCount+rowBytes/2, b.shape.TileShift
	t.device = &devices[0]
	*t.device = at
	room := t.room
	for n, kept := range w.lists {
		if window >= len(kept.windows) || kept.windows[window].rows == 0 {
			continue
		}
		r, e := &kept.windows[window], &b.lists.entries[n]
		l := b.shape.flatLayout(r.blocks*r.blockSize, b.shape.windowTiles(e.docs, window))
		room.takeFlat(int(l.bound))
		room.take(int(l.rows)*rowBytes - int(l.bound))
		if e.kept == nil || w.windows.residents.has(r) {
			continue
		}
		if w.windows.residents.take(e.known, r) {
			w.taken = append(w.taken, takenRecord{e.known, r})
			r.slot, r.batch = b.lists.slot, b.lists.batch
		} else {
			room.take(int(r.rows) * rowBytes)
		}
	}
	w.steps = append(w.steps, t)
	return room.flat <= room.flatEnd && room.at <= room.end
}

// fillStep writes a window: its scene, and what is made flat for it. Several goroutines share the
// work, a window each.
func (b *batch) fillStep(window int) {
	w := &b.windowed
	t := &w.steps[window]
	c := &w.scenes[t.third]
	lists := unsafe.Slice((*devList)(unsafe.Pointer(&t.memory[0])), len(b.lists.entries))
	devSlices, device, room, marks := t.listSlices, t.device, t.room, t.marksAt
	for n := range lists {
		kept := w.lists[n]
		if window >= len(kept.windows) || kept.windows[window].rows == 0 {
			lists[n] = b.emptyList()
			continue
		}
		r, e := &kept.windows[window], &b.lists.entries[n]
		tiles := b.shape.windowTiles(e.docs, window)
		l := b.shape.flatLayout(r.blocks*r.blockSize, tiles)
		flat := room.takeFlat(int(l.bound))
		d := &devSlices[device.sliceCount]
		*d = devSlice{
			table: w.listColumns[n].table, norms: w.listColumns[n].norms, marks: marks, flat: flat, first: flat + l.first, bound: room.take(int(l.rows)*rowBytes - int(l.bound)),
			blocks: r.blocks, blockSize: r.blockSize, lastSize: r.lastSize, from: uint32(window) * b.shape.windowDocs(), tiles: tiles, shift: l.shift, entries: l.entries,
			firstUnit: device.units, firstShare: device.shares,
		}
		fetch := devFetch{from: r.address, firstUnit: device.fetchUnits}
		b.bring(t, e, r, &room, d, &fetch)
		if fetch.rows > 0 {
			t.fetches[device.fetchCount] = fetch
			device.fetchUnits += (fetch.rows + fetchUnit - 1) / fetchUnit
			device.fetchCount++
		}
		t.pieces = t.pieces || d.source != 0
		lists[n] = devList{flat: flat, flatFirst: d.first, flatBound: d.bound, flatShift: l.shift, tileFirst: marks, tiles: tiles}
		device.sliceCount++
		device.units += (r.blocks + sliceUnit - 1) / sliceUnit
		device.shares += (l.entries + boundShare - 1) / boundShare
		marks += uint64(wholeRows(4 * int(tiles)))
	}
	t.slices, t.units, t.shares, t.fetchUnits = int(device.sliceCount), int(device.units), int(device.shares), int(device.fetchUnits)
	b.fillSceneParts(window, unsafe.Slice((*devPart)(unsafe.Pointer(&t.memory[w.parts])), len(b.parts)), c.terms)
	for pass, at := range w.passes {
		view[devQueue](t.memory[at.strips:]).items = c.items[pass].strips
		view[devQueue](t.memory[at.flat:]).items = c.items[pass].flat
	}
}

// countWindow counts what lies first in the memory of a window: marks of lists, and units of their
// blocks.
func (b *batch) countWindow(window int, t *step) {
	for n, kept := range b.windowed.lists {
		if window < len(kept.windows) && kept.windows[window].rows > 0 {
			t.marks += wholeRows(4 * int(b.shape.windowTiles(b.lists.entries[n].docs, window)))
			t.units += int(kept.windows[window].blocks+sliceUnit-1) / sliceUnit
		}
	}
}

// emptyList is a list without a posting in the window.
func (b *batch) emptyList() devList {
	at := b.windowed.empty.address
	return devList{flat: at, flatFirst: at, flatBound: at, flatShift: b.shape.TileShift - 5}
}

// bring writes the address of a record on the device, and what must be copied at once: nothing if
// the record is resident, all if it comes to stay, otherwise its first parts.
func (b *batch) bring(t *step, e *listEntry, r *record, room *transient, d *devSlice, f *devFetch) {
	w := &b.windowed
	switch {
	case e.kept == nil:
		d.record = r.address
		return
	case !w.windows.residents.has(r):
		d.record = room.take(int(r.rows) * rowBytes)
		d.source, f.to = r.address, d.record
		f.rows = uint32(recordParts(r.blocks, d.tiles).rows / rowBytes)
	default:
		if d.record = r.place; r.batch == b.lists.batch && r.slot == b.lists.slot {
			f.to, f.rows = r.place, r.rows
		}
	}
	t.wanted += int64(r.rows) * rowBytes
	t.fetched += int64(f.rows) * rowBytes
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
		at := func(column uint64, before uint32) uint64 {
			if column == 0 {
				return 0
			}
			return column + uint64(before)
		}
		c := &b.windowed.partColumns[i]
		d.accept, d.rank = at(c.accept, from/8), at(c.rank, 2*from)
		d.rankTile, d.tail = at(c.rankTile, 2*(from/blockmax.TileDocs)), at(c.tail, 4*(from/blockmax.TileDocs))
	}
}
