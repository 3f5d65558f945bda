//go:build cuda

package invert

import "embed"

// The kernels as PTX.
//
//go:embed *.ptx
var ptxFiles embed.FS
