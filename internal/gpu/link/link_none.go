//go:build !cuda

package link

import "github.com/riffle-search/riffle/internal/accelerator"

// Linked: this program has no GPUs.
const Linked = false

// Without the tag cuda there are no GPUs.
var (
	Open       accelerator.Opener       = accelerator.None
	FindSorter accelerator.SorterFinder = accelerator.NoSorter
)
