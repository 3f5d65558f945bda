//go:build !cuda

package riffle

import "github.com/riffle-search/riffle/internal/accelerator"

// Without the tag cuda there are no GPUs.
var (
	openAccelerator accelerator.Opener       = accelerator.None
	findSorter      accelerator.SorterFinder = accelerator.NoSorter
)
