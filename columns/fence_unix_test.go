//go:build unix

package columns

import (
	"os"
	"syscall"
	"testing"
)

// fenced returns n bytes, at most 16 pages, followed by memory that cannot be read.
func fenced(t testing.TB, n int) []byte {
	t.Helper()
	page := 16 * os.Getpagesize()
	mem, err := syscall.Mmap(-1, 0, page+os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(mem) })
	if err := syscall.Mprotect(mem[page:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return mem[page-n : page : page]
}
