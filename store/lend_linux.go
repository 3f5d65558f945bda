package store

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// mapFile maps a file until t is unreachable. It returns nil if that fails.
func mapFile(f *os.File, size int64, t *mappedTable) []byte {
	if size <= 0 || int64(int(size)) != size {
		return nil
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	runtime.AddCleanup(t, func(b []byte) { _ = unix.Munmap(b) }, data)
	return data
}

var pageBytes = os.Getpagesize()

// readPages reads the pages of bytes [from, to) of the file. It returns false if it cannot, be it that
// the disk fails or that Linux is older than 5.14. Linux maps windowBytes around a page that is in its
// cache, unless told otherwise, and all of that is memory of the process.
func (t *mappedTable) readPages(from, to int) bool {
	t.s.lent.count((to+windowBytes-1)&^(windowBytes-1) - from&^(windowBytes-1))
	err := unix.Madvise(t.data[from&^(pageBytes-1):to], unix.MADV_POPULATE_READ)
	runtime.KeepAlive(t)
	return err == nil
}

// giveBack makes the pages of the file no memory of the process. They come back when they are read.
func (t *mappedTable) giveBack() {
	t.read.clear()
	_ = unix.Madvise(t.data, unix.MADV_DONTNEED)
	runtime.KeepAlive(t) // or else this could be the memory of somebody else by now
}
