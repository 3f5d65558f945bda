package partition

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// A Plan is a query over lists of package postings.
type Plan = blockmax.Plan

// A Device answers batches of plans: *gpuexec.Executor.
type Device interface {
	Partials(ctx context.Context, plans []*Plan) ([]blockmax.Partial, error)
	Refuses(*Plan) error
	Resident(key uint64) int64
	Lost() error
}

// Options of New. Zero values stand for the defaults.
type Options struct {
	// TileDocs is the number of documents in a tile of the devices. Ranges begin at tiles.
	TileDocs uint32

	// LeastDocs is how many documents a range must have on average. Segments with fewer for each
	// device go to one device as a whole. The default is 65,536.
	LeastDocs uint32

	// DirectoryBytes bounds the main memory for the directories of parts of lists, for all devices
	// together. They take up to a tenth of the lists' bytes. The default is 8 GiB.
	DirectoryBytes int64

	// Failed is called when a device has failed to answer a batch, and says whether it gets no
	// further ones. It may be nil.
	Failed func(device int, lost bool, err error)
}

// patience is how many batches in a row a device may fail.
const patience = 3

// A Set is devices that hold an index together. It is safe for concurrent use.
type Set struct {
	options Options
	cuts    cuts
	members []*member

	failedBatches atomic.Int64 // that others have answered in part
}

// A member is a device and what is known of its parts.
type member struct {
	Device
	lists    lists
	failures atomic.Int64 // in a row
	lost     atomic.Pointer[error]
}

// New makes a Set of devices, at least one.
func New(devices []Device, o Options) *Set {
	o.TileDocs = max(o.TileDocs, postings.BlockSize)
	if o.LeastDocs == 0 {
		o.LeastDocs = 1 << 16
	}
	if o.DirectoryBytes == 0 {
		o.DirectoryBytes = 8 << 30
	}
	s := &Set{options: o, cuts: cuts{devices: len(devices), unit: o.TileDocs, leastDocs: o.LeastDocs}}
	for _, d := range devices {
		m := &member{Device: d}
		m.lists.most = int(o.DirectoryBytes) / len(devices) / 2 // of each of two generations
		s.members = append(s.members, m)
	}
	return s
}

// Refuses returns why the devices cannot answer a plan, whatever they have in memory, or nil.
func (s *Set) Refuses(p *Plan) error { return s.members[0].Refuses(p) }

// Lost is why no device can be used any longer, or nil.
func (s *Set) Lost() error {
	var first error
	for _, m := range s.members {
		err := m.gone()
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// gone is why a device gets no further batches, or nil.
func (m *member) gone() error {
	if err := m.lost.Load(); err != nil {
		return *err
	}
	return m.Lost()
}

// FailedBatches is how many batches some devices have failed to answer while others did.
func (s *Set) FailedBatches() int64 { return s.failedBatches.Load() }

// LostDevices is how many devices get no further batches.
func (s *Set) LostDevices() (n int64) {
	for _, m := range s.members {
		if m.gone() != nil {
			n++
		}
	}
	return n
}

// DeviceLost returns why a device gets no further batch, or nil.
func (s *Set) DeviceLost(i int) error { return s.members[i].gone() }

// note takes note of the result of a device's batch.
func (s *Set) note(i int, err error) {
	m := s.members[i]
	if err == nil {
		m.failures.Store(0)
		return
	}
	lost := m.Lost() != nil
	if m.failures.Add(1) >= patience && !lost {
		lost = true
		why := fmt.Errorf("partition: %d batches failed in a row: %w", patience, err)
		m.lost.Store(&why)
	}
	if s.options.Failed != nil {
		s.options.Failed(i, lost, err)
	}
}

// Resident is how many bytes of the list with a key need not be copied to the devices; it may exceed
// the list's size.
func (s *Set) Resident(key uint64) int64 {
	sum, parts, flat := int64(0), 0, 0
	for _, m := range s.members {
		known := m.lists.find(key)
		if known == nil || known.part == nil && !known.whole {
			continue
		}
		parts++
		n := m.Resident(key)
		if n == math.MaxInt64 {
			flat++
			if n = 0; known.part != nil {
				n = postings.RowBytes * int64(known.part.PayloadRows())
			}
		}
		sum += n
	}
	if parts > 0 && flat == parts {
		return math.MaxInt64
	}
	return sum
}

// Drop forgets the lists whose keys gone reports. Devices forget them on their own.
func (s *Set) Drop(gone func(key uint64) bool) {
	s.cuts.drop(gone)
	for _, m := range s.members {
		m.lists.drop(gone)
	}
}

// Parts returns what each device is asked for a plan: nil for those that have nothing to do. The
// lists of plan must stay in use as long as the parts are.
func (s *Set) Parts(p *Plan) ([]*Plan, error) {
	b := s.begin([]*Plan{p})
	if b.refused[0] {
		return nil, s.Refuses(p)
	}
	parts := make([]*Plan, len(s.members))
	for i := range s.members {
		ask := new(inquiry)
		b.make(i, b.first, ask)
		if len(ask.plans) > 0 {
			parts[i] = ask.plans[0]
			parts[i].Mode = p.Mode
		}
	}
	return parts, nil
}

// Partials answers plans as far as the devices can; answers are parallel to plans. An error says
// that no device has answered, or that the context has ended.
func (s *Set) Partials(ctx context.Context, plans []*Plan) ([]blockmax.Partial, error) {
	b := s.begin(plans)
	if err := b.ask(ctx, b.first); err != nil {
		return nil, err
	}
	if err := b.ask(ctx, b.second()); err != nil {
		return nil, err
	}
	return b.answers, nil
}

// share calls do for ranges of [0, n) on several goroutines.
func share(workers, n int, do func(from, to int)) {
	const least = 64
	workers = max(1, min(workers, n/least))
	var group sync.WaitGroup
	for w := 1; w < workers; w++ {
		group.Go(func() { do(w*n/workers, (w+1)*n/workers) })
	}
	do(0, n/workers)
	group.Wait()
}
