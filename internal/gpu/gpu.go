// Package gpu makes accelerators of the machine's GPUs: it opens devices (gpuexec/device), gives
// each an executor with its list cache (gpuexec), and puts a dispatcher in front of them
// (internal/dispatch).
//
// It knows plans, devices and their memory. It must not know what a document, a query or a view of
// the index is, nor what a segment is beyond the key of a list.
package gpu

import (
	"errors"

	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/gpuexec/listcache"
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
}

// batchesUnderWay is how many batches an executor works on at a time.
const batchesUnderWay = 3

// Open opens the devices that the options name. It is an accelerator.Opener.
func Open(o accelerator.Options) (accelerator.Accelerator, error) {
	numbers := o.Devices
	if numbers == nil {
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
	a := new(Accelerator)
	var executors []dispatch.Device
	for _, n := range numbers {
		if err := a.open(n, &o); err != nil {
			_ = a.closeDevices() // err is more informative
			return nil, err
		}
		executors = append(executors, a.executors[len(a.executors)-1])
	}
	a.begin(o, a.executors[0].Name(), executors)
	return a, nil
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

// executorOptions are the options of an executor on a GPU.
func executorOptions(o *accelerator.Options) gpuexec.Options {
	return gpuexec.Options{
		BatchBytes: o.BatchBytes, FlatBytes: o.FlatBytes, NoFlat: o.NoFlat, Leave: o.Prune,
		Cache:  listcache.Config{Static: o.StaticCache},
		Stream: o.Stream, StaticLists: o.Stream && o.StaticCache, HostBytes: o.HostBytes,
	}
}

// Name implements accelerator.Accelerator.
func (a *Accelerator) Name() string { return a.name }

// Drop implements accelerator.Accelerator.
func (a *Accelerator) Drop(gone func(key uint64) bool) {
	for _, x := range a.executors {
		x.Cache().Drop(gone)
	}
}

// Stats implements accelerator.Accelerator.
func (a *Accelerator) Stats() accelerator.Stats {
	s := accelerator.Stats{Searches: a.Dispatcher.Stats()}
	for i, dev := range a.devices {
		s.Devices = append(s.Devices, accelerator.DeviceStats{Info: dev.Info(), Lost: dev.Lost(), Cache: a.executors[i].Cache().Stats()})
	}
	return s
}

// Close implements accelerator.Accelerator.
func (a *Accelerator) Close() error {
	a.Dispatcher.Close()
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
