package memlimit

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

func machine(fs.FS) int64 {
	size, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(size)
}
