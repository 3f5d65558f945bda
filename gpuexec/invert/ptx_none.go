//go:build !cuda

package invert

import "embed"

// No kernels.
var ptxFiles embed.FS
