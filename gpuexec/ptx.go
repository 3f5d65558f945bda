package gpuexec

import (
	"embed"
	"path"
)

// The kernels as PTX, which gpuexec/kernels/ptx.sh makes.
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
