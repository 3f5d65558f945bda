package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A machine is a node with its namespace, its disk and its process.
type machine struct {
	number  int
	name    string
	network *network
	disk    string // where a file system in memory is mounted
	program string
	args    []string
	log     *os.File

	mu      sync.Mutex // for what follows, and one start or kill at a time
	process *exec.Cmd  // or nil
	input   io.WriteCloser
	output  *bufio.Reader
	waited  chan struct{} // closed when the process has ended
	cpu     time.Duration // of processes that have ended

	asking sync.Mutex // one command at a time
}

// diskBytes is the size of a node's disk.
const diskBytes = 384 << 20

func newMachine(s *settings, n *network, i int, program string, synced bool) (*machine, error) {
	m := &machine{number: i, name: fmt.Sprint("n", i), network: n, program: program}
	m.disk = filepath.Join(s.dir, "disk-"+m.name)
	if err := os.MkdirAll(m.disk, 0o750); err != nil {
		return nil, err
	}
	if err := syscall.Mount("riffle-faults", m.disk, "tmpfs", 0, fmt.Sprintf("size=%d", diskBytes)); err != nil {
		return nil, fmt.Errorf("mounting %s: %w", m.disk, err)
	}
	var all []string
	for j := range s.nodes {
		all = append(all, n.address(j))
	}
	m.args = []string{nodeFlag, "-name", m.name, "-address", n.address(i), "-all", strings.Join(all, ","), "-dir", m.disk, "-certificate", s.dir}
	if synced {
		m.args = append(m.args, "-synced")
	}
	var err error
	m.log, err = os.Create(filepath.Join(s.dir, m.name+".log"))
	return m, err
}

// start starts the process, unless it runs.
func (m *machine) start() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process != nil {
		return nil
	}
	c := exec.Command("ip", append([]string{"netns", "exec", m.network.namespace(m.number), m.program}, m.args...)...)
	c.Stderr = m.log
	c.Env = append(os.Environ(), "GOMEMLIMIT=512MiB", "GOMAXPROCS=2")
	input, err := c.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	// The node ends with its input, and so with this process.
	m.process, m.input, m.output, m.waited = c, input, bufio.NewReader(out), make(chan struct{})
	go func(waited chan struct{}) {
		_ = c.Wait() // says how the process has ended, which whoever ends it knows
		close(waited)
	}(m.waited)
	return nil
}

// died reports whether the process has ended by itself. Another one can be started then.
func (m *machine) died() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process == nil {
		return false
	}
	select {
	case <-m.waited:
		m.forget()
		return true
	default:
		return false
	}
}

// forget drops a process that has ended. The caller holds mu.
func (m *machine) forget() {
	m.cpu += m.process.ProcessState.UserTime() + m.process.ProcessState.SystemTime()
	m.process, m.input, m.output = nil, nil, nil
}

// kill ends the process at once.
func (m *machine) kill() error { return m.end(func() error { return m.process.Process.Kill() }) }

// stop lets the process end, for a while, and then kills it.
func (m *machine) stop() error {
	return m.end(func() error {
		if _, err := io.WriteString(m.input, "stop\n"); err != nil {
			return m.process.Process.Kill()
		}
		p := m.process.Process
		timer := time.AfterFunc(20*time.Second, func() { p.Kill() })
		go func(waited chan struct{}) { <-waited; timer.Stop() }(m.waited)
		return nil
	})
}

func (m *machine) end(how func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process == nil {
		return nil
	}
	err := how()
	<-m.waited
	m.forget()
	return ignoreDone(err)
}

// signal sends the process a signal, if it runs.
func (m *machine) signal(sig syscall.Signal) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process == nil {
		return nil
	}
	return ignoreDone(m.process.Process.Signal(sig))
}

func (m *machine) pid() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process == nil {
		return 0
	}
	return m.process.Process.Pid
}

var errDown = errors.New("the node does not run")

// tell sends a command.
func (m *machine) tell(command string) error {
	m.asking.Lock()
	defer m.asking.Unlock()
	m.mu.Lock()
	input := m.input
	m.mu.Unlock()
	if input == nil {
		return errDown
	}
	_, err := io.WriteString(input, command+"\n")
	return err
}

// status asks for the replicas of the node.
func (m *machine) status() (all []replicaStatus, err error) {
	m.asking.Lock()
	defer m.asking.Unlock()
	m.mu.Lock()
	input, out := m.input, m.output
	m.mu.Unlock()
	if input == nil {
		return nil, errDown
	}
	if _, err := io.WriteString(input, "status\n"); err != nil {
		return nil, err
	}
	line, err := out.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	return all, json.Unmarshal(line, &all)
}

// fill leaves no byte of the disk free, until the returned function is called.
func (m *machine) fill() (free func() error, err error) {
	name := filepath.Join(m.disk, "fill")
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	block := make([]byte, 64<<10)
	for size := len(block); size > 0; {
		if _, err := f.Write(block[:size]); err != nil {
			size /= 2
		}
	}
	// Nodes of a full disk free some of it again: what they remove is taken, too.
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
				for _, err := f.Write(block[:4096]); err == nil; {
					_, err = f.Write(block[:4096])
				}
			}
		}
	}()
	return func() error {
		close(stop)
		<-stopped
		return errors.Join(f.Close(), os.Remove(name))
	}, nil
}

// slow lets every fsync take longer, until the returned function is called.
func (m *machine) slow(by time.Duration) (end func() error, err error) {
	pid := m.pid()
	if pid == 0 {
		return func() error { return nil }, nil
	}
	c := exec.Command("strace", "-f", "-o", "/dev/null", "-p", fmt.Sprint(pid), "-e", "trace=fsync,fdatasync",
		"-e", fmt.Sprintf("inject=fsync,fdatasync:delay_enter=%dms", by.Milliseconds()))
	if err := c.Start(); err != nil {
		return nil, err
	}
	return func() error {
		err := c.Process.Signal(os.Interrupt)
		_ = c.Wait() // strace ends by the signal
		return ignoreDone(err)
	}, nil
}

func ignoreDone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// wipe removes the replicas of the node, which must not run.
func (m *machine) wipe() error { return os.RemoveAll(filepath.Join(m.disk, "indexes", indexName)) }

// cpuTime returns the time that the node's processes have taken so far.
func (m *machine) cpuTime() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	total := m.cpu
	if m.process != nil {
		total += processTime(m.process.Process.Pid)
	}
	return total
}

func (m *machine) close() error {
	err := m.kill()
	if m.log != nil {
		err = errors.Join(err, m.log.Close())
	}
	return errors.Join(err, syscall.Unmount(m.disk, syscall.MNT_DETACH))
}

// processTime returns the CPU time of a process, user and system.
func processTime(pid int) time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0
	}
	var ticks [2]int64
	for i := range ticks { // utime and stime, in hundredths of a second
		if _, err := fmt.Sscan(fields[11+i], &ticks[i]); err != nil {
			return 0
		}
	}
	return time.Duration(ticks[0]+ticks[1]) * 10 * time.Millisecond
}
