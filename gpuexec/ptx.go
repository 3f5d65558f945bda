package gpuexec

import (
	"embed"
	"path"
)

//go:generate kernels/ptx.sh

// The kernels as PTX.
//
//go:embed kernels/*.ptx
var ptxFiles embed.FS

// ptx is the translation of kernels/name.cu.
func ptx(name string) string {
	text, err := ptxFiles.ReadFile(path.Join("kernels", name+".ptx"))
	if err != nil {
		panic("BUG: gpuexec: " + err.Error())
	}
	return string(text)
}
