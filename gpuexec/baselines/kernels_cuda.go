//go:build cuda

package baselines

import "embed"

// Kernels are ranges.ptx and and_rounds.ptx.
//
//go:embed *.ptx
var Kernels embed.FS
