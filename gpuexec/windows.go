package gpuexec

import (
	"math"
	"runtime"
	"slices"
	"unsafe"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/device"
)

// windows are how batches are answered whose lists are more than the device has room for (Options.Stream). A batch goes through the documents
// window by window: WindowTiles tiles of each segment at a time. To kernels a window is a segment of its own.
//
// What is to be known of lists there comes first, from the records that the host keeps (records.go): bounds of strips and directories of blocks.
// With them, and the thresholds so far, the device finds out which blocks can matter, and a kernel that reads the host's memory brings these, beside the
// kernels that score the window before. They are made flat, in memory that all windows share, and scored as flat lists are. So
// the host gathers nothing, and neither does it decide anything.
//
// Four streams work on it, for window t:
//
//	in       the first parts of records of window t+2, and the blocks of t+1 once they are chosen
//	plan     makes ready what is chosen by; chooses blocks of a batch's first window
//	compute  chooses blocks of window t+1: queues tiles by bounds, marks strips; makes those of t flat, scores t
//	out      results
type windows struct {
	bytes   int64  // of all, but for residents
	address uint64 // of flat postings
	rows    uint32
	thirds  [3]third // by turns
	turn    int
	ready   device.Event // of the batch before
	begun   bool         // there is one
	plan    device.Stream
	first   device.Event // it is known which blocks of a batch's first window matter; of its own, since it is on another stream than chosen is

	residents residents
	records   records
}

// A third is memory for all else that a window has: marks, pieces, bounds and records.
type third struct {
	address uint64
	rows    uint32
	heads   device.Event // the first parts of records are there
	opened  device.Event // and what blocks are chosen by
	chosen  device.Event // it is known which blocks matter, but of a batch's first window
	fetched device.Event // they are there
	scored  device.Event
}

// windowsShare is how many sixteenths of the memory of windows each third has. Flat postings take nearly half, since every posting of a window has a place there,
// whether it can matter or not.
const windowsShare = 3

// windowBytes is enough for 2,048 queries of 3.7 million postings each.
const windowBytes = 1650 << 20

// divideWindows sets the defaults of streaming, and how much memory windows get.
func (x *Executor) divideWindows() {
	o := &x.options
	o.FlatBytes, o.NoFlat, o.NoCache = 0, true, true
	if o.WindowBytes == 0 {
		o.WindowBytes = min(windowBytes, x.memory.Bytes/4)
	}
	if o.HostBytes == 0 {
		o.HostBytes = 32 << 30
	}
	x.windows.bytes = o.WindowBytes &^ (device.ArenaAlign - 1)
	x.windows.records.dev, x.windows.records.bytes = x.dev, o.HostBytes
	x.windows.residents.static = o.StaticLists
	x.windows.residents.closed = o.StaticLists
}

// place gives windows their memory, from an address on: so many bytes, and behind them those of records that stay.
func (w *windows) place(address uint64, bytes, stay int64) {
	each := bytes / 16 * windowsShare &^ (device.ArenaAlign - 1)
	for i := range w.thirds {
		w.thirds[i].address, w.thirds[i].rows = address, uint32(each/rowBytes)
		address += uint64(each)
	}
	rest := bytes - int64(len(w.thirds))*each
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
	fetched int64 // of these, bytes that came, once the batch is done

	listColumns []listColumns
	partColumns []partColumns

	scenes [3]scene // of the windows under way, by thirds
	parts  int      // bytes before them in a scene
	empty  span     // what lists without postings have
	bounds [2]span  // of tiles: of the first window, of all others
	seeds  [2][passes]span
	steps  []step          // for each window
	passes [passes]queueAt // where the queues of passes are in a scene
	queues [2]int          // from where to where they lie
}

// A scene is the lists, parts and queues of a window, as kernels change them.
type scene struct {
	span
	items   [passes]itemsAt // of queues
	terms   uint64          // address
	queries uint64
}

// itemsAt are addresses.
type itemsAt struct{ strips, flat uint64 }

// A queueAt is where the queues of a pass lie in a scene, from its beginning.
type queueAt struct{ tiles, strips, flat int }

// A step is a window of a batch.
type step struct {
	window     span // a devWindow
	scene      span // as it is at first
	third      int
	passes     [passes]uint64 // addresses of a devBatch each
	marks      int            // bytes
	slices     int
	units      int
	shares     int
	fetchUnits int
	pieces     bool // blocks have to come

	// While it is written.
	memory     []byte // of the scene
	listSlices []devSlice
	fetches    []devFetch
	device     *devWindow
	room       transient // behind marks and pieces
	marksAt    uint64
	wanted     int64 // bytes of records that the host keeps
	fetched    int64 // of these, bytes that come before blocks are chosen
}

const (
	listBytes   = int(unsafe.Sizeof(devList{}))
	partBytes   = int(unsafe.Sizeof(devPart{}))
	queueBytes  = int(unsafe.Sizeof(devQueue{}))
	itemBytes   = int(unsafe.Sizeof(devItem{}))
	pieceBytes  = int(unsafe.Sizeof(devPiece{}))
	windowBatch = int(unsafe.Sizeof(devWindow{}))
)

// fillWindows is fill and place of a batch that goes by windows.
func (b *batch) fillWindows() (ok bool) {
	b.columns.begin()
	b.taken = b.taken[:0]
	w := &b.windowed
	w.taken, w.steps = w.taken[:0], w.steps[:0]
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
	b.layScenes()
	s := &b.staging
	for i := range w.scenes {
		b.fillScene(&w.scenes[i])
	}
	b.common = devBatch{
		queryCount: uint32(len(b.queries)), partCount: uint32(len(b.parts)),
		states: b.results.states, unresolvedCount: b.results.unresolvedCount, unresolved: b.results.unresolved,
		unresolvedRoom: uint32(b.results.unresolvedRoom), tilesMost: b.tilesMost,
		tileShift: b.shape.TileShift, tileRoom: uint32(b.tileRoom), poolRoom: uint32(b.poolRoom), laneRoom: uint32(b.lanes), heapRoom: uint32(b.kMost), rows: b.arena, marks: 1,
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
	moves := putAll(s, b.moves)
	d := view[devBatch](s.host[b.passes[andSeeds]-s.address:])
	d.moves, d.moveCount = moves, uint32(len(b.moves))
	b.common.moveCount = uint32(len(b.moves))
	return !s.full && b.results.bytes <= b.resultRoom && uint64(b.tilesMost)*uint64(len(b.parts)) < 1<<31
}

// findRecords finds the records of all lists. It reports false when one is damaged, or has no room.
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

// layScenes says where the parts of scenes are, and keeps memory for what windows share.
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
	strips := int(b.tilesMost) * tileStrips
	w.empty.bytes = wholeRows(max(4*(strips+1), strips+stripCells*strips))
	w.empty.address = s.keep(w.empty.bytes)
	for i := range w.bounds {
		w.bounds[i] = span{s.keep(4 * int(b.tiles)), 4 * int(b.tiles)}
		for _, pass := range []int{andSeeds, orSeeds} {
			bytes := wholeRows(8 * seedTiles * len(b.queries))
			w.seeds[i][pass] = span{s.keep(bytes), bytes}
			w.seeds[i][pass+1] = w.seeds[i][pass]
		}
	}
}

// fillScene writes what a scene's queries are, wherever it is at, and keeps memory for its queues.
func (b *batch) fillScene(c *scene) {
	s, w := &b.staging, &b.windowed
	c.queries = b.putQueries(c.address + uint64(w.parts))
	terms, at := put[devTerm](s, len(b.terms))
	for i, t := range b.terms {
		terms[i] = devTerm{list: c.address + uint64(int(t.entry)*listBytes), weight: t.weight}
	}
	c.terms = at
	for pass := range passes {
		items := b.orTiles
		if pass == andSeeds || pass == andRest {
			items = b.andTiles
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

// findAddresses finds what lists and parts need of columns, once for all windows.
func (b *batch) findAddresses() {
	w := &b.windowed
	w.listColumns = slices.Grow(w.listColumns[:0], len(b.lists.entries))
	for i := range b.lists.entries {
		e := &b.lists.entries[i]
		w.listColumns = append(w.listColumns, listColumns{b.table(e.term, e.docs), b.norms(e.term, e.docs)})
	}
	w.partColumns = slices.Grow(w.partColumns[:0], len(b.parts))
	for i := range b.parts {
		p := b.queries[b.parts[i].query].plan
		seg := &p.Segments[b.parts[i].segment]
		c := partColumns{accept: column(b, seg.Accept)}
		if seg.Rank != nil && p.RankWeight > 0 {
			c.rank, c.rankTile = column(b, seg.Rank), column(b, seg.RankTile)
		}
		if seg.Tail != nil && b.algorithm.prunes() {
			c.tail = column(b, seg.Tail)
		}
		w.partColumns = append(w.partColumns, c)
	}
}

// Addresses of columns of a list's segment, and of a part's.
type (
	listColumns struct{ table, norms uint64 }
	partColumns struct{ accept, rank, rankTile, tail uint64 }
)

// putStep keeps memory for a window, on the host and on the device, and says which records come to stay. It reports false when there is not enough room.
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

// fillStep writes a window: its scene, and what is made flat for it. Several processors do, a window each.
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

// countWindow counts what lies first in the memory of a window: marks of lists, and units of their blocks.
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

// A transient is the memory of a window that is left.
type transient struct{ flat, flatEnd, at, end uint64 }

func (w *windows) room(third int) transient {
	t := &w.thirds[third]
	return transient{w.address, w.address + uint64(w.rows)*rowBytes, t.address, t.address + uint64(t.rows)*rowBytes}
}

// takeFlat takes memory for flat postings; what there is not enough of, ends behind flatEnd.
func (t *transient) takeFlat(bytes int) (address uint64) {
	address = t.flat
	t.flat += uint64(wholeRows(bytes))
	return address
}

// take takes memory for all else; what there is not enough of, ends behind end.
func (t *transient) take(bytes int) (address uint64) {
	address = t.at
	t.at += uint64(wholeRows(bytes))
	return address
}

// bring says where a record is on the device, and what has to be copied there at once: nothing when it is there, all when it comes to stay, or its first
// parts.
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

// startWindows copies a batch to the device and has its states be as they are at first, on the stream that plans.
func (x *Executor) startWindows(q *device.Queue, s *slot) {
	b, w := &s.batch, &x.windows
	if w.residents.flush && w.begun {
		q.After(x.in, w.ready)
	}
	w.residents.flush = false
	filled := int64(b.staging.used)
	q.ToDevice(x.in, s.memory.Slice(0, filled), s.staging.Slice(0, filled))
	q.Record(s.filled, x.in)
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
	x.fetchHeads(q, s, 0)
	x.openStep(q, s, 0)
	x.chooseFirst(q, s)
	x.fetchPieces(q, s, 0)
	x.fetchHeads(q, s, 1)
	for i := range steps {
		if i == 0 {
			x.flattenStep(q, s, i)
			x.scoreSeeds(q, s)
		}
		if i+1 < len(steps) {
			x.openStep(q, s, i+1)
			x.chooseStep(q, s, i+1)
			x.fetchHeads(q, s, i+2)
			x.fetchPieces(q, s, i+1)
		}
		if i > 0 {
			x.flattenStep(q, s, i)
		}
		x.scoreStep(q, s, i)
	}
	x.windows.turn += len(steps)
}

// fetchHeads has the first parts of records come, if there is such a window.
func (x *Executor) fetchHeads(q *device.Queue, s *slot, i int) {
	if i >= len(s.batch.windowed.steps) {
		return
	}
	t := &s.batch.windowed.steps[i]
	h := &x.windows.thirds[t.third]
	q.After(x.in, h.scored) // of the window that had this memory
	x.launchWindow(q, s, x.in, "fetch_rows", t, t.fetchUnits)
	q.Record(h.heads, x.in)
}

// openStep makes ready what blocks are chosen by.
func (x *Executor) openStep(q *device.Queue, s *slot, i int) {
	w, t := &x.windows, &s.batch.windowed.steps[i]
	h := &w.thirds[t.third]
	q.After(w.plan, h.heads)
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
		x.launchOn(q, s, plan, "bound_tiles", seeds, (int(b.tilesMost)*len(b.parts)+255)/256)
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
	if b.andTiles.strips > 0 {
		seeds = append(seeds, andSeeds)
	}
	if b.orTiles.strips > 0 {
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
		return b.andTiles
	}
	return b.orTiles
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
