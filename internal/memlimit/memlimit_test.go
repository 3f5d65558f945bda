package memlimit

import (
	"runtime"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

func TestLinux(t *testing.T) {
	const kb = 1 << 10
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing known":       {map[string]string{}, 0},
		"machine":             {map[string]string{"proc/meminfo": "MemTotal:  1000 kB\nMemFree: 1 kB\n"}, 1000 * kb},
		"unlimited group":     {map[string]string{"proc/meminfo": "MemTotal: 1000 kB\n", "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 1000 * kb},
		"group":               {map[string]string{"proc/meminfo": "MemTotal: 1000 kB\n", "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "4096\n"}, 4096},
		"parent of the group": {map[string]string{"proc/meminfo": "MemTotal: 1000 kB\n", "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "8192\n", "sys/fs/cgroup/a/b/memory.max": "9000\n"}, 8192},
		"container":           {map[string]string{"proc/self/cgroup": "0::/docker/1f\n", "sys/fs/cgroup/memory.max": "5000\n"}, 5000},
		"group above machine": {map[string]string{"proc/meminfo": "MemTotal: 1 kB\n", "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "9999\n"}, kb},
		"version 1":           {map[string]string{"proc/self/cgroup": "9:cpu,cpuacct:/x\n4:memory:/y\n", "sys/fs/cgroup/memory/y/memory.limit_in_bytes": "7000\n", "sys/fs/cgroup/x/memory.max": "1\n"}, 7000},
		"version 1, no limit": {map[string]string{"proc/meminfo": "MemTotal: 1000 kB\n", "proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 1000 * kb},
		"lines without sense": {map[string]string{"proc/meminfo": "MemTotal\nMemTotal: x kB\n", "proc/self/cgroup": "0\n0::\n", "sys/fs/cgroup/memory.max": "many\n"}, 0},
	} {
		root := fstest.MapFS{}
		for file, text := range c.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := linux(root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestThisMachine(t *testing.T) {
	switch runtime.GOOS {
	case "linux", "darwin":
		if got := Machine(); got < 64<<20 {
			t.Errorf("this machine has %d bytes", got)
		}
	}
}

func TestPeak(t *testing.T) {
	for text, want := range map[string]int64{
		"Name:\tx\nVmPeak:\t 9 kB\nVmHWM:\t   12 kB\nVmRSS:\t 8 kB\n": 12 << 10,
		"VmHWM: many kB\n": 0,
		"":                 0,
	} {
		if got := peak(fstest.MapFS{"proc/self/status": &fstest.MapFile{Data: []byte(text)}}); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := Peak(); runtime.GOOS == "linux" && got < 1<<20 {
		t.Errorf("the peak of this process is %d bytes", got)
	}
}

func TestGoLimit(t *testing.T) {
	before := debug.SetMemoryLimit(3 << 30)
	defer debug.SetMemoryLimit(before)
	if got := Go(); got != 3<<30 {
		t.Errorf("the limit is %d, want %d", got, 3<<30)
	}
}
