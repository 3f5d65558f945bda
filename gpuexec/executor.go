package gpuexec

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/gpuexec/listcache"
)

// slots is how many batches are under way: while one is computed, the next is copied to the device,
// and the previous one's results are copied back.
const slots = 3

// MaxMemory is the most memory of a device that row numbers can address: 64 GiB. An Executor cannot
// use more.
const MaxMemory = rowBytes << 32

// An Executor answers batches of plans on one device. It is safe for concurrent use.
type Executor struct {
	dev          *device.Device
	options      Options
	shape        Shape
	memory       device.Memory
	cache        *listcache.Cache
	known        knownLists
	columns      columns
	tables       tables
	flats        flats
	windows      windows
	windowsGiven bool // Options.WindowBytes was set
	tilesGiven   bool // Shape.WindowTiles was
	kernels      map[string]*kernel

	in, compute, out device.Stream

	// Held while a batch is filled and put on the streams. It fixes the order in which batches run.
	mu   sync.Mutex
	free chan *slot

	timesMu sync.Mutex
	times   Times
	lead    lead
}

// A slot is the host's and the device's resources for one batch.
type slot struct {
	batch   batch
	memory  device.Memory
	staging device.Pinned
	results device.Pinned
	filled  device.Event // the batch has been copied to the device
	began   device.Event // its kernels have begun
	done    device.Event // its results are on the host
	ready   device.Event // they are on the device
	trace   trace
}

// New prepares a device, which only this executor may use. BatchBytes of its memory are for each
// batch; the rest, up to 64 GiB in all, is for lists. Nothing is allocated later. Closing the device
// waits for batches.
func New(dev *device.Device, o Options) (*Executor, error) {
	x := &Executor{dev: dev, options: o, free: make(chan *slot, slots)}
	x.shape = o.Shape
	if x.shape.Multiprocessors == 0 {
		x.shape.Multiprocessors = dev.Info().Multiprocessors
	}
	x.tilesGiven = x.shape.WindowTiles != 0
	x.shape = x.shape.withDefaults()
	x.known.shape = x.shape
	x.memory = dev.Memory()
	x.memory.Bytes = min(x.memory.Bytes, MaxMemory-rowBytes)
	if x.options.BatchBytes == 0 {
		x.options.BatchBytes = max(minBatchBytes, min(1<<30, x.memory.Bytes/16))
	}
	x.options.BatchBytes &^= device.ArenaAlign - 1
	if x.options.ColumnBytes == 0 {
		x.options.ColumnBytes = x.memory.Bytes / 16
	}
	if x.options.FlatBytes == 0 && !x.options.NoFlat {
		x.options.FlatBytes = x.memory.Bytes / 4
	}
	if x.options.Stream {
		x.divideWindows()
	}
	if o.Algorithm.isBaseline() && o.Baselines == nil {
		return nil, fmt.Errorf("gpuexec: %v needs Options.Baselines", o.Algorithm)
	}
	if err := x.divide(); err != nil {
		return nil, err
	}
	return x, nil
}

// divide divides the memory between cache and slots, and makes what they need of the device.
func (x *Executor) divide() (err error) {
	bytes := x.options.BatchBytes
	columns := x.options.ColumnBytes &^ (device.ArenaAlign - 1)
	flats := x.options.FlatBytes &^ (device.ArenaAlign - 1)
	stream := x.windows.bytes
	lists := (x.memory.Bytes - slots*bytes - columns - flats - stream) &^ (device.ArenaAlign - 1)
	wrong := func(n int64) bool { return n < 0 || n > x.memory.Bytes } // so that the sum is one of numbers this small
	if slices.ContainsFunc([]int64{bytes, columns, flats, stream}, wrong) || bytes < minBatchBytes || lists < 0 {
		return fmt.Errorf("gpuexec: %d batches of %d bytes (at least %d), %d bytes of columns, %d of windows and %d of flat lists do not fit into %d bytes of device memory",
			slots, bytes, minBatchBytes, columns, stream, flats, x.memory.Bytes)
	}
	if x.options.Stream {
		// The rest is for records; the cache gets nothing.
		x.windows.place(x.memory.Address+uint64(columns)+uint64(slots*bytes), stream, lists)
		lists = 0
	}
	x.flats.address, x.flats.rows = x.memory.Address+uint64(lists+columns)+uint64(slots*bytes), uint32(flats/rowBytes)
	x.columns.row, x.columns.rows = uint32(lists/rowBytes), uint32(columns/rowBytes)
	x.columns.address = x.memory.Address + uint64(lists)
	tables := lists / tablesShare &^ (device.ArenaAlign - 1)
	lists -= tables
	x.tables.row, x.tables.rows = uint32(lists/rowBytes), uint32(tables/rowBytes)
	x.tables.address = x.memory.Address + uint64(lists)
	c := x.options.Cache
	c.Region = listcache.Region{Rows: uint32(lists / rowBytes)}
	if x.options.NoCache {
		c.Region.Rows = 0
	}
	if x.cache, err = listcache.New(c); err != nil {
		return err
	}
	return x.dev.Do(func(q *device.Queue) {
		x.in, x.compute, x.out = q.Urgent(2), q.Stream(), q.Stream()
		x.load(q)
		x.openTracks(q)
		for i := range int64(slots) {
			from := lists + tables + columns + i*bytes
			s := &slot{memory: x.memory.Slice(from, from+bytes)}
			s.trace.on = x.options.Traced
			s.staging, s.results = q.Pin(bytes/2), q.Pin(bytes/16)
			s.filled, s.began, s.ready, s.done = q.Event(), q.Event(), q.Event(), q.Event()
			s.batch.staging = staging{
				host: s.staging.Bytes(), address: s.memory.Address, size: int(bytes),
				row: uint32((s.memory.Address - x.memory.Address) / rowBytes),
			}
			s.batch.algorithm, s.batch.shape, s.batch.arena = x.options.Algorithm, x.shape, x.memory.Address
			s.batch.windowed.parted.kept, s.batch.scratch = &x.windows.columns, scratchPool{dev: x.dev}
			s.batch.windowed.windows, s.batch.smallDocs = &x.windows, x.options.SmallDocs
			s.batch.placed.columns, s.batch.flat.flats, s.batch.resultRoom = &x.columns, &x.flats, int(s.results.Len())
			s.batch.lists.slot, s.batch.lists.known, s.batch.lists.tables = int(i), &x.known, &x.tables
			s.batch.lists.cache = x.cache
			x.free <- s
		}
	})
}

// openTracks makes what tracks need of the device. The first one shares its main streams with
// batches that do not go by windows.
func (x *Executor) openTracks(q *device.Queue) {
	w := &x.windows
	w.moved, w.stay = q.Event(), q.Event()
	for i := range w.tracks {
		l := &w.tracks[i]
		l.open(q)
		l.in, l.compute = x.in, x.compute
		if i > 0 {
			l.in, l.compute = q.Urgent(2), q.Stream()
		}
	}
	if !x.options.Traced {
		return
	}
	// One after the other, since concurrent kernels take longer.
	x.in = x.compute
	for i := range w.tracks {
		l := &w.tracks[i]
		l.up, l.in, l.plan, l.compute, l.whole = x.compute, x.compute, x.compute, x.compute, x.compute
	}
}

// tablesShare is the fraction of the memory for lists that the tables of their extents get. An
// extent has a head of 320 bytes and some 2 to 4 KB of payload, and takes 16 bytes in a table.
const tablesShare = 128

// minBatchBytes is enough for one query of a few short lists.
const minBatchBytes = 4 << 20

// Cache is the cache of lists. Callers read its statistics and drop lists that no query will use
// again.
func (x *Executor) Cache() *listcache.Cache { return x.cache }

// Drop forgets the lists whose keys gone reports, as no query will use them again.
func (x *Executor) Drop(gone func(key uint64) bool) {
	x.cache.Drop(gone)
	x.known.forgetKeyless()
	if x.options.Stream { // otherwise their visits would keep others from the device
		x.known.forget(gone)
		x.windows.residents.drop(gone)
	}
}

// Room is about how many postings can stay on the device: as flat postings, of some 4.8 bytes, and in
// the blocks of the list cache or, with Stream, in records, at some 1.4 bytes a posting with their
// directories.
func (x *Executor) Room() uint64 {
	blocks := x.cache.Stats().Bytes
	if x.options.Stream {
		blocks = int64(x.windows.residents.rows) * rowBytes
	}
	return uint64(blocks)*10/14 + uint64(x.flats.rows)*rowBytes*10/48
}

// Name identifies the executor: "gpu/maxscore".
func (x *Executor) Name() string {
	if x.options.Algorithm == Auto {
		return "gpu/" + MaxScore.String()
	}
	return "gpu/" + x.options.Algorithm.String()
}

// Prunes reports whether blocks that cannot matter are skipped.
func (x *Executor) Prunes() bool { return x.options.Algorithm.prunes() }

// Partials is Run without the reasons why plans were refused.
func (x *Executor) Partials(ctx context.Context, plans []*Plan) ([]blockmax.Partial, error) {
	answers, err := x.Run(ctx, plans)
	if err != nil {
		return nil, err
	}
	parts := make([]blockmax.Partial, len(answers))
	for i := range answers {
		parts[i] = answers[i].Partial
	}
	return parts, nil
}

// Resident is how many bytes of the list with a key need not be copied to the device. If the list
// is resident as flat postings, which suffice for most queries, the result exceeds the size of any
// list.
func (x *Executor) Resident(key uint64) int64 {
	if _, flat := x.flats.keys.Load(key); flat {
		return math.MaxInt64
	}
	if bytes, ok := x.windows.residents.bytes.Load(key); ok {
		return bytes.(*atomic.Int64).Load()
	}
	return x.cache.Resident(key)
}

// TileDocs is the number of documents in a tile of the device.
func (x *Executor) TileDocs() uint32 { return 1 << x.shape.TileShift }

// Lost is why the device can no longer be used, or nil.
func (x *Executor) Lost() error { return x.dev.Lost() }
