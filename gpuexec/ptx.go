package gpuexec

import "path"

//go:generate kernels/ptx.sh

// ptx is the translation of kernels/name.cu. Only programs with the tag cuda have it with them (1.1 MB): without,
// there is no device that could ask for it.
func ptx(name string) string {
	text, err := ptxFiles.ReadFile(path.Join("kernels", name+".ptx"))
	if err != nil {
		panic("BUG: gpuexec: " + err.Error())
	}
	return string(text)
}
