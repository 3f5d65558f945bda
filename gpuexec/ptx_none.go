//go:build !cuda

package gpuexec

import "embed"

// No kernels.
var ptxFiles embed.FS
