package invert

//go:generate ../kernels/ptx.sh split.cu sort.cu trees.cu scan.cu gather.cu

// ptx is the translation of name.cu. Only programs with the tag cuda include it.
func ptx(name string) string {
	text, err := ptxFiles.ReadFile(name + ".ptx")
	if err != nil {
		panic("BUG: gpuexec/invert: " + err.Error())
	}
	return string(text)
}
