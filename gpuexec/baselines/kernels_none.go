//go:build !cuda

package baselines

import "embed"

// Kernels is empty: only programs with the tag cuda have any.
var Kernels embed.FS
