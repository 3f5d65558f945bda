package gpuexec

import (
	"unsafe"

	"github.com/riffle-search/riffle/gpuexec/device"
)

// windows answer batches whose lists exceed the memory of the device (Options.Stream). A batch
// processes the documents in steps. A step has one or more windows of WindowTiles tiles of each
// segment (steps.go). To kernels a window is a segment of its own.
//
// For each step, bounds of strips and directories of blocks are copied first, from the records
// that the host keeps (records.go). With them and the current thresholds, the device determines
// which blocks can matter. A kernel that reads the host's memory fetches these, concurrently with
// the kernels that score the step before. They are made flat, in memory that all steps share, and
// scored as flat lists are. So the host gathers nothing, and decides nothing.
//
// Batches run in tracks, so that while one waits for blocks or for the last thread blocks of a
// kernel another computes. Six streams work in each, for step t:
//
//	up       what the host has written of a batch, and the first parts of records of its first step
//	in       those of step t+2, and the blocks of t+1 once they are chosen
//	plan     prepares the choice of blocks; chooses blocks of a batch's first step
//	compute  chooses blocks of step t+1: queues tiles by bounds, marks strips; makes those of t
//	         flat, scores t
//	whole    scores the tiles of t that go as a whole, while blocks of t+2 are chosen
//	out      results
type windows struct {
	bytes   int64        // of all, except residents
	tracks  []track      // the first has all the memory, the others a part each
	batches int          // put into tracks so far
	moved   device.Event // columns that batches brought are in place
	stay    device.Event // and so are records that stay

	residents residents
	records   records
	columns   keptColumns
}

// A track is the memory and the streams of a batch. Each track runs one batch after the other. A
// batch that needs more memory than one of several tracks has runs alone, in the first.
type track struct {
	address uint64 // of flat postings
	rows    uint32
	thirds  [3]third // used in turn
	turn    int
	ready   device.Event // of the previous batch
	begun   bool         // there is one
	last    int          // its number, from 1 on

	up, in, plan, compute, whole device.Stream

	// For a batch's first step, instead of heads and chosen of its third, which are recorded on
	// other streams.
	firstHeads, first device.Event
}

// A third is memory for all else that a step has: marks, pieces, bounds and records.
type third struct {
	address uint64
	rows    uint32
	heads   device.Event // the first parts of records are resident, except for a first step
	opened  device.Event // and the choice of blocks is prepared
	chosen  device.Event // the blocks that matter are known, except for a batch's first step
	fetched device.Event // those blocks have been copied
	strips  device.Event // they are scored, except for tiles that go as a whole
	scored  device.Event
}

// spareRows are rows behind the flat postings of a track: kernels read up to 60 bytes behind the last
// posting of a list (kernels/probe.cuh).
const spareRows = 4

// A third has so many 32nds of a track's memory. Flat postings take half and more, since every posting
// of a step has a place there, whether it can matter or not. For each byte of them a third needs 0.33
// if no records stay, and 0.18 if those of 70 % of the bytes do.
const thirdShare = 5

// windowBytes is enough for 2,048 queries of 3.7 million postings each.
const windowBytes = 1650 << 20

// divideWindows sets the defaults of streaming, and the memory of windows.
func (x *Executor) divideWindows() {
	o := &x.options
	o.FlatBytes, o.NoFlat, o.NoCache = 0, true, true
	if x.windowsGiven = o.WindowBytes != 0; !x.windowsGiven {
		o.WindowBytes = min(windowBytes, x.memory.Bytes/4)
	}
	if o.HostBytes == 0 {
		o.HostBytes = 32 << 30
	}
	x.windows.bytes = o.WindowBytes &^ (device.ArenaAlign - 1)
	x.windows.tracks = make([]track, 1, 1+x.shape.Tracks)
	if x.shape.Tracks > 1 {
		x.windows.tracks = x.windows.tracks[:1+x.shape.Tracks]
	}
	x.windows.records.memory = pinnedPool{dev: x.dev, most: o.HostBytes, each: chunkBytes}
	x.windows.columns.memory = pinnedPool{dev: x.dev, most: o.HostBytes / keptShare, each: chunkBytes}
	x.columns.patient = true
	x.windows.residents.static, x.windows.residents.policy = o.StaticLists, o.Cache.Policy
	x.windows.residents.closed = o.StaticLists
}

// place sets the memory of windows: bytes bytes from an address on, followed by stay bytes of
// records that stay.
func (w *windows) place(address uint64, bytes, stay int64) {
	w.tracks[0].place(address, bytes)
	if small := w.tracks[1:]; len(small) > 0 {
		each := bytes / int64(len(small)) &^ (device.ArenaAlign - 1)
		for i := range small {
			small[i].place(address+uint64(i)*uint64(each), each)
		}
	}
	w.residents.address, w.residents.rows = address+uint64(bytes), uint64(stay/rowBytes)
	w.residents.generation = 1
}

// place sets the memory of a track.
func (l *track) place(address uint64, bytes int64) {
	each := bytes / 32 * thirdShare &^ (device.ArenaAlign - 1)
	for i := range l.thirds {
		l.thirds[i].address, l.thirds[i].rows = address, uint32(each/rowBytes)
		address += uint64(each)
	}
	l.address, l.rows = address, uint32(max(0, (bytes-int64(len(l.thirds))*each)/rowBytes-spareRows))
}

// open makes the streams and events of a track.
func (l *track) open(q *device.Queue) {
	l.up, l.plan, l.whole = q.Stream(), q.Urgent(1), q.Stream()
	l.firstHeads, l.first = q.Event(), q.Event()
	for i := range l.thirds {
		h := &l.thirds[i]
		h.heads, h.opened, h.chosen = q.Event(), q.Event(), q.Event()
		h.fetched, h.strips, h.scored = q.Event(), q.Event(), q.Event()
	}
}

// choose chooses the track of a batch whose windows need that much.
func (w *windows) choose(needs []need) *track {
	if len(w.tracks) == 1 {
		return &w.tracks[0]
	}
	l := &w.tracks[1+w.batches%(len(w.tracks)-1)]
	room := l.room(0).need()
	for _, n := range needs {
		if n.exceeds(room) {
			return &w.tracks[0]
		}
	}
	return l
}

// enter makes a stream wait for the batches before in tracks that have the same memory as l.
func (w *windows) enter(q *device.Queue, l *track) {
	for i := range w.tracks {
		other := &w.tracks[i]
		if shared := i == 0 || l == &w.tracks[0]; shared && other != l && other.last > l.last {
			q.After(l.up, other.ready)
		}
	}
	w.batches++
	l.last = w.batches
}

// afterAll makes a stream wait for all batches that have been put into tracks.
func (w *windows) afterAll(q *device.Queue, s device.Stream) {
	for i := range w.tracks {
		if l := &w.tracks[i]; l.begun {
			q.After(s, l.ready)
		}
	}
}

// windowDocs is how many documents of a segment a window has.
func (s Shape) windowDocs() uint32 { return uint32(s.WindowTiles) << s.TileShift }

// windowTiles is how many tiles window i of a segment with docs documents has.
func (s Shape) windowTiles(docs uint32, i int) uint32 {
	return min(uint32(s.WindowTiles), s.tiles(docs)-uint32(i*s.WindowTiles))
}

// A windowed is the further state of a batch that goes by windows.
type windowed struct {
	windows *windows
	track   *track
	needs   []need      // of each window
	most    int         // windows of a step
	lists   []*keptList // of the entries
	taken   []takenRecord
	wanted  int64 // bytes of records
	fetched int64 // of these, bytes copied, once the batch is done
	columns int64 // bytes of columns copied in parts

	parted      parted
	listColumns []listColumns
	partColumns []partColumns

	scenes [3]scene // of the steps under way, by thirds
	parts  int      // bytes before them in a scene
	empty  span     // for lists without postings
	bounds [2]span  // of tiles: of the first step, and of all others
	seeds  [2][passes]span
	steps  []step
	passes [passes]queueAt // offsets of the queues of passes in a scene
	queues [2]int          // from where to where they lie
}

// A scene is the lists, parts and queues of a step, as kernels change them: those of its windows,
// and room for as many as the longest step has.
type scene struct {
	span
	items   [passes]itemsAt // of queues
	terms   uint64          // address
	queries uint64
}

// itemsAt are addresses.
type itemsAt struct{ strips, flat, trees uint64 }

// A queueAt has the offsets of a pass's queues from the beginning of a scene.
type queueAt struct{ tiles, strips, flat, trees int }

// A step is some consecutive windows of a batch.
type step struct {
	from, to   int  // windows
	window     span // a devWindow
	scene      span // its initial state
	third      int
	passes     [passes]uint64 // addresses of a devBatch each
	marks      int            // bytes
	slices     int
	units      int
	fetchUnits int
	pieces     bool // it has blocks to copy

	// While the step is written.
	memory     []byte // of the scene
	listSlices []devSlice
	fetches    []devFetch
	device     *devWindow
	room       transient // after marks and pieces
	marksAt    uint64
	wanted     int64 // bytes of records that the host keeps
	fetched    int64 // of these, bytes copied before blocks are chosen
	columns    int64 // bytes of columns
}

const (
	listBytes   = int(unsafe.Sizeof(devList{}))
	partBytes   = int(unsafe.Sizeof(devPart{}))
	queueBytes  = int(unsafe.Sizeof(devQueue{}))
	itemBytes   = int(unsafe.Sizeof(devItem{}))
	pieceBytes  = int(unsafe.Sizeof(devPiece{}))
	windowBatch = int(unsafe.Sizeof(devWindow{}))
)

// A transient is the remaining memory of a step.
type transient struct{ flat, flatEnd, at, end uint64 }

// need is the need that t satisfies.
func (t transient) need() need {
	return need{flat: int(t.flatEnd - t.flat), other: int(t.end - t.at)}
}

func (l *track) room(third int) transient {
	t := &l.thirds[third]
	return transient{l.address, l.address + uint64(l.rows)*rowBytes, t.address, t.address + uint64(t.rows)*rowBytes}
}

// takeFlat takes memory for flat postings. If there is too little, the result ends beyond flatEnd.
func (t *transient) takeFlat(bytes int) (address uint64) {
	address = t.flat
	t.flat += uint64(wholeRows(bytes))
	return address
}

// take takes memory for all else. If there is too little, the result ends beyond end.
func (t *transient) take(bytes int) (address uint64) {
	address = t.at
	t.at += uint64(wholeRows(bytes))
	return address
}
