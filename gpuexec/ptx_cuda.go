//go:build cuda

package gpuexec

import "embed"

// The kernels as PTX.
//
//go:embed kernels/*.ptx
var ptxFiles embed.FS
