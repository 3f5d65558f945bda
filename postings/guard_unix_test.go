//go:build unix

package postings

import (
	"os"
	"syscall"
	"testing"
)

// guarded returns n bytes, at most a page, followed by memory that cannot be read.
func guarded(t testing.TB, n int) []byte {
	t.Helper()
	page := os.Getpagesize()
	mem, err := syscall.Mmap(-1, 0, 2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(mem) })
	if err := syscall.Mprotect(mem[page:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return mem[page-n : page : page]
}
