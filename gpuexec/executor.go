package gpuexec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/gpuexec/listcache"
)

// Options of New. Zero values stand for the defaults.
type Options struct {
	Algorithm Algorithm

	// Cache decides which lists are cached on the device. New sets its Region to all memory that is
	// not for batches. NoCache gives it none.
	Cache   listcache.Config
	NoCache bool

	// Leave leaves extents that are not resident to the CPU, instead of copying them for one batch.
	Leave bool

	// ColumnBytes is the memory for length codes, accepted documents and ranks. The default is a
	// sixteenth of the device's memory. What does not fit is copied with every batch.
	ColumnBytes int64

	// FlatBytes is the memory for flat postings, the form that is scored fastest: 4 bytes a posting,
	// up to 5 of lists that also have bits for counts, and some for directories, in addition to the blocks that they are made from. Other lists are
	// decoded by every query that has them. The default is a quarter of the device's memory; NoFlat
	// makes it 0.
	FlatBytes int64
	NoFlat    bool

	// SmallDocs is the size of segments that are left to the CPU, if they are small beside the others
	// of a plan (small.go). 0 is none.
	SmallDocs uint32

	// BatchBytes is the memory of one batch, of which three are under way at a time. The default is
	// a sixteenth of the device's memory, at most 1 GiB. Each also pins half as much main memory. The
	// length codes of a segment, a byte a document, come with a batch the first time, in that half: if
	// they do not fit beside the batch, it is divided again and again, and the CPU answers its plans.
	BatchBytes int64

	// Stream is for lists that exceed the memory of the device. They stay in main memory. Batches
	// process the documents window by window: what a window lacks is copied from main memory, and
	// all of it that can matter is scored as flat postings. FlatBytes is then ignored, and so is Cache,
	// but for its Policy, which chooses the lists that stay: VFB and Qtf by visits, QtfDf by visits for
	// the length.
	Stream bool

	// WindowBytes is the memory for what windows copy and make flat. The default is what is best for
	// the size of the index (DivideStream), at most 1,650 MiB. Until that is known it is at most a
	// quarter of the device's memory.
	WindowBytes int64

	// HostBytes is how much main memory Stream may pin for lists. Memory is pinned as lists are
	// used, and takes slightly more than on disk. What does not fit is copied with every batch. The
	// default is 32 GiB.
	HostBytes int64

	// StaticLists restricts the lists that stay with Stream to those that Admit has chosen.
	StaticLists bool

	Shape Shape

	// Baselines has the kernels of Ranges, RangesWAND, RangesBMW and Rounds: baselines.Kernels.
	// Other algorithms need none.
	Baselines fs.FS

	// Timed makes Times measure how long kernels take, which costs some microseconds a batch.
	// Traced measures each kernel by itself, one after the other.
	Timed, Traced bool
}

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
// batch; the rest, up to 64 GiB in all, is for lists. Nothing is allocated later.
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

// runOnce answers plans, none of which is answered in two turns (turns.go): of one with Else, it
// answers the tree.
func (x *Executor) runOnce(ctx context.Context, plans []*Plan) ([]Answer, error) {
	answers := make([]Answer, len(plans))
	var taken []int
	for i, p := range plans {
		if err := x.check(p); err != nil {
			answers[i] = refused(p, err)
		} else {
			taken = append(taken, i)
		}
	}
	if err := x.run(ctx, plans, taken, answers); err != nil {
		return nil, err
	}
	return answers, nil
}

// run answers the plans that taken names.
func (x *Executor) run(ctx context.Context, plans []*Plan, taken []int, answers []Answer) error {
	if len(taken) == 0 {
		return nil
	}
	var s *slot
	select {
	case s = <-x.free:
	case <-ctx.Done():
		return ctx.Err()
	}
	byWindows := x.options.Stream
	s.batch.byWindows = byWindows
	if byWindows {
		x.windows.records.begin()
	}
	began := time.Now()
	became, err := x.start(s, plans, taken, answers)
	x.lead.note(time.Since(began), len(taken))
	if err == nil {
		if err = x.dev.Wait(s.done, spinFor(len(taken))); err != nil {
			x.giveUp()
		}
	}
	if err == nil && became == started {
		began := time.Now()
		if err = x.finish(s, answers); err != nil {
			x.giveUp()
		}
		x.note(Times{Answers: time.Since(began)})
	}
	if err == nil && became == started && x.options.Timed {
		err = x.timeKernels(s)
	}
	if byWindows {
		x.windows.records.end()
	}
	s.batch.forget()
	x.free <- s
	switch {
	case err != nil || became == started || became == nothing:
		return err
	case len(taken) > 1:
		half := len(taken) / 2
		if err := x.run(ctx, plans, taken[:half], answers); err != nil {
			return err
		}
		return x.run(ctx, plans, taken[half:], answers)
	}
	answers[taken[0]] = refused(plans[taken[0]], became.refusal())
	return nil
}

// spinFor is how long to look for the end of a batch without sleep. Few queries are a sign of a machine
// with little to do: a core can be spared, and the wake-up of a thread would take a tenth of their time.
func spinFor(plans int) time.Duration {
	if plans > spinPlans {
		return 0
	}
	return mostSpin
}

const (
	spinPlans = 4
	mostSpin  = 600 * time.Microsecond
)

// An outcome is the result of starting a batch.
type outcome uint8

const (
	started outcome = iota // slot.done signals its answers
	nothing                // no plan can be answered
	tooBig                 // it needs more memory than a batch has
	badList                // a list is damaged, or does not fit
)

// refusal is why a batch of one plan has not started.
func (o outcome) refusal() error {
	if o == tooBig {
		return errors.New("gpuexec: more memory than a batch has")
	}
	return errors.New("gpuexec: a list that is damaged or does not fit")
}

// start makes a batch and puts all its work on the streams. It takes the lock only for the work
// that batches share and must do in order.
func (x *Executor) start(s *slot, plans []*Plan, taken []int, answers []Answer) (_ outcome, err error) {
	b := &s.batch
	began := time.Now()
	x.gather(b, plans, taken, answers)
	gathered := time.Since(began)
	if len(b.queries) == 0 {
		return nothing, nil // the event of the last batch stands for this one
	}
	if b.byWindows && !x.windows.records.keep(b) {
		return badList, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	began = time.Now()
	defer func() { x.note(Times{Batches: 1, Host: gathered + time.Since(began)}) }()
	if b.byWindows {
		x.windows.residents.visit(b, &x.known)
		if !b.fillWindows() {
			return tooBig, nil
		}
	} else if !b.fill() {
		return tooBig, nil // nothing has been placed
	}
	became := started
	if !b.byWindows && !b.place(x.cache, x.options.Leave) {
		became = badList // what the cache admitted must still be copied
	}
	handed := time.Now()
	err = x.dev.Do(func(q *device.Queue) { x.put(q, s, became == started) })
	x.note(Times{Driver: time.Since(handed)})
	if err != nil {
		x.forgetAll() // admitted pieces may not have been copied
	}
	return became, err
}

// gather finds out what a batch of plans needs. It refuses plans that the device cannot answer.
func (x *Executor) gather(b *batch, plans []*Plan, taken []int, answers []Answer) {
	b.begin()
	x.known.mu.RLock()
	b.lookup.find(&x.known, plans, taken, b.algorithm.prunes(), b.smallDocs)
	x.known.mu.RUnlock()
	for i := range b.lookup.plans {
		if p := &b.lookup.plans[i]; !b.add(p) {
			answers[p.answer] = refused(p.plan, errDamagedList)
		}
	}
	if !b.byWindows {
		b.findWanted()
	}
}

// giveUp is forgetAll for a batch that the device may still work on.
func (x *Executor) giveUp() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.forgetAll()
}

// forgetAll forgets what is on the device, after a batch was only partly put on the streams. It
// waits for that part, which still reads the batch's memory.
func (x *Executor) forgetAll() {
	x.cache.Reset()
	x.columns.full = true
	x.tables.forget()
	x.flats.forget()
	x.windows.residents.forget()
	_ = x.dev.Do(func(q *device.Queue) { // a lost device refuses, and reads nothing any more
		q.Synchronize(x.in)
		q.Synchronize(x.compute)
		for i := range x.windows.tracks {
			l := &x.windows.tracks[i]
			for _, stream := range []device.Stream{l.up, l.in, l.plan, l.compute, l.whole} {
				q.Synchronize(stream)
			}
		}
		q.Synchronize(x.out)
	})
}

// finish reads the answers of a finished batch.
func (x *Executor) finish(s *slot, answers []Answer) error {
	b := &s.batch
	read := s.results.Bytes()[:b.results.bytes]
	counts := view[[2]uint64](read[b.results.unresolvedCount-b.results.states:])
	count := int(uint32(counts[0]))
	if b.byWindows {
		b.windowed.fetched += int64(counts[1]) * rowBytes
		x.note(Times{WantedBytes: b.windowed.wanted, FetchedBytes: b.windowed.fetched})
	}
	var ranges []devRange
	if n := min(count, b.results.unresolvedRoom); n > 0 {
		var err error
		if ranges, err = x.readRanges(s, n); err != nil {
			return err
		}
	}
	b.answers(read, ranges, count, answers)
	return nil
}

// readRanges copies the unresolved ranges to the host.
func (x *Executor) readRanges(s *slot, n int) ([]devRange, error) {
	b := &s.batch
	bytes := int64(n * rangeBytes)
	at := int64(b.results.unresolved - s.memory.Address)
	err := x.dev.Do(func(q *device.Queue) {
		q.ToHost(x.out, s.staging.Slice(0, bytes), s.memory.Slice(at, at+bytes))
		q.Record(s.done, x.out)
	})
	if err == nil {
		err = x.dev.Wait(s.done, 0)
	}
	return device.View[devRange](s.staging.Slice(0, bytes)), err
}

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
