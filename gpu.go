package riffle

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/gpuexec/dispatch"
	"github.com/riffle-search/riffle/gpuexec/listcache"
)

// GPUOptions say how an Engine uses GPUs. Answers are the same as on the CPU, to the last bit.
//
// Searches that come at about the same time run in batches. Which go to a GPU a policy says; what
// a GPU cannot answer alone, since parts of lists are not in its memory, the CPU completes.
// Programs built without the tag cuda have no GPU; see docs/GPU.md.
type GPUOptions struct {
	// Devices are the numbers of the GPUs to use. The default is all there are.
	Devices []int

	// Required makes Open fail with ErrNoDevice when there is no such GPU, or it cannot be
	// used. By default the CPU does everything then, and Stats.GPU says why.
	Required bool

	// MemoryBytes is how much memory to take of each GPU, once and for all: for batches and for
	// the lists that stay there. More than there is is an error if a GPU is Required. The default is
	// seven eighths of what is free. More than 64 GiB are of no use, and are not taken.
	MemoryBytes int64

	// Policy says which searches go to a GPU, unless they say so themselves. The default is PolicyAuto.
	Policy GPUPolicy

	// Threshold is the number of blocks (of 128 postings) from which on a search is long, for PolicyLong
	// and PolicyLBD. The default is 400, and 30,000 for PolicyLBD.
	Threshold int

	// Algorithm is how a GPU answers. The default is the fastest by measurement.
	Algorithm GPUAlgorithm

	// Cache says what is kept in the memory of a GPU. The default is CacheVFB.
	Cache CachePolicy

	// Lambda, in (0, 1], is the largest share of a list that CacheVFB keeps: λ in Wang 2017. The
	// default is 1.
	Lambda float64

	// StaticCache keeps what Engine.Warm has put there, and nothing else. By default a cache goes
	// on learning from searches.
	StaticCache bool

	// Prune leaves to the CPU what a list lacks of which other parts are in the memory of a GPU,
	// instead of copying it there for one batch.
	Prune bool

	// FlatBytes is how much of a GPU's memory, in bytes, is for lists as flat postings: one word a posting, which is scored
	// several times as fast as the blocks that it is made from, and which a list that comes again is turned into. The default, 0,
	// is a quarter of the memory; NoFlat makes it none. With the three batches it must fit into the memory that is taken;
	// Open fails if it does not and a GPU is Required. What it takes, the cache of lists lacks.
	FlatBytes int64

	// NoFlat keeps no flat postings: every search decodes blocks.
	NoFlat bool

	// Stream is for indexes whose lists are more than the memory of a GPU: they stay in main memory, whence the GPU reads the blocks that can matter
	// to a batch, while it scores others. What is searched most stays on the GPU. Without it, searches of lists that a GPU has no room for are several
	// times as slow; with it, those of lists that it has room for are half as fast. It takes the place of FlatBytes, NoFlat, Lambda and Prune.
	Stream bool

	// HostBytes is how much main memory Stream may pin for lists, as they are searched. What it has no room for is copied
	// with every batch. The default is 32 GiB.
	HostBytes int64

	// BatchQueries is the most searches in a batch. The default is 1,024.
	BatchQueries int

	// BatchBytes is the memory for a batch; three are under way at a time. The default is a
	// sixteenth of MemoryBytes, at most 1 GiB.
	BatchBytes int64

	// BatchDelay is how long a search waits for others to share a batch with. The default is 2 ms.
	BatchDelay time.Duration
}

// A GPUPolicy says which searches go to a GPU; see package gpuexec/dispatch.
type GPUPolicy = dispatch.Policy

const (
	PolicyAuto   = dispatch.Auto       // where the search is estimated to be done first
	PolicyLong   = dispatch.Long       // those with long lists
	PolicyLBD    = dispatch.LBD        // those with short lists (Huang 2017)
	PolicyHalves = dispatch.Halves     // every second one (Huang 2017)
	PolicyGroups = dispatch.Groups     // three groups, deadlines and stealing (Ding 2009)
	PolicyGPU    = dispatch.Devices    // all
	PolicyCPU    = dispatch.Processors // none
)

// ParseGPUPolicy reads "auto", "long", "lbd", "halves", "groups", "gpu" or "cpu".
func ParseGPUPolicy(name string) (GPUPolicy, error) { return dispatch.ParsePolicy(name) }

// A CachePolicy says what is kept in the memory of a GPU; see package gpuexec/listcache.
type CachePolicy = listcache.Policy

const (
	CacheVFB   = listcache.VFB   // parts of lists, by how often they are visited (Wang 2017)
	CacheQtf   = listcache.Qtf   // whole lists, by how many searches have the word
	CacheQtfDf = listcache.QtfDf // the same, divided by the length of the list
)

// ParseCachePolicy reads "vfb", "qtf" or "qtfdf".
func ParseCachePolicy(name string) (CachePolicy, error) { return listcache.ParsePolicy(name) }

// A GPUAlgorithm is how a GPU answers; see package gpuexec.
type GPUAlgorithm = gpuexec.Algorithm

// ParseGPUAlgorithm reads a name as GPUAlgorithm prints it, such as "auto" or "maxscore".
func ParseGPUAlgorithm(name string) (GPUAlgorithm, error) { return gpuexec.ParseAlgorithm(name) }

// validate reports every field that cannot be carried out.
func (g *GPUOptions) validate() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	seen := map[int]bool{}
	for _, n := range g.Devices {
		want(n >= 0 && !seen[n], "Devices: %d is negative or comes twice", n)
		seen[n] = true
	}
	want(g.MemoryBytes >= 0, "MemoryBytes must not be negative, not %d", g.MemoryBytes)
	want(g.Policy <= PolicyCPU, "Policy: there is no %v", g.Policy)
	want(g.Threshold >= 0, "Threshold must not be negative, not %d", g.Threshold)
	want(g.Cache <= CacheQtfDf, "Cache: there is no %v", g.Cache)
	want(g.Lambda >= 0 && g.Lambda <= 1 && !math.IsNaN(g.Lambda), "Lambda must lie in (0, 1], not %v", g.Lambda)
	want(g.FlatBytes >= 0, "FlatBytes must not be negative, not %d", g.FlatBytes)
	want(g.FlatBytes == 0 || !g.NoFlat, "FlatBytes must be 0 with NoFlat, not %d", g.FlatBytes)
	want(g.MemoryBytes <= 0 || g.FlatBytes < g.MemoryBytes, "FlatBytes must be less than MemoryBytes, %d, not %d", g.MemoryBytes, g.FlatBytes)
	want(g.HostBytes >= 0, "HostBytes must not be negative, not %d", g.HostBytes)
	want(g.HostBytes == 0 || g.Stream, "HostBytes is for Stream, which is off")
	want(!g.Stream || g.FlatBytes == 0 && !g.NoFlat && !g.Prune && (g.Lambda == 0 || g.Lambda == 1), "Stream takes the place of FlatBytes, NoFlat, Lambda and Prune")
	want(g.BatchQueries >= 0, "BatchQueries must not be negative, not %d", g.BatchQueries)
	want(g.BatchBytes >= 0, "BatchBytes must not be negative, not %d", g.BatchBytes)
	want(g.BatchDelay >= 0, "BatchDelay must not be negative, not %v", g.BatchDelay)
	_, err := gpuexec.ParseAlgorithm(g.Algorithm.String())
	want(err == nil, "Algorithm: there is no %v", g.Algorithm)
	return errors.Join(errs...)
}

// executor are the options of what runs on a GPU.
func (g *GPUOptions) executor() gpuexec.Options {
	return gpuexec.Options{
		Algorithm: g.Algorithm, BatchBytes: g.BatchBytes, FlatBytes: g.FlatBytes, NoFlat: g.NoFlat, Leave: g.Prune,
		Cache:  listcache.Config{Policy: g.Cache, Lambda: g.Lambda, Static: g.StaticCache},
		Stream: g.Stream, StaticLists: g.Stream && g.StaticCache, HostBytes: g.HostBytes,
	}
}

// GPUInfo is what a GPU is.
type GPUInfo = device.Info

// GPUs lists the GPUs of the machine. When there are none its error matches ErrNoDevice, and says
// whether it is the machine, its driver or this program that lacks something.
func GPUs() ([]GPUInfo, error) { return device.List() }

// gpus are the GPUs of an Engine.
type gpus struct {
	dispatch  *dispatch.Dispatcher // nil when there are none
	devices   []*device.Device
	executors []*gpuexec.Executor
	name      string // of what runs there
	why       error  // there are none
}

// openGPUs opens the devices that the options name. Without Required, no device is no error.
func openGPUs(o *GPUOptions, cores int, l *Listener, instead []dispatch.Device) (*gpus, error) {
	g := &gpus{name: "gpu"}
	all := instead
	if all == nil {
		if err := g.open(o); err != nil {
			_ = g.closeDevices() // err says more
			g.devices, g.executors = nil, nil
			if g.why = err; o.Required {
				return nil, fmt.Errorf("riffle: Options.GPU: %w", err)
			}
			return g, nil
		}
		for _, x := range g.executors {
			all = append(all, x)
			g.name = x.Name()
		}
	}
	g.dispatch = dispatch.New(all, dispatch.Options{
		Policy: o.Policy, Threshold: o.Threshold, MaxCount: o.BatchQueries, MaxBytes: o.BatchBytes, Delay: o.BatchDelay,
		Depth: batchesUnderWay, Cores: cores,
		Failed: func(device int, lost bool, err error) { l.gpuFailed(GPUEvent{Device: device, Lost: lost, Err: err}) },
	})
	return g, nil
}

// batchesUnderWay is how many batches an executor works on at a time.
const batchesUnderWay = 3

// open opens devices and makes their executors.
func (g *gpus) open(o *GPUOptions) error {
	numbers := o.Devices
	if numbers == nil {
		infos, err := device.List()
		if err != nil {
			return err
		}
		for _, info := range infos {
			numbers = append(numbers, info.Number)
		}
	}
	if len(numbers) == 0 {
		return ErrNoDevice
	}
	for _, n := range numbers {
		dev, err := device.Open(n, device.Options{MemoryBytes: o.MemoryBytes, Most: gpuexec.MaxMemory})
		if err != nil {
			return err
		}
		g.devices = append(g.devices, dev)
		x, err := gpuexec.New(dev, o.executor())
		if err != nil {
			return err
		}
		g.executors = append(g.executors, x)
	}
	return nil
}

// close has searches that wait answered by the CPU, and gives the devices back.
func (g *gpus) close() error {
	if g == nil {
		return nil
	}
	if g.dispatch != nil {
		g.dispatch.Close()
	}
	return g.closeDevices()
}

// closeDevices leaves the lists of devices as they are: Stats may be reading them.
func (g *gpus) closeDevices() error {
	var errs []error
	for _, dev := range g.devices {
		errs = append(errs, dev.Close())
	}
	return errors.Join(errs...)
}

// there reports whether there is any device. It accepts nil.
func (g *gpus) there() bool { return g != nil && g.dispatch != nil }

// reason says why there is no device. It accepts nil.
func (g *gpus) reason() error {
	switch {
	case g == nil:
		return fmt.Errorf("%w: opened without Options.GPU", ErrNoDevice)
	case g.why != nil:
		return g.why
	}
	return ErrNoDevice
}

// dropSegment forgets the lists of a segment that is gone.
func (g *gpus) dropSegment(number uint64) {
	if g == nil {
		return
	}
	for _, x := range g.executors {
		x.Cache().Drop(func(key uint64) bool { return segmentOfKey(key) == number })
	}
}
