// Package memlimit says how much memory the process may use, and how much it has used.
package memlimit

import (
	"bufio"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// Machine returns the memory of the machine, or of the control group (cgroup) of the process if that
// is less. It is 0 if neither is known.
func Machine() int64 { return machine(os.DirFS("/")) }

// Go returns the limit that GOMEMLIMIT or debug.SetMemoryLimit has set, or 0.
func Go() int64 {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit
	}
	return 0
}

// Peak returns the most memory of the process that has been resident at a time, mapped files
// included. It is 0 on other systems than Linux.
func Peak() int64 { return peak(os.DirFS("/")) }

func peak(root fs.FS) (bytes int64) {
	eachLine(root, "proc/self/status", func(line string) {
		if kb, ok := kilobytes(line, "VmHWM:"); ok {
			bytes = kb
		}
	})
	return bytes
}

// kilobytes reads a line such as "MemTotal:  1000 kB" and returns bytes.
func kilobytes(line, name string) (bytes int64, ok bool) {
	f := strings.Fields(line)
	if len(f) != 3 || f[0] != name || f[2] != "kB" {
		return 0, false
	}
	kb, err := strconv.ParseInt(f[1], 10, 64)
	return kb << 10, err == nil && kb < math.MaxInt64>>10
}

// least returns the least of the limits that are known.
func least(limits ...int64) (limit int64) {
	for _, l := range limits {
		if l > 0 && (limit == 0 || l < limit) {
			limit = l
		}
	}
	return limit
}

// linux reads the memory of the machine and of the control groups of the process. Within a container,
// the path in /proc/self/cgroup may be that of the host, and the limit is that of the root.
func linux(root fs.FS) (limit int64) {
	eachLine(root, "proc/meminfo", func(line string) {
		if all, ok := kilobytes(line, "MemTotal:"); ok {
			limit = all
		}
	})
	eachLine(root, "proc/self/cgroup", func(line string) {
		f := strings.SplitN(line, ":", 3) // number:controllers:path
		if len(f) < 3 {
			return
		}
		folder, file := "sys/fs/cgroup", "memory.max"
		switch {
		case f[1] == "memory": // version 1
			folder, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		case f[1] != "":
			return
		}
		for p := path.Clean("/" + f[2]); ; p = path.Dir(p) {
			limit = least(limit, number(root, path.Join(folder, p, file)))
			if p == "/" {
				return
			}
		}
	})
	return limit
}

// number reads a file that holds a number. It returns 0 for "max", and if there is no such file.
func number(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func eachLine(root fs.FS, name string, do func(line string)) {
	f, err := root.Open(name)
	if err != nil {
		return
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		do(s.Text())
	}
}
