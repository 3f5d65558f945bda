//go:build cuda

package riffle

import (
	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/gpu"
)

// With the tag cuda there are GPUs.
var (
	openAccelerator accelerator.Opener       = gpu.Open
	findSorter      accelerator.SorterFinder = gpu.FindSorter
)
