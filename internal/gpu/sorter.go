package gpu

import (
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/gpuexec/invert"
	"github.com/riffle-search/riffle/internal/accelerator"
)

// A sorter is a GPU that inverts documents.
type sorter struct {
	*invert.Sorter
	dev *device.Device
}

// Close releases the GPU.
func (s sorter) Close() error { return s.dev.Close() }

// FindSorter is an accelerator.SorterFinder.
func FindSorter(o accelerator.SorterOptions) (room int, open func() (accelerator.Sorter, error), err error) {
	if _, err := device.Find(o.Device); err != nil {
		return 0, nil, err
	}
	how := invert.Options{Trees: o.Trees}
	most := how.MemoryFor(o.Records)
	if o.MemoryBytes > 0 {
		most = min(most, o.MemoryBytes)
	}
	return how.RoomIn(most), func() (accelerator.Sorter, error) {
		dev, err := device.Open(o.Device, device.Options{MemoryBytes: o.MemoryBytes, Most: most})
		if err != nil {
			return nil, err
		}
		s, err := invert.New(dev, how)
		if err != nil {
			_ = dev.Close() // err is more informative
			return nil, err
		}
		return sorter{s, dev}, nil
	}, nil
}
