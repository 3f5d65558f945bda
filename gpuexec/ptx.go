package gpuexec

import (
	"io/fs"
	"path"
)

//go:generate kernels/ptx.sh
//go:generate kernels/ptx.sh device/testdata/meetings.cu

// baseline is the translation of baselines/name.cu.
func (x *Executor) baseline(name string) string { return read(x.options.Baselines, name+".ptx") }

// ptx is the translation of kernels/name.cu. Only programs with the tag cuda include it (1.3 MB).
// Others have no device that needs it.
func ptx(name string) string { return read(ptxFiles, path.Join("kernels", name+".ptx")) }

func read(files fs.FS, name string) string {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		panic("BUG: gpuexec: " + err.Error())
	}
	return string(text)
}
