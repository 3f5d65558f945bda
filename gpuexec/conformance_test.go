package gpuexec_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/gpuexec/baselines"
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/postings"
)

// small is a shape for small indexes on a slow emulator: many tiles, few threads.
var small = gpuexec.Shape{TileShift: 8, TileThreads: 64, LeadThreads: 64, RangeThreads: 32, StageLengths: 5, StripTiles: -1, WindowTiles: 16, Multiprocessors: 1}

// batchBytes is the memory of a batch in tests, of which three run at a time.
const batchBytes = 8 << 20

// columnBytes is small enough that columns are dropped now and then.
const columnBytes = 256 << 10

// flatBytes is enough for the lists of small indexes.
const flatBytes = 16 << 20

// open returns an executor on device n of the machine, which may be emulated, with a cache of that
// many bytes.
func open(t testing.TB, n int, cacheBytes int64, o gpuexec.Options) *gpuexec.Executor {
	t.Helper()
	return openShaped(t, n, cacheBytes, o, small)
}

func openShaped(t testing.TB, n int, cacheBytes int64, o gpuexec.Options, shape gpuexec.Shape) *gpuexec.Executor {
	t.Helper()
	if o.FlatBytes == 0 {
		o.FlatBytes = flatBytes
	}
	o.Shape = shape
	return openSized(t, n, columnBytes+o.FlatBytes+cacheBytes, o)
}

// openSized returns an executor on device n with that many bytes of memory in addition to its
// batches'.
func openSized(t testing.TB, n int, bytes int64, o gpuexec.Options) *gpuexec.Executor {
	t.Helper()
	dev := openDevice(t, n, 3*batchBytes+bytes)
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	o.BatchBytes, o.ColumnBytes, o.Baselines = batchBytes, columnBytes, baselines.Kernels
	x, err := gpuexec.New(dev, o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// openDevice opens device n with that many bytes of memory. The caller closes it.
func openDevice(t testing.TB, n int, bytes int64) *device.Device {
	t.Helper()
	dev, err := device.Open(n, device.Options{MemoryBytes: bytes})
	if errors.Is(err, device.ErrNoDevice) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dev
}

// A composed executor lets the CPU finish what the device leaves open, as the engine does.
type composed struct {
	*gpuexec.Executor
	whole, partial, refused *int // answers
	flatRefused             *int
	unread                  *int // answers with hits that report no decoded block
}

func compose(x *gpuexec.Executor) composed {
	return composed{x, new(int), new(int), new(int), new(int), new(int)}
}

// Prunes does not require it of ranges here. In such a small index each range has a handful of
// documents, so it finds its own k best only at its end. TestRangesSkip requires it on longer
// lists.
func (c composed) Prunes() bool {
	return c.Executor.Prunes() && !strings.HasPrefix(c.Name(), "gpu/ranges-")
}

func (c composed) TopK(ctx context.Context, p *exectest.Plan) (blockmax.TopK, error) {
	answers, err := c.Run(ctx, []*exectest.Plan{p})
	if err != nil {
		return blockmax.TopK{}, err
	}
	return c.complete(ctx, p, &answers[0])
}

func (c composed) complete(ctx context.Context, p *exectest.Plan, a *gpuexec.Answer) (blockmax.TopK, error) {
	switch {
	case a.Refused != nil:
		*c.refused++
		if p.Tree == nil && p.K <= 1000 {
			*c.flatRefused++
		}
	case len(a.Open) > 0:
		*c.partial++
	default:
		*c.whole++
		if len(a.Top.Hits) > 0 && a.Top.Work.BlocksDecoded == 0 {
			*c.unread++
		}
		return a.Top, nil
	}
	return cpuexec.Executor{}.Finish(ctx, p, &a.Partial)
}

var all = []gpuexec.Algorithm{
	gpuexec.Exhaustive, gpuexec.WAND, gpuexec.BMW, gpuexec.MaxScore, gpuexec.Rounds,
	gpuexec.Ranges, gpuexec.RangesWAND, gpuexec.RangesBMW,
}

// TestConformance runs single plans, with all their lists.
func TestConformance(t *testing.T) {
	for _, a := range all {
		t.Run(a.String(), func(t *testing.T) {
			c := compose(open(t, 0, 32<<20, gpuexec.Options{Algorithm: a}))
			exectest.Run(t, c)
			if *c.unread > 0 {
				t.Errorf("%d answers come from no block", *c.unread)
			}
			if *c.flatRefused > 0 || *c.partial > 0 || *c.whole == 0 {
				t.Errorf("%d whole answers, %d partial, %d refused, %d of them flat plans", *c.whole, *c.partial, *c.refused, *c.flatRefused)
			}
		})
	}
}

// loseSome makes so many extents of ten missing, at random. With 0 everything is as in production.
func loseSome(x *gpuexec.Executor, ofTen int, seed uint64) {
	if ofTen == 0 {
		return
	}
	rng := rand.New(rand.NewPCG(1, seed))
	x.Lose(func(int) bool { return rng.IntN(10) < ofTen })
}

// A batching executor gives lists keys, so that they are cached. It runs each plan in a batch with
// preceding ones, whose answers must not change.
type batching struct {
	composed
	keys  map[*postings.List]uint64
	plans []*exectest.Plan
	tops  []blockmax.TopK

	byStrips uint32 // tiles, counted more than once
}

func newBatching(x *gpuexec.Executor) *batching {
	return &batching{composed: compose(x), keys: map[*postings.List]uint64{}}
}

// checkRounds is how many random indexes suffice where many settings are tried.
const checkRounds = 100

// companions is how many plans run along with the current one.
const companions = 6

func (b *batching) TopK(ctx context.Context, p *exectest.Plan) (blockmax.TopK, error) {
	b.giveKeys(p)
	if len(b.plans) > companions {
		b.plans, b.tops = b.plans[1:], b.tops[1:]
	}
	b.plans = append(b.plans, p)
	answers, err := b.Run(ctx, b.plans)
	if err != nil {
		return blockmax.TopK{}, err
	}
	b.byStrips += b.StripTiles()
	var top blockmax.TopK
	for i, p := range b.plans {
		if top, err = b.complete(ctx, p, &answers[i]); err != nil {
			return top, err
		}
		if i < len(b.tops) && (p.OnlyTotal && top.Total != b.tops[i].Total || !p.OnlyTotal && !slices.Equal(top.Hits, b.tops[i].Hits)) {
			return top, fmt.Errorf("plan %d of a batch of %d is answered otherwise than before", i, len(b.plans))
		}
	}
	b.tops = append(b.tops, top)
	return top, nil
}

// giveKeys gives the lists of a plan their keys.
func (b *batching) giveKeys(p *exectest.Plan) {
	for i := range p.Segments {
		s := &p.Segments[i]
		s.Terms = slices.Clone(s.Terms)
		for t := range s.Terms {
			if l := s.Terms[t].List; l != nil {
				if b.keys[l] == 0 {
					b.keys[l] = uint64(len(b.keys) + 1)
				}
				s.Terms[t].Key = b.keys[l]
			}
		}
	}
}

// TestCaches runs batches with caches of sizes from zero to everything. What a list lacks is
// copied, or left to the CPU.
func TestCaches(t *testing.T) {
	sizes := []int64{0, 4 << 10, 16 << 10, 64 << 10, 32 << 20}
	if testing.Short() {
		sizes = []int64{0, 16 << 10, 32 << 20}
	}
	for _, cacheBytes := range sizes {
		for _, leave := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d KiB/leave=%v", cacheBytes>>10, leave), func(t *testing.T) {
				o := gpuexec.Options{Leave: leave}
				if leave {
					o.Cache.Lambda = 0.5
				}
				b := newBatching(open(t, 0, cacheBytes, o))
				rounds := checkRounds / 2
				if cacheBytes > 1<<20 {
					rounds = checkRounds // so that some list comes again
				}
				if err := exectest.Check(b, 3, exectest.Fewer(rounds)); err != nil {
					t.Error(err)
				}
				if *b.flatRefused > 0 || !leave && *b.partial > 0 {
					t.Errorf("%d whole answers, %d partial, %d flat plans refused", *b.whole, *b.partial, *b.flatRefused)
				}
				if cached := b.Cache().Stats(); cacheBytes > 1<<20 && cached.HitRate() == 0 {
					t.Errorf("a cache for everything has no hits: %+v", cached)
				}
			})
		}
	}
}

// strips are the algorithms that score flat lists by strips.
var strips = []gpuexec.Algorithm{gpuexec.Exhaustive, gpuexec.BMW, gpuexec.MaxScore}

// TestFlat makes lists flat, all or as many as fit, among short ones that stay as they are. It also
// runs with a cache that evicts most blocks.
func TestFlat(t *testing.T) {
	for _, a := range strips {
		for _, sizes := range []struct{ flats, cache int64 }{{flatBytes, 32 << 20}, {16 << 10, 32 << 20}, {flatBytes, 64 << 10}} {
			if testing.Short() && (sizes.flats < flatBytes || sizes.cache < 1<<20) && a != gpuexec.MaxScore {
				continue
			}
			t.Run(fmt.Sprintf("%v/%d KiB/%d KiB", a, sizes.flats>>10, sizes.cache>>10), func(t *testing.T) {
				b := newBatching(open(t, 0, sizes.cache, gpuexec.Options{Algorithm: a, FlatBytes: sizes.flats}))
				if err := exectest.Check(b, 9, exectest.Fewer(checkRounds/2)); err != nil {
					t.Error(err)
				}
				if *b.flatRefused > 0 || *b.partial > 0 || *b.unread > 0 {
					t.Errorf("%d whole answers, %d partial, %d flat plans refused, %d from no block", *b.whole, *b.partial, *b.flatRefused, *b.unread)
				}
				if b.byStrips == 0 {
					t.Error("no query went by strips")
				}
				if b.Cache().Stats().EvictedBytes == 0 && sizes.cache < 1<<20 {
					t.Error("the cache has let go of nothing")
				}
			})
		}
	}
}

// TestMissing loses random extents, or all of them, with every algorithm.
func TestMissing(t *testing.T) {
	for _, a := range append(slices.Clip(all), gpuexec.Auto) {
		for _, share := range []int{1, 4, 10} {
			t.Run(fmt.Sprintf("%v/%d of 10", a, share), func(t *testing.T) {
				x := open(t, 0, 32<<20, gpuexec.Options{Algorithm: a})
				loseSome(x, share, uint64(share))
				b := newBatching(x)
				if err := exectest.Check(b, 4, exectest.Fewer(checkRounds/5)); err != nil {
					t.Error(err)
				}
				if *b.flatRefused > 0 || *b.partial == 0 || *b.whole == 0 {
					t.Errorf("%d whole answers, %d partial, %d flat plans refused", *b.whole, *b.partial, *b.flatRefused)
				}
			})
		}
	}
}

// TestDevices spreads plans over several devices, each with its own cache.
func TestDevices(t *testing.T) {
	t.Setenv("RIFFLE_EMULATOR_DEVICES", "3") // a machine with GPUs ignores this
	list, err := device.List()
	if err != nil {
		t.Skip(err)
	}
	if len(list) < 2 {
		t.Skip("there is one device")
	}
	var s spreading
	for i := range list {
		s.devices = append(s.devices, newBatching(open(t, i, 64<<10, gpuexec.Options{})))
	}
	if err := exectest.Check(&s, 5, exectest.Fewer(checkRounds/2)); err != nil {
		t.Error(err)
	}
}

// A spreading executor gives consecutive plans to different devices.
type spreading struct {
	devices []*batching
	next    int
}

func (s *spreading) Name() string { return s.devices[0].Name() }
func (s *spreading) Prunes() bool { return true }

func (s *spreading) TopK(ctx context.Context, p *exectest.Plan) (blockmax.TopK, error) {
	s.next = (s.next + 1) % len(s.devices)
	return s.devices[s.next].TopK(ctx, p)
}
