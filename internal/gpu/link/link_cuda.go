//go:build cuda

package link

import (
	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/gpu"
)

// Linked: this program can have GPUs.
const Linked = true

// With the tag cuda there are GPUs.
var (
	Open       accelerator.Opener       = gpu.Open
	FindSorter accelerator.SorterFinder = gpu.FindSorter
)
