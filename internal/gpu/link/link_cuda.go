//go:build cuda

package link

import (
	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/gpu"
)

// With the tag cuda there are GPUs.
var (
	Open       accelerator.Opener       = gpu.Open
	FindSorter accelerator.SorterFinder = gpu.FindSorter
)
