// Package gpu makes accelerators of the machine's GPUs: it opens devices (gpuexec/device), gives
// each an executor with its list cache (gpuexec), and puts a dispatcher in front of them
// (internal/dispatch).
//
// Several devices hold copies of lists, each answering whole batches, or ranges of documents
// (gpuexec/partition), which the dispatcher sees as one device.
//
// It knows plans, devices and their memory. It must not know what a document, a query or a view of
// the index is, nor what a segment is beyond the key of a list.
package gpu

import (
	"cmp"
	"errors"
	"sync/atomic"

	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/gpuexec/listcache"
	"github.com/riffle-search/riffle/gpuexec/partition"
	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/dispatch"
)

// An Accelerator is GPUs and the dispatcher in front of them.
type Accelerator struct {
	*dispatch.Dispatcher
	name      string
	prune     bool // the CPU completes what lists lack
	devices   []*device.Device
	executors []*gpuexec.Executor
	options   accelerator.Options
	set       atomic.Pointer[partition.Set] // of the executors, if they hold ranges of documents
}

// batchesUnderWay is how many batches an executor works on at a time.
const batchesUnderWay = 3

// Open opens the devices that the options name. It is an accelerator.Opener.
func Open(o accelerator.Options) (accelerator.Accelerator, error) {
	numbers := o.Devices
	if len(numbers) == 0 {
		infos, err := device.List()
		if err != nil {
			return nil, err
		}
		for _, info := range infos {
			numbers = append(numbers, info.Number)
		}
	}
	if len(numbers) == 0 {
		return nil, device.ErrNoDevice
	}
	a := &Accelerator{options: o}
	for _, n := range numbers {
		if err := a.open(n, &o); err != nil {
			_ = a.closeDevices() // err is more informative
			return nil, err
		}
	}
	return a, nil
}

// Start implements accelerator.Accelerator.
func (a *Accelerator) Start(postings, docs uint64) {
	if a.Dispatcher != nil {
		return
	}
	o, n := a.options, len(a.executors)
	copies := n == 1 || o.Layout == accelerator.Copies || o.Layout == accelerator.AutoLayout && postings <= a.room()
	for _, x := range a.executors {
		if of := uint64(n); !copies {
			x.DivideStream(postings/of, docs/of) // its range
		} else {
			x.DivideStream(postings, docs)
		}
	}
	if copies {
		var devices []dispatch.Device
		for _, x := range a.executors {
			devices = append(devices, x)
		}
		a.begin(o, a.executors[0].Name(), devices)
		return
	}
	var devices []partition.Device
	for _, x := range a.executors {
		devices = append(devices, x)
	}
	set := partition.New(devices, partition.Options{TileDocs: a.executors[0].TileDocs(), Failed: o.Failed})
	a.set.Store(set)
	// The dispatcher reserves a core for the one device that it sees, and lets a batch bring as much as
	// fits on one.
	o.Failed, o.Cores, o.BatchBytes = nil, max(1, o.Cores-(n-1)), o.BatchBytes*int64(n)
	a.begin(o, a.executors[0].Name(), []dispatch.Device{set})
}

// room is how many postings can stay on each device.
func (a *Accelerator) room() uint64 {
	least := a.executors[0].Room()
	for _, x := range a.executors[1:] {
		least = min(least, x.Room())
	}
	return least
}

// Over makes an Accelerator of open devices, such as those of tests.
func Over(o accelerator.Options, devices ...dispatch.Device) *Accelerator {
	a := new(Accelerator)
	a.begin(o, "gpu", devices)
	return a
}

func (a *Accelerator) begin(o accelerator.Options, name string, devices []dispatch.Device) {
	a.name, a.prune = name, o.Prune
	a.Dispatcher = dispatch.New(devices, dispatch.Options{
		Policy: o.Policy, MaxCount: o.BatchQueries, MaxBytes: o.BatchBytes, Delay: o.BatchDelay,
		Depth: batchesUnderWay, Cores: o.Cores, Failed: o.Failed,
	})
}

// open opens a device and makes its executor.
func (a *Accelerator) open(number int, o *accelerator.Options) error {
	dev, err := device.Open(number, device.Options{MemoryBytes: o.MemoryBytes, Most: gpuexec.MaxMemory})
	if err != nil {
		return err
	}
	a.devices = append(a.devices, dev)
	x, err := gpuexec.New(dev, executorOptions(o))
	if err != nil {
		return err
	}
	a.executors = append(a.executors, x)
	return nil
}

// smallDocs: segments of at most so many documents are left to the CPU if they are small beside the
// others, but not with Stream. So many come of some merges of what was added in seconds.
const smallDocs = 1 << 15

// executorOptions are the options of an executor on a GPU.
func executorOptions(o *accelerator.Options) gpuexec.Options {
	small := uint32(smallDocs)
	if o.KeepSmall || o.Stream {
		small = 0
	}
	return gpuexec.Options{
		BatchBytes: o.BatchBytes, FlatBytes: o.FlatBytes, SmallDocs: small, NoFlat: o.NoFlat, Leave: o.Prune, Timed: o.Timed,
		Cache:  listcache.Config{Static: o.StaticCache},
		Stream: o.Stream, StaticLists: o.Stream && o.StaticCache, HostBytes: o.HostBytes,
	}
}

// Name implements accelerator.Accelerator.
func (a *Accelerator) Name() string { return a.name }

// Drop implements accelerator.Accelerator.
func (a *Accelerator) Drop(gone func(key uint64) bool) {
	for _, x := range a.executors {
		x.Drop(gone)
	}
	if set := a.set.Load(); set != nil {
		set.Drop(gone)
	}
}

// Stats implements accelerator.Accelerator.
func (a *Accelerator) Stats() accelerator.Stats {
	s := accelerator.Stats{Layout: accelerator.Copies, Searches: a.Dispatcher.Stats()}
	lost := a.Dispatcher.Lost
	if set := a.set.Load(); set != nil {
		s.Layout, lost = accelerator.Ranges, set.DeviceLost
		s.Searches.FailedBatches += set.FailedBatches()
		s.Searches.LostDevices = set.LostDevices()
	}
	for i, dev := range a.devices {
		times := a.executors[i].Times()
		s.Devices = append(s.Devices, accelerator.DeviceStats{
			Info: dev.Info(), Lost: cmp.Or(lost(i), dev.Lost()), Cache: a.executors[i].Cache().Stats(), Host: times.Host, Kernels: times.Kernels,
		})
	}
	return s
}

// Lists implements accelerator.Accelerator.
func (a *Accelerator) Lists(n int) [][]accelerator.CachedList {
	all := make([][]accelerator.CachedList, len(a.executors))
	for i, x := range a.executors {
		all[i] = x.Cache().MostVisited(n)
	}
	return all
}

// Close implements accelerator.Accelerator.
func (a *Accelerator) Close() error {
	if a.Dispatcher != nil {
		a.Dispatcher.Close()
	}
	return a.closeDevices()
}

// closeDevices keeps the lists of devices, which Stats may be reading.
func (a *Accelerator) closeDevices() error {
	var errs []error
	for _, dev := range a.devices {
		errs = append(errs, dev.Close())
	}
	return errors.Join(errs...)
}
