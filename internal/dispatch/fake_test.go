package dispatch

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
)

// A fakeDevice answers plans on the CPU except for some tiles, and fails on demand.
type fakeDevice struct {
	mu      sync.Mutex
	rng     *rand.Rand
	open    float64          // share of tiles left open
	batches [][]*Plan        // that it received
	on      map[uint64]int64 // resident bytes of lists
	fail    func(batch int) error
	lost    error
	hold    chan struct{} // if not nil, each batch waits for one element
	began   chan struct{} // if not nil, receives one element per batch that begins
}

func newFake() *fakeDevice { return &fakeDevice{rng: rand.New(rand.NewPCG(1, 1))} }

func (f *fakeDevice) Partials(ctx context.Context, plans []*Plan) ([]blockmax.Partial, error) {
	f.mu.Lock()
	f.batches = append(f.batches, append([]*Plan(nil), plans...))
	number, hold, began := len(f.batches)-1, f.hold, f.began
	f.mu.Unlock()
	if began != nil {
		began <- struct{}{}
	}
	if hold != nil {
		<-hold
	}
	if f.fail != nil {
		if err := f.fail(number); err != nil {
			return nil, err
		}
	}
	answers := make([]blockmax.Partial, len(plans))
	for i, p := range plans {
		var err error
		if answers[i], err = f.answer(ctx, p); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// answer answers a plan except for some tiles. It leaves plans that are not flat open whole, as a
// device does with plans that it refuses.
func (f *fakeDevice) answer(ctx context.Context, p *Plan) (part blockmax.Partial, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := *p
	first.Profile = nil // devices keep none
	first.Segments = append([]blockmax.Segment(nil), p.Segments...)
	part.Pass = blockmax.And
	for s := range first.Segments {
		seg := &first.Segments[s]
		accept := make([]uint64, (seg.Docs+63)/64)
		for from := uint32(0); from < seg.Docs; from += blockmax.TileDocs {
			to := min(from+blockmax.TileDocs, seg.Docs)
			if p.Tree != nil || p.Mode == blockmax.AndOr || f.rng.Float64() < f.open {
				part.Open = append(part.Open, blockmax.Span{Segment: s, From: from, To: to})
				continue
			}
			for d := from; d < to; d++ {
				if seg.Accept == nil || seg.Accept[d/64]>>(d%64)&1 == 1 {
					accept[d/64] |= 1 << (d % 64)
				}
			}
		}
		seg.Accept, seg.Few = accept, nil
	}
	if p.Tree != nil || p.Mode == blockmax.AndOr {
		part.Top.Exact = true
		return part, nil
	}
	part.Top, err = cpuexec.Executor{}.TopK(ctx, &first)
	return part, err
}

func (f *fakeDevice) Resident(key uint64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.on[key]
}

func (f *fakeDevice) Lost() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}

// sizes returns how many plans each batch had.
func (f *fakeDevice) sizes() (sizes []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.batches {
		sizes = append(sizes, len(b))
	}
	return sizes
}

var errBroken = errors.New("the fake device is broken")

// start makes a Dispatcher that is closed when the test ends.
func start(t *testing.T, o Options, devices ...*fakeDevice) *Dispatcher {
	var all []Device
	for _, f := range devices {
		all = append(all, f)
	}
	d := New(all, o)
	t.Cleanup(d.Close)
	return d
}
