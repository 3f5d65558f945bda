package invert

import (
	"errors"
	"fmt"
	"time"

	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/segment"
)

// A Sorter inverts on one device. Only one goroutine may use it at a time.
type Sorter struct {
	dev     *device.Device
	kernels map[string]device.Kernel
	stream  device.Stream
	slabs   [2]slab
	args    device.Pinned
	done    device.Event
	arena   arena
	stats   Stats
	options Options
}

// Options of New.
type Options struct {
	// Trees finds terms with B-trees, as Wei 2011 does, instead of by the faster sorting. It takes
	// half as much memory again.
	Trees bool
}

// bytesEach is how much device memory a byte of records takes.
func (o Options) bytesEach() int64 {
	if o.Trees {
		return 36
	}
	return 24
}

var _ segment.Sorter = (*Sorter)(nil)

// Stats report what a Sorter has done so far. Times are how long its caller waited.
type Stats struct {
	Sorts   int
	Records int64
	Bytes   int64 // of input records
	Sorted  int64 // of output records

	Upload   time.Duration // to the device
	Sort     time.Duration // split, sort, measure and gather there
	Download time.Duration
}

const (
	maxRoom  = 1 << 30  // offsets have 32 bits, and the output may be twice as long
	fixed    = 64 << 10 // of device memory, for what does not depend on the records
	slabSize = 4 << 20
	maxSteps = 64 // of one batch of launches
)

// MinMemory is the least device memory that a Sorter works with. It suffices only for tests.
const MinMemory = 256 << 10

// New prepares a device, which only this Sorter may use.
func New(dev *device.Device, o Options) (*Sorter, error) {
	if b := dev.Memory().Bytes; b < MinMemory {
		return nil, fmt.Errorf("gpu %d: %d bytes of device memory are too few to build with, at least %d are needed", dev.Info().Number, b, MinMemory)
	}
	s := &Sorter{dev: dev, kernels: map[string]device.Kernel{}, options: o}
	size := min(slabSize, dev.Memory().Bytes)
	err := dev.Do(func(q *device.Queue) {
		for module, names := range map[string][]string{
			"split":  {"count_records", "split_records"},
			"sort":   {"make_keys", "count_digits", "move_entries", "mark_groups", "keep_entries"},
			"trees":  {"mark_collections", "list_collections", "grow_trees"},
			"scan":   {"sum_tiles", "sum_before_each"},
			"gather": {"measure_records", "gather_records"},
		} {
			m := q.Load(ptx(module))
			for _, name := range names {
				s.kernels[name] = q.Kernel(m, name)
			}
		}
		s.stream, s.done = q.Stream(), q.Event()
		s.args = q.Pin(maxSteps*argsBytes + 8)
		for i := range s.slabs {
			s.slabs[i] = slab{memory: q.Pin(size), event: q.Event()}
		}
	})
	return s, err
}

// Room implements segment.Sorter.
func (s *Sorter) Room() int { return s.options.RoomIn(s.dev.Memory().Bytes) }

// RoomIn is the Room of a Sorter with that much device memory.
func (o Options) RoomIn(memory int64) int {
	return int(max(0, min(maxRoom, (memory-fixed)/o.bytesEach())))
}

// MemoryFor is the device memory needed for that many bytes of records.
func (o Options) MemoryFor(records int64) int64 {
	return max(MinMemory, o.bytesEach()*min(records, maxRoom)+fixed)
}

// Stats returns what was done so far.
func (s *Sorter) Stats() Stats { return s.stats }

// Sort implements segment.Sorter. Besides device errors there are two: pieces beyond Room, and
// terms of more than 448 bytes with the same beginning, which would take more rounds than they are
// worth.
func (s *Sorter) Sort(cells int, pieces []segment.Piece) ([][]byte, error) {
	if err := s.dev.Hold(); err != nil {
		return nil, err
	}
	defer s.dev.Release()
	start := time.Now()
	lap := func(to *time.Duration) {
		now := time.Now()
		*to += now.Sub(start)
		start = now
	}
	r := run{s: s, cells: cells}
	if err := r.upload(pieces); err != nil {
		return nil, err
	}
	lap(&s.stats.Upload)
	order := r.sort
	if s.options.Trees {
		order = r.trees
	}
	for _, step := range []func() error{r.split, order, r.gather} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	lap(&s.stats.Sort)
	out, err := r.download()
	if err != nil {
		return nil, err
	}
	lap(&s.stats.Download)
	s.stats.Sorts++
	s.stats.Records += int64(r.args.recordCount)
	s.stats.Bytes += int64(r.bytes)
	s.stats.Sorted += r.out.Bytes
	return out, nil
}

// An arena hands out a run's parts of the device's memory.
type arena struct {
	memory device.Memory
	used   int64
}

var errNoRoom = errors.New("gpu: more records than there is device memory for")

// take takes that many bytes, aligned like the whole.
func (a *arena) take(bytes int64) (device.Memory, error) {
	end := a.used + bytes
	if end > a.memory.Bytes {
		return device.Memory{}, errNoRoom
	}
	m := a.memory.Slice(a.used, end)
	a.used = min((end+device.ArenaAlign-1)/device.ArenaAlign*device.ArenaAlign, a.memory.Bytes)
	return m, nil
}
