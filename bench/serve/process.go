package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A process is a server that has been started, on the first cores.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser // its standard input, whose end ends a role
	out  *bufio.Reader
	addr string
}

// onCores starts a program on the first cores, and keeps this process to the others.
func onCores(name string, args ...string) (*process, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", *cores), fmt.Sprintf("RAYON_NUM_THREADS=%d", *cores))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var first, others unix.CPUSet
	for i := range runtime.NumCPU() {
		if i < *cores {
			first.Set(i)
		} else {
			others.Set(i)
		}
	}
	if others.Count() == 0 {
		return nil, errors.New("no core is left for the clients: choose fewer -cores")
	}
	runtime.LockOSThread() // the child has the affinity of the thread that starts it
	defer runtime.UnlockOSThread()
	if err := unix.SchedSetaffinity(0, &first); err != nil {
		return nil, err
	}
	err = cmd.Start()
	threads, errDir := os.ReadDir("/proc/self/task")
	err = errors.Join(err, errDir)
	for _, t := range threads {
		id, _ := strconv.Atoi(t.Name())
		unix.SchedSetaffinity(id, &others) // a thread may have ended
	}
	return &process{cmd: cmd, in: in, out: bufio.NewReader(out)}, err
}

// inRole starts this program in a role.
func inRole(role string) (*process, error) {
	args := append([]string{"-role", role}, os.Args[1:]...)
	return onCores("/proc/self/exe", append(args, "-db", *dir)...)
}

// measureAlone measures the engine in a process of its own.
func measureAlone() (*engineTimes, error) {
	p, err := inRole("engine")
	if err != nil {
		return nil, err
	}
	var t reportedTimes
	err = json.NewDecoder(p.out).Decode(&t)
	return &engineTimes{perSecond: t.PerSecond, cpu: t.CPU, times: t.Times}, errors.Join(err, p.cmd.Wait())
}

// cpu returns the CPU time that the process has taken.
func (p *process) cpu() time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	// The name of the program is in parentheses and may have spaces. Then come the state, 10 more fields, and the times.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	ticks := time.Duration(0)
	for _, f := range fields[11:13] {
		n, _ := strconv.ParseInt(f, 10, 64)
		ticks += time.Duration(n)
	}
	return ticks * time.Second / 100 // USER_HZ
}

// stop ends the process.
func (p *process) stop() {
	p.in.Close()
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// waitFor waits until somebody listens.
func waitFor(addr string) error {
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(end) {
			return err
		}
	}
}
