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
	w.taken = w.taken[:0]
	b.refusal = errBatchFull
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
	b.findColumns()
	if b.refusal = b.divideColumns(); b.refusal != nil {
		return false
	}
	b.refusal = errBatchFull
	b.countTiles()
	b.results = b.keepResults()
	b.layScenes()
	s := &b.staging
	for i := range w.scenes {
		b.fillScene(&w.scenes[i])
	}
	b.common = devBatch{
		queryCount: uint32(len(b.queries)), partCount: uint32(w.most * len(b.parts)),
		states: b.results.states, unresolvedCount: b.results.unresolvedCount, unresolved: b.results.unresolved,
		unresolvedRoom: uint32(b.results.unresolvedRoom), tilesMost: b.work.tilesMost,
		tileShift: b.shape.TileShift, tileRoom: uint32(b.tileRoom), poolRoom: uint32(b.poolRoom), listRoom: uint32(b.listsMost), heapRoom: uint32(b.kMost), rows: b.arena, marks: 1,
	}
	for i := range w.steps {
		if !b.putStep(i) {
			return false
		}
		b.refusal = errBatchFull
	}
	share(runtime.GOMAXPROCS(0), len(w.steps), 1, func(_, from, to int) {
		for i := from; i < to; i++ {
			b.fillStep(i)
		}
	})
	b.passes = w.steps[0].passes
	w.wanted, w.fetched, w.columns = 0, 0, 0
	for i := range w.steps {
		w.wanted += w.steps[i].wanted
		w.fetched += w.steps[i].fetched
		w.columns += w.steps[i].columns
	}
	moves := putAll(s, b.placed.moves)
	d := view[devBatch](s.host[b.passes[andSeeds]-s.address:])
	d.moves, d.moveCount = moves, uint32(len(b.placed.moves))
	b.common.moveCount = uint32(len(b.placed.moves))
	return !s.full && b.results.bytes <= b.resultRoom && uint64(b.work.tilesMost)*uint64(w.most*len(b.parts)) < 1<<31
}

// findRecords finds the records of all lists. It reports false if one is damaged, or has no room.
func (b *batch) findRecords() bool {
	w := &b.windowed
	w.lists = w.lists[:0]
	for i := range b.lists.entries {
		e := &b.lists.entries[i]
		kept := e.kept
		if kept == nil {
			if kept = b.putRecords(e); kept == nil || b.staging.full {
				return false
			}
		}
		w.lists = append(w.lists, kept)
		if former := kept.former; former != nil {
			if former.former = nil; kept.again {
				w.windows.residents.carry(kept)
			}
		}
	}
	return true
}

// countTiles counts the tiles of the longest step as if each of its windows were the first, which
// has at least as many of each part as any other.
func (b *batch) countTiles() {
	for i := range b.parts {
		pt := &b.parts[i]
		q := &b.queries[pt.query]
		q.byStrips = true
		tiles := b.shape.windowTiles(q.plan.Segments[pt.segment].Docs, 0)
		b.work.tilesMost = max(b.work.tilesMost, tiles)
		tiles *= uint32(b.windowed.most)
		b.work.tiles += tiles
		if pt.way == byOrTiles {
			b.work.or.add(&b.queries[pt.query], tiles)
		} else {
			pt.way = byAndTiles
			b.work.and.add(&b.queries[pt.query], tiles)
		}
	}
}

// layScenes sets the offsets of the parts of scenes, and reserves memory that steps share.
func (b *batch) layScenes() {
	w, s := &b.windowed, &b.staging
	w.parts = w.most * listBytes * len(b.lists.entries)
	at := wholeRows(w.parts + w.most*partBytes*len(b.parts))
	w.queues[0] = at
	for pass := range w.passes {
		w.passes[pass] = queueAt{at, at + queueBytes, at + 2*queueBytes, at + 3*queueBytes}
		at += 4 * queueBytes
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

// fillScene writes the queries and terms of a scene, which are the same for all steps, and reserves
// memory for its queues. Each window has terms of its own, since its lists are others.
func (b *batch) fillScene(c *scene) {
	s, w := &b.staging, &b.windowed
	c.queries = b.putQueries(c.address+uint64(w.parts), w.most)
	terms, at := put[devTerm](s, w.most*len(b.terms))
	for i := range terms {
		t, window := &b.terms[i%len(b.terms)], i/len(b.terms)
		list := window*len(b.lists.entries) + int(t.entry)
		terms[i] = devTerm{list: c.address + uint64(list*listBytes), weight: t.weight, leaf: t.leaf}
	}
	c.terms = at
	for pass := range passes {
		items := b.work.or
		if pass == andSeeds || pass == andRest {
			items = b.work.and
		}
		strips, trees := int(items.strips), int(items.trees)
		if pass == andSeeds || pass == orSeeds {
			strips, trees = min(strips, seedTiles*len(b.queries)), min(trees, seedTiles*len(b.queries))
		}
		c.items[pass] = itemsAt{s.keep(itemBytes * strips), s.keep(itemBytes * strips), s.keep(itemBytes * trees)}
	}
}

// fillStepPasses writes a devBatch for each pass of step i.
func (b *batch) fillStepPasses(i int, t *step) {
	s, w := &b.staging, &b.windowed
	c, others := &w.scenes[t.third], min(i, 1)
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
		d.treeQueue = c.address + uint64(at.trees)
		_, d.counters = put[uint32](s, 4)
		t.passes[pass] = address + uint64(pass)*uint64(unsafe.Sizeof(devBatch{}))
	}
}

// findColumns finds the columns that lists and parts need, once for all steps.
func (b *batch) findColumns() {
	w := &b.windowed
	w.parted.begin(b.wholeColumns())
	w.listColumns = slices.Grow(w.listColumns[:0], len(b.lists.entries))
	for i := range b.lists.entries {
		e := &b.lists.entries[i]
		c := listColumns{table: b.placed.table(e.term, e.docs)}
		if e.term.Norms != nil {
			// Those of the memory segment, whose lists have no keys, grow.
			c.norms = windowColumn(b, e.term.Norms[:e.docs], 1, e.known.key != 0)
			w.parted.readBy(c.norms, int32(i))
		}
		w.listColumns = append(w.listColumns, c)
	}
	w.partColumns = slices.Grow(w.partColumns[:0], len(b.parts))
	for i := range b.parts {
		p := b.queries[b.parts[i].query].plan
		seg := &p.Segments[b.parts[i].segment]
		c := partColumns{accept: windowColumn(b, seg.Accept, 64, false)}
		if seg.Rank != nil && p.RankWeight > 0 {
			lasts := b.keyed(&b.parts[i])
			c.rank, c.rankTile = windowColumn(b, seg.Rank, 1, lasts), windowColumn(b, seg.RankTile, blockmax.TileDocs, lasts)
		}
		if seg.Tail != nil && b.algorithm.prunes() {
			c.tail = windowColumn(b, seg.Tail, blockmax.TileDocs, false)
		}
		w.partColumns = append(w.partColumns, c)
		for _, ref := range []columnRef{c.accept, c.rank, c.rankTile, c.tail} {
			for _, t := range b.terms[b.parts[i].from:b.parts[i].to] {
				w.parted.readBy(ref, t.entry)
			}
		}
	}
}

// keyed reports whether the lists of a part have keys. Those of the segment in memory, whose columns
// change, have none.
func (b *batch) keyed(p *part) bool {
	return slices.ContainsFunc(b.terms[p.from:p.to], func(t partTerm) bool { return b.lists.entries[t.entry].known.key != 0 })
}

// Columns of a list's segment, and of a part's. A table is at an address.
type (
	listColumns struct {
		table uint64
		norms columnRef
	}
	partColumns struct{ accept, rank, rankTile, tail columnRef }
)

// mayReadInPlace reports whether all parts of columns may yet stay in the host's memory: the batch cannot be
// divided.
func (b *batch) mayReadInPlace() bool {
	p := &b.windowed.parted
	return len(b.queries) == 1 && len(p.columns) > 0 && !p.inPlace
}

// divideColumns is divide, and writes the parts of columns. It returns why the batch cannot run, or nil.
func (b *batch) divideColumns() error {
	why := b.divide()
	if why != nil && b.mayReadInPlace() {
		b.windowed.parted.inPlace = true
		why = b.divide()
	}
	if why != nil {
		return why
	}
	return b.keepParts()
}

// putStep reserves memory for step i, on the host and on the device, and decides which records come
// to stay. It reports false if there is not enough room.
func (b *batch) putStep(i int) bool {
	s, w := &b.staging, &b.windowed
	t := &w.steps[i]
	t.third = (w.track.turn + i) % len(w.track.thirds)
	c, slices := &w.scenes[t.third], (t.to-t.from)*len(b.lists.entries)
	rows, sceneAt := reserve[[rowBytes]byte](s, c.bytes/rowBytes)
	var at devWindow
	t.listSlices, at.slices = reserve[devSlice](s, slices)
	t.fetches, at.fetches = reserve[devFetch](s, slices+(t.to-t.from)*len(w.parted.columns))
	_, at.counters = put[uint32](s, windowCounters)
	b.fillStepPasses(i, t)
	devices, address := put[devWindow](s, 1)
	if s.full {
		return false
	}
	b.refusal = errWindowFull
	t.memory = unsafe.Slice(&rows[0][0], c.bytes)
	t.scene, t.window = span{sceneAt, c.bytes}, span{address, windowBatch}
	var all need
	for _, n := range w.needs[t.from:t.to] {
		all.add(n)
	}
	t.marks, t.units = all.marks, all.units
	t.room = w.track.room(t.third)
	t.marksAt = t.room.take(t.marks)
	at.pieces = t.room.take(2 * pieceBytes * t.units)
	at.rowsRead, at.tileShift = b.results.unresolvedCount+rowBytes/2, b.shape.TileShift
	t.device = &devices[0]
	*t.device = at
	if !all.mayStay {
		return !all.exceeds(w.track.room(t.third).need())
	}
	room := t.room
	for window := t.from; window < t.to; window++ {
		b.takeParts(window, &room)
		b.putWindow(window, &room)
	}
	return room.flat <= room.flatEnd && room.at <= room.end
}

// putWindow takes the memory of a window's lists on the device.
func (b *batch) putWindow(window int, room *transient) {
	w := &b.windowed
	for n, kept := range w.lists {
		if !kept.has(window) {
			continue
		}
		r, e := &kept.windows[window], &b.lists.entries[n]
		room.takeFlat(int(r.flat.bound))
		room.take(int(r.spread))
		if e.kept == nil || w.windows.residents.has(r) {
			continue
		}
		switch former := b.formerRecord(e, window); {
		case former != nil && w.windows.residents.replace(r, former):
			w.taken = append(w.taken, takenRecord{e.known, r, former})
		case w.windows.residents.take(e.known, r):
			w.taken = append(w.taken, takenRecord{e.known, r, nil})
		default:
			room.take(int(r.rows) * rowBytes)
			continue
		}
		r.slot, r.batch = b.lists.slot, b.lists.batch
	}
}

// formerRecord returns the record of a window of the version of a list before, or nil. The batch may still
// have that version.
func (b *batch) formerRecord(e *listEntry, window int) *record {
	former, last := e.kept.former, e.known.before.Load()
	if former == nil || e.kept.again || last == nil || last.in[b.lists.slot].batch == b.lists.batch {
		return nil
	}
	return &former.windows[window]
}

// fillStep writes a step: its scene, and what is made flat for it. Several goroutines share the
// work, a step each.
func (b *batch) fillStep(i int) {
	w := &b.windowed
	t := &w.steps[i]
	c := &w.scenes[t.third]
	entries, firstTile := len(b.lists.entries), uint32(0)
	lists := unsafe.Slice((*devList)(unsafe.Pointer(&t.memory[0])), w.most*entries)
	parts := unsafe.Slice((*devPart)(unsafe.Pointer(&t.memory[w.parts])), w.most*len(b.parts))
	used := t.to - t.from
	clear(lists[used*entries:])
	clear(t.memory[w.most*listBytes*entries:])
	room, marks := t.room, t.marksAt
	for window := t.from; window < t.to; window++ {
		at := window - t.from
		b.bringParts(window, t, &room)
		b.fillWindow(window, t, lists[at*entries:][:entries], &room, &marks)
		firstTile = b.fillSceneParts(window, at, parts, c.terms+uint64(at*len(b.terms))*uint64(unsafe.Sizeof(devTerm{})), firstTile)
	}
	d := t.device
	t.slices, t.fetchUnits = int(d.sliceCount), int(d.fetchUnits)
	for pass, at := range w.passes {
		view[devQueue](t.memory[at.strips:]).items = c.items[pass].strips
		view[devQueue](t.memory[at.flat:]).items = c.items[pass].flat
		view[devQueue](t.memory[at.trees:]).items = c.items[pass].trees
	}
}

// fillWindow writes the lists of a window, and what is made flat for it.
func (b *batch) fillWindow(window int, t *step, lists []devList, room *transient, marks *uint64) {
	w, device := &b.windowed, t.device
	for n := range lists {
		kept := w.lists[n]
		if !kept.has(window) {
			lists[n] = b.emptyList()
			continue
		}
		r, e := &kept.windows[window], &b.lists.entries[n]
		tiles := b.shape.windowTiles(e.docs, window)
		l := &r.flat
		flat := room.takeFlat(int(l.bound))
		d := &t.listSlices[device.sliceCount]
		*d = devSlice{
			table: w.listColumns[n].table, norms: b.windowNorms(w.listColumns[n].norms, window), marks: *marks, flat: flat, first: flat + l.first, bound: room.take(int(r.spread)),
			blocks: r.blocks, blockSize: r.blockSize, lastSize: r.lastSize, from: uint32(window) * b.shape.windowDocs(), tiles: tiles, shift: l.shift, entries: l.entries,
			firstUnit: device.units, head: r.bounds,
		}
		fetch := devFetch{from: r.address}
		b.bring(t, e, r, room, d, &fetch)
		t.fetch(fetch)
		t.pieces = t.pieces || d.source != 0
		lists[n] = devList{flat: flat, flatFirst: d.first, flatBound: d.record, flatShift: l.shift, tileFirst: *marks, tiles: tiles}
		if r.spread > 0 {
			d.packed = 1
			lists[n].flatBound = d.bound
		}
		device.sliceCount++
		device.units += (r.blocks + sliceUnit - 1) / sliceUnit
		*marks += uint64(wholeRows(4 * int(tiles)))
	}
}

// fetch adds rows that are read from the host's memory.
func (t *step) fetch(f devFetch) {
	if f.rows == 0 {
		return
	}
	d := t.device
	f.firstUnit = d.fetchUnits
	t.fetches[d.fetchCount] = f
	d.fetchUnits += (f.rows + fetchUnit - 1) / fetchUnit
	d.fetchCount++
}

// windowNorms is the address that the length codes of document 0 would have if all lay where those of a
// window do; 0 if there are none. Kernels read the window's alone.
func (b *batch) windowNorms(norms columnRef, window int) uint64 {
	from := uint32(window) * b.shape.windowDocs()
	if at := b.windowed.parted.at(norms, window, from); at != 0 {
		return at - uint64(from)
	}
	return 0
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
		f.rows = r.heads
	default:
		if d.record = r.place; r.batch == b.lists.batch && r.slot == b.lists.slot {
			f.to, f.rows = r.place, r.rows
		}
	}
	t.wanted += int64(r.rows) * rowBytes
	t.fetched += int64(f.rows) * rowBytes
}

// fillSceneParts writes the parts of a window, number at of its step, which is a segment to kernels:
// those of a query follow one another, window by window. It returns the number of the first tile
// behind them.
func (b *batch) fillSceneParts(window, at int, parts []devPart, terms uint64, firstTile uint32) uint32 {
	from := uint32(window) * b.shape.windowDocs()
	for i := range b.parts {
		pt := &b.parts[i]
		q := &b.queries[pt.query]
		seg := &q.plan.Segments[pt.segment]
		d := &parts[q.from*b.windowed.most+at*(q.to-q.from)+i-q.from]
		*d = devPart{
			terms: terms + uint64(pt.from)*uint64(unsafe.Sizeof(devTerm{})), termCount: uint32(pt.to - pt.from), query: uint32(pt.query),
			skip: seg.Skip - min(seg.Skip, from), base: seg.Base + from, way: pt.way, firstTile: firstTile,
		}
		if from >= seg.Docs {
			continue
		}
		d.docs = min(seg.Docs-from, b.shape.windowDocs())
		d.tiles = b.shape.tiles(d.docs)
		firstTile += d.tiles
		c, p := &b.windowed.partColumns[i], &b.windowed.parted
		d.accept, d.rank = p.at(c.accept, window, from), p.at(c.rank, window, from)
		d.rankTile, d.tail = p.at(c.rankTile, window, from), p.at(c.tail, window, from)
	}
	return firstTile
}
