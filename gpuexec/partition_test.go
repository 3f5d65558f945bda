package gpuexec_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/gpuexec/partition"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/postings"
)

// leastDocs is the least size of a range: most segments of exectest are cut.
const leastDocs = 20

// A ranged executor gives lists keys, so that they are cached, and runs each plan in a batch with
// preceding ones, whose answers must not change. The CPU finishes what the devices leave open.
type ranged struct {
	set            *partition.Set
	devices        []*gpuexec.Executor
	keys           map[*postings.List]uint64
	segments       uint64
	plans          []*exectest.Plan
	tops           []blockmax.TopK
	whole, partial int
	mu             sync.Mutex // of failures
	failures       []failure
	cut            int // plans with a segment that several devices share
}

// openRanged returns n devices of the machine, which may be emulated, with caches of that many bytes.
func openRanged(t testing.TB, n int, cacheBytes int64, o gpuexec.Options) *ranged {
	t.Helper()
	t.Setenv("RIFFLE_EMULATOR_DEVICES", fmt.Sprint(n)) // a machine with GPUs ignores this
	r := &ranged{keys: map[*postings.List]uint64{}}
	var all []partition.Device
	if list, err := device.List(); err != nil || len(list) < n {
		t.Skip("there are not enough devices: ", err)
	}
	shape := small
	if o.Shape != (gpuexec.Shape{}) {
		shape = o.Shape
	}
	for i := range n {
		x := openShaped(t, i, cacheBytes, o, shape)
		r.devices, all = append(r.devices, x), append(all, x)
	}
	r.hold(all)
	return r
}

// hold makes the set of some devices.
func (r *ranged) hold(all []partition.Device) {
	r.set = partition.New(all, partition.Options{TileDocs: r.devices[0].TileDocs(), LeastDocs: leastDocs, Failed: func(i int, lost bool, _ error) {
		r.mu.Lock() // devices fail side by side
		defer r.mu.Unlock()
		r.failures = append(r.failures, failure{i, lost})
	}})
}

// A failure is what Options.Failed was told.
type failure struct {
	device int
	lost   bool
}

func (r *ranged) Name() string { return "ranges" }

// Prunes does not require it here: a range of such a small index has a handful of documents.
func (r *ranged) Prunes() bool { return false }

func (r *ranged) TopK(ctx context.Context, p *exectest.Plan) (blockmax.TopK, error) {
	r.key(p)
	const companions = 4
	if len(r.plans) > companions {
		r.plans, r.tops = r.plans[1:], r.tops[1:]
	}
	r.plans = append(r.plans, p)
	partials, err := r.set.Partials(ctx, r.plans)
	if err != nil {
		return blockmax.TopK{}, err
	}
	var top blockmax.TopK
	for i, p := range r.plans {
		if top, err = r.finish(ctx, p, &partials[i]); err != nil {
			return top, err
		}
		if i < len(r.tops) && !slices.Equal(top.Hits, r.tops[i].Hits) {
			return top, fmt.Errorf("plan %d of a batch of %d is answered otherwise than before", i, len(r.plans))
		}
	}
	r.tops = append(r.tops, top)
	return top, nil
}

// key gives lists keys, with a segment's number in the high half; every seventh has none.
func (r *ranged) key(p *exectest.Plan) {
	for i := range p.Segments {
		s := &p.Segments[i]
		s.Terms = slices.Clone(s.Terms)
		if s.Docs > 2*leastDocs {
			r.cut++
		}
		number := r.numberOf(s)
		for t := range s.Terms {
			l := s.Terms[t].List
			if l == nil {
				continue
			}
			if r.keys[l] == 0 {
				r.keys[l] = number<<32 | uint64(len(r.keys)+1)
			}
			if r.keys[l]%7 != 0 {
				s.Terms[t].Key = r.keys[l]
			}
		}
	}
}

// numberOf is a segment's number. A segment gets another one when no list of a plan has been seen.
func (r *ranged) numberOf(s *blockmax.Segment) uint64 {
	for t := range s.Terms {
		if key := r.keys[s.Terms[t].List]; key != 0 {
			return key >> 32
		}
	}
	r.segments++
	return r.segments
}

func (r *ranged) finish(ctx context.Context, p *exectest.Plan, a *blockmax.Partial) (blockmax.TopK, error) {
	if len(a.Open) == 0 {
		r.whole++
		return a.Top, nil
	}
	if p.Tree == nil && p.K <= 1000 {
		r.partial++
	}
	return cpuexec.Executor{}.Finish(ctx, p, a)
}

// A rangedSetting is devices that hold ranges, and what they lose.
type rangedSetting struct {
	name    string
	devices int
	cache   int64
	o       gpuexec.Options
	lose    int // extents of 10
	seed    uint64
}

func (s *rangedSetting) open(t *testing.T) *ranged {
	t.Helper()
	r := openRanged(t, s.devices, s.cache, s.o)
	for _, x := range r.devices {
		loseSome(x, s.lose, s.seed)
	}
	return r
}

// TestPartition deals the documents of random indexes to several devices, with caches of no size to
// everything, and with lists that are left to the CPU, missing, or streamed.
func TestPartition(t *testing.T) {
	for _, test := range []rangedSetting{
		{"2 devices", 2, 8 << 20, gpuexec.Options{}, 0, 21},
		{"3 devices", 3, 8 << 20, gpuexec.Options{}, 0, 22},
		{"no cache", 3, 0, gpuexec.Options{}, 0, 23},
		{"small cache", 2, 16 << 10, gpuexec.Options{FlatBytes: 64 << 10}, 0, 24},
		{"some extents missing", 3, 8 << 20, gpuexec.Options{}, 2, 25},
		{"exhaustive", 2, 8 << 20, gpuexec.Options{Algorithm: gpuexec.Exhaustive}, 0, 26},
		{"streams", 2, 32 << 20, gpuexec.Options{Stream: true, WindowBytes: 8 << 20, HostBytes: 16 << 20}, 0, 27},
		{"small segments", 2, 8 << 20, gpuexec.Options{SmallDocs: 1000}, 0, 28},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := test.open(t)
			if err := exectest.Check(r, test.seed, exectest.Fewer(20)); err != nil {
				t.Error(err)
			}
			if (test.lose > 0 || test.o.SmallDocs > 0) != (r.partial > 0) || r.whole == 0 || r.cut == 0 {
				t.Errorf("%d whole answers, %d partial, %d segments cut", r.whole, r.partial, r.cut)
			}
		})
	}
}

// A failing device answers every batch but some.
type failing struct {
	partition.Device
	batches int
	fails   func(batch int) bool
}

func (f *failing) Partials(ctx context.Context, plans []*exectest.Plan) ([]blockmax.Partial, error) {
	if f.batches++; f.fails(f.batches) {
		return nil, errors.New("no answer")
	}
	return f.Device.Partials(ctx, plans)
}

// TestPartitionFails lets the CPU answer the ranges of devices that fail, now and then or for good. When all
// have failed there is an error.
func TestPartitionFails(t *testing.T) {
	r := openRanged(t, 3, 8<<20, gpuexec.Options{})
	broken := false
	r.hold([]partition.Device{
		&failing{Device: r.devices[0], fails: func(n int) bool { return broken || n%3 == 0 }},
		&failing{Device: r.devices[1], fails: func(n int) bool { return n > 10 }},
		&failing{Device: r.devices[2], fails: func(n int) bool { return broken }},
	})
	if err := exectest.Check(r, 28, exectest.Fewer(20)); err != nil {
		t.Fatal(err)
	}
	if r.whole == 0 || r.partial == 0 || r.set.Lost() != nil || r.set.LostDevices() != 1 || r.set.FailedBatches() < patience {
		t.Errorf("%d answers are whole, %d partial, %d batches have failed, %d devices are lost: %v", r.whole, r.partial, r.set.FailedBatches(), r.set.LostDevices(), r.set.Lost())
	}
	if i := slices.IndexFunc(r.failures, func(f failure) bool { return f.lost }); i < 0 || r.failures[i].device != 1 {
		t.Errorf("reported as lost: %v", r.failures)
	}
	broken = true
	for seed := uint64(29); r.set.Lost() == nil && seed < 50; seed++ {
		if err := exectest.Check(r, seed, 20); err == nil {
			t.Error("no device has answered, and there is no error")
		}
	}
	if r.set.Lost() == nil {
		t.Error("the set is not lost")
	}
}

// patience is how many batches in a row a device may fail.
const patience = 3

// TestPartitionGrows searches long lists in the shape that a GPU is given, while the index grows by a
// segment. Answers are the CPU's, and what the devices have of the lists of the first segment stays.
func TestPartitionGrows(t *testing.T) {
	r := openRanged(t, 2, 8<<20, gpuexec.Options{Shape: gpuexec.Shape{Multiprocessors: 2, StripTiles: -1}})
	first := newCollection(100_000, []float64{0.3, 0.1, 0.02, 0.001})
	second := newCollection(40_000, []float64{0.3, 0.1, 0.02, 0.001})
	rng := rand.New(rand.NewPCG(5, 5))
	var small, grown []*exectest.Plan
	for i, k := range []int{1, 10, 100, 1000, 10, 100} {
		p := first.plan(rng, blockmax.Mode(i%3), k, 2)
		p.CountAll = i == 4
		if i == 5 {
			p.After = &blockmax.Hit{Score: 1 << 27, Doc: 70_000}
		}
		small = append(small, p)
		q := *p
		q.Segments = append(slices.Clone(p.Segments), blockmax.Segment{Base: first.docs, Docs: second.docs})
		for t := range p.Segments[0].Terms {
			term := second.lists[p.Segments[0].Terms[t].Key-1]
			term.Key |= 1 << 32
			q.Segments[1].Terms = append(q.Segments[1].Terms, term)
		}
		grown = append(grown, &q)
	}
	copied := func(plans []*exectest.Plan) (bytes int64) {
		for _, x := range r.devices {
			bytes -= x.Cache().Stats().CopiedBytes
		}
		partials, err := r.set.Partials(t.Context(), plans)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range plans {
			want, err := cpuexec.Executor{}.TopK(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			got := partials[i].Top
			if len(partials[i].Open) > 0 || !slices.Equal(got.Hits, want.Hits) || p.CountAll && (!got.Exact || got.Total != want.Total) {
				t.Errorf("plan %d: %d hits of %d documents, want %d of %d; %v are open", i, len(got.Hits), got.Total, len(want.Hits), want.Total, partials[i].Open)
			}
		}
		for _, x := range r.devices {
			bytes += x.Cache().Stats().CopiedBytes
			if s := x.Cache().Stats(); s.UsedBytes == 0 {
				t.Error("a device has nothing")
			}
		}
		return bytes
	}
	all := copied(small)
	if all == 0 {
		t.Error("nothing was copied")
	}
	for range 3 { // lists become flat meanwhile
		if n := copied(small); n != 0 {
			t.Errorf("%d bytes are copied again", n)
		}
	}
	if n := copied(grown); n == 0 || n >= all {
		t.Errorf("the second segment takes %d bytes, the first took %d", n, all)
	}
	if n := copied(grown) + copied(small); n != 0 {
		t.Errorf("%d bytes are copied again", n)
	}
	if n := r.set.Resident(first.lists[0].Key); n < int64(first.lists[0].List.PayloadRows())*postings.RowBytes {
		t.Errorf("%d bytes of a list are resident, of %d rows", n, first.lists[0].List.PayloadRows())
	}
}
