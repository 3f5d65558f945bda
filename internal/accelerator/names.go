package accelerator

import (
	"time"

	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/gpuexec/listcache"
	"github.com/riffle-search/riffle/internal/dispatch"
)

// Names and figures of lower packages that are part of riffle's own API.
type (
	Policy     = dispatch.Policy
	Searches   = dispatch.Stats
	Model      = dispatch.Model
	CacheStats = listcache.Stats
	CachedList = listcache.List
	Info       = device.Info
)

const (
	Auto       = dispatch.Auto
	Long       = dispatch.Long
	LBD        = dispatch.LBD
	Halves     = dispatch.Halves
	Groups     = dispatch.Groups
	Devices    = dispatch.Devices
	Processors = dispatch.Processors
)

// ErrNoDevice: no such device, no driver, or no support for devices in this program.
var ErrNoDevice = device.ErrNoDevice

// ErrLate: a search that is to fail when it is late cannot be answered in time.
var ErrLate = dispatch.ErrLate

// List returns the devices of the machine. When there are none its error is ErrNoDevice and says
// why.
func List() ([]Info, error) { return device.List() }

// A Layout says how several devices hold an index.
type Layout uint8

const (
	AutoLayout Layout = iota // Ranges if the lists do not fit into the memory of one device, otherwise Copies
	Copies                   // each device has any list and answers whole searches
	Ranges                   // each device has a range of documents of all lists and answers its part of every search
)

var layoutNames = [...]string{"auto", "copies", "ranges"}

func (l Layout) String() string { return layoutNames[l] }

// Options are those of riffle.GPUOptions, those that an Engine adds, and those that only tests set:
// Prune, KeepSmall, Timed, and other policies.
type Options struct {
	Devices      []int // nil for all
	MemoryBytes  int64
	Policy       Policy
	Layout       Layout
	StaticCache  bool
	Prune        bool // the CPU completes what a list lacks on a device; no copies for a batch
	KeepSmall    bool // devices answer for segments of few documents, too, which takes longer (bench/results/2026-11-26-gpu-3.md)
	FlatBytes    int64
	NoFlat       bool
	Stream       bool
	HostBytes    int64
	BatchQueries int
	BatchBytes   int64
	BatchDelay   time.Duration
	Timed        bool // Stats says how long kernels ran

	Cores int // that execute searches
	// Called for every batch that a device failed to answer.
	Failed func(device int, lost bool, err error)
}

// None is the Opener of programs without the tag cuda.
func None(Options) (Accelerator, error) { return nil, noDevice() }

// NoSorter is the SorterFinder of programs without the tag cuda.
func NoSorter(SorterOptions) (int, func() (Sorter, error), error) { return 0, nil, noDevice() }

// noDevice says why there is no device.
func noDevice() error {
	if _, err := device.List(); err != nil {
		return err
	}
	return ErrNoDevice
}
